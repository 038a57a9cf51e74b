//! What every benchmark has in common, whichever store it measures: the rows that are written and the SQL that
//! writes them. Peers pin SQLites of their own, so nothing here may link one.

mod bar;
mod session;

pub use bar::Bar;
pub use session::{INSERT, REVOKE, SCHEMA, Session, TABLE};

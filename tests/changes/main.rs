//! What is told of what was committed: each promise of `ChangeStream`, against real files.

mod bed;
mod live;
mod order;
mod random;
mod rows;
mod sql;
mod streams;

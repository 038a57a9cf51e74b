//! Adopting a file that another program, or an older version of this one, has written: whatever happens on the way,
//! it is refused as it was or goes on where it stood.

mod bed;
mod fixups;
mod killed;
mod recognising;
mod reopening;

//! What a store says and does when the disk, the file system and other programs let it down.
//!
//! The [`sweep`] plays scripts ([`scene`]) and makes every I/O call fail, one at a time, once and from then
//! on. Each run is held against a [`ledger`] of what was answered: nothing that was acknowledged is missing,
//! in the file or after a power cut, and every error's outcome is true of what is found. The other modules
//! are single stories.
//!
//! `WALWRIGHT_FAULTS=all cargo test --release --test faults sweep` tries every call.

mod commits;
mod full_disk;
mod interrupted;
mod ledger;
mod moved;
mod run;
mod scene;
mod strangers;
mod sweep;
mod template;

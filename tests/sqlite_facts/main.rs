//! What SQLite does and the engine leans on, one fact a test. A newer SQLite that behaves otherwise shows
//! here first; the first line of each test says which part of the code has to be looked at then.

mod authorizer;
mod bench;
mod durability;
mod locks_and_snapshots;
mod settings;
mod transactions;

//! What people have reported about SQLite inside servers, as behaviour that a store must show: one module
//! for each report.
mod c01_read_then_write;
mod c08_foreign_lock;
mod c11_dropped_calls;
mod c12_panics;
mod c13_one_bad_row;
mod c14_disk_full;
mod c19_shutdown;
mod c20_flush_and_close;
mod c33_deadlines;
mod c35_reentrant_calls;
mod c36_bounded_queue;
mod c54_huge_values;
mod support_write;

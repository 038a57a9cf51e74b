//! The guarantees, one module each. A test fails if its guarantee is broken.
//!
//! Durability is shown by the disk that a power cut would leave: the VFS of the test-support package records
//! every write and sync, the image is rebuilt without what was not synced, and the store is opened on it.

mod bed;
mod g01_acknowledged_means_durable;
mod g02_a_delete_is_acknowledged_only_after_it_is_durable;
mod g02_deletes_through_a_table;
mod g03_one_writer;
mod g04_order;
mod g05_a_failure_stays_with_its_command;
mod g06_one_answer_each;
mod g07_coalescing_is_invisible;
mod g08_read_your_writes;
mod g09_bounded;
mod g10_fail_stop;
mod g11_close_finishes;

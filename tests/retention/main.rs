//! Rows that go away by themselves: each rule, on real files, with a clock that the tests set.

mod bed;
mod expiry;
mod hidden;
mod newest;
mod power_cuts;
mod refusals;
mod size;
mod space;

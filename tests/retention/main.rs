//! Rows that go away by themselves: each rule, on real files, with a clock that the tests set.
mod bed;
mod expiry;
mod newest;
mod refusals;
mod size;
mod space;

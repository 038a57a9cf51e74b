//! The models, one file for each property.

mod alarm;
mod bounds;
mod close;
mod durability;
mod faults;
mod one_answer;
mod order;
mod readers;
mod wake_ups;

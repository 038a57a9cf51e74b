//! The models, one file for each property.

mod alarm;
mod bounds;
mod changes;
mod close;
mod durability;
mod faults;
mod one_answer;
mod order;
mod pieces;
mod readers;
mod runs;
mod stop_orders;
mod wake_ups;

//! The models, one file for each property.

mod order;

//! What users hold: the store and the commands that it takes.

pub(crate) mod params;
pub(crate) mod rows;

//! Search through the public API, against real files: what is found, page by page, and what becomes of an index.

mod bed;
mod common;
mod damage;
mod indexes;
mod literal;
mod pages;
mod power_cuts;

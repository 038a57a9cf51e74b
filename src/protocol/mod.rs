//! The protocol between callers and the writer: admission, queue, loop, group, answer, close.
//!
//! A command flows through these files in this order:
//! [`line`] (the ordered line with its admission mark) → [`queue`] (the line behind a lock, with wake-ups) →
//! [`writer_loop`] → [`group`] (apply, commit, sync; what is unfinished goes on in the next one) → [`answer`].
//!
//! What was committed is told to those who watch through the [`feed`]. Other threads end a call that runs through
//! [`stop_orders`].
//!
//! Nothing here knows of SQLite: the writer drives a [`storage::Storage`]. Nothing here names a
//! concurrency primitive but through [`crate::sync`]: the model checker compiles these very files.

pub(crate) mod alarm;
pub(crate) mod answer;
pub(crate) mod backoff;
pub(crate) mod feed;
pub(crate) mod foreign_code;
pub(crate) mod gather;
pub(crate) mod group;
pub(crate) mod ledger;
pub(crate) mod level;
pub(crate) mod limits;
pub(crate) mod line;
pub(crate) mod look_out;
pub(crate) mod queue;
pub(crate) mod stop_orders;
pub(crate) mod storage;
#[cfg(all(test, not(walwright_model)))]
mod stress;
pub(crate) mod work;
pub(crate) mod writer_loop;

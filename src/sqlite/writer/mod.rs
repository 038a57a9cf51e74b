//! The writer: the only folder that can name the writable connection.

mod checkpoint;
mod checkpointing;
mod command;
mod copier;
mod failure;
mod growth;
mod isolation;
mod opening;
mod recording;
mod rows;
mod run;
mod shelf;
mod space;
mod storage;
mod transaction;
mod wal_log;
#[allow(clippy::module_inception)]
mod writer;

pub(crate) use command::{
    BatchItem, BulkCall, ModifyCall, StatementCall, WriteCommand, WriteOutput, WriteTask, WriteValue,
};
pub(crate) use rows::RowEffect;
pub(crate) use space::SpaceLeft;
pub(crate) use transaction::WriteLimits;
pub(crate) use writer::{WalLimits, Writer, WriterLimits};

//! Row commands through the public API, against real files: what each does to its row, what it answers, and what it
//! leaves behind when it fails.
mod adjustments;
mod batches;
mod bed;
mod bulk;
mod bulk_pieces;
mod bulk_where;
mod deletes;
mod failures;
mod guards;
mod inserts;
mod keys;
mod modify;
mod names;
mod refusals;
mod revisions;
mod schema_changes;
mod sending;
mod shapes;
mod tables;
mod updates;
mod upserts;
mod visits;

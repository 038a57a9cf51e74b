//! Shapes and facts of many schemas, read from SQLite itself.

mod facts;
mod fit;
mod refused;
mod shapes;

use rusqlite::Connection;

use super::{ShapeError, read_facts, read_shape};
use crate::coalescing::TableFacts;
use crate::row::{RevisionKind, TableShape};

/// A database in memory with this schema.
fn database(schema: &str) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(schema).unwrap();
    connection
}

/// The shape of table `t` by its primary key, without revision.
#[track_caller]
fn shape(schema: &str) -> TableShape {
    read_shape(&database(schema), "t", None, None).unwrap()
}

/// The shape of table `t` by a key of these columns.
fn shape_by(schema: &str, key: &[&str]) -> Result<TableShape, ShapeError> {
    let key: Vec<String> = key.iter().map(|&name| name.to_owned()).collect();
    read_shape(&database(schema), "t", Some(&key), None)
}

/// The facts of table `t`, whose revision is the column `rev` if it has one.
#[track_caller]
fn facts_of(connection: &Connection) -> TableFacts {
    let revision = read_shape(connection, "t", None, None).unwrap().column("rev").is_some();
    let revision = revision.then_some(("rev", RevisionKind::Counter));
    read_facts(connection, &read_shape(connection, "t", None, revision).unwrap()).unwrap()
}

#[track_caller]
fn facts(schema: &str) -> TableFacts {
    facts_of(&database(schema))
}

/// The names of the columns of `t` for which a fact holds.
#[track_caller]
fn columns_that(schema: &str, fact: fn(TableFacts) -> Vec<bool>) -> Vec<String> {
    let columns = shape(schema).columns;
    let holds = fact(facts(schema));
    assert_eq!(columns.len(), holds.len());
    columns.into_iter().zip(holds).filter_map(|(column, holds)| holds.then_some(column.name)).collect()
}

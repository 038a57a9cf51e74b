//! A store that grows.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use walwright::{AckLevel, Store, Table};
use walwright_bench_workload::{Session, Subject};
use walwright_benches::Result;

/// Rows of one command while the store is filled.
const AT_ONCE: u64 = 1_000;

/// How keys follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Keys {
    Ordered,
    Random,
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ordered => "ordered",
            Self::Random => "random",
        })
    }
}

#[derive(Serialize, Deserialize)]
struct Item {
    id: String,
    payload: String,
}

/// Tables of the same shape in one store.
#[derive(Clone)]
pub struct Growing {
    pub store: Store,
    tables: Vec<Table<Item>>,
    keys: Keys,
    payload: usize,
}

impl Growing {
    pub async fn create(path: &Path, keys: Keys, tables: usize, payload: usize) -> Result<Self> {
        let store = Store::builder(path).open().await?;
        let mut opened = Vec::new();
        for number in 0..tables {
            let name = format!("item_{number}");
            let create = format!("CREATE TABLE {name} (id TEXT NOT NULL PRIMARY KEY, payload TEXT NOT NULL)");
            store.execute(create, ()).await?;
            opened.push(store.table(name).open().await?);
        }
        Ok(Self { store, tables: opened, keys, payload })
    }

    /// Fills the tables evenly with so many rows. Random keys come in their order here, far apart, so that filling
    /// does not take the time that is measured afterwards.
    pub async fn fill(&self, rows: u64) -> Result<()> {
        let apart = u64::MAX / rows.max(1);
        let of_one = rows / self.tables.len() as u64;
        for (at, table) in self.tables.iter().enumerate() {
            let begin = at as u64 * of_one;
            let mut first = begin;
            while first < begin + of_one {
                let end = (first + AT_ONCE).min(begin + of_one);
                let item = |number| match self.keys {
                    Keys::Ordered => self.item(number),
                    Keys::Random => self.item(number * apart),
                };
                table.insert_many((first..end).map(item)).ack(AckLevel::Committed).await?;
                first = end;
            }
        }
        self.store.flush().await?;
        Ok(())
    }

    fn item(&self, key: u64) -> Item {
        Item { id: format!("{key:020x}"), payload: "x".repeat(self.payload) }
    }
}

impl Subject for Growing {
    const PIPELINES: bool = false;

    /// Of the row that the load brings only its number counts.
    async fn insert(&self, row: Session) -> Result<()> {
        let number = row.number();
        let table = &self.tables[number as usize % self.tables.len()];
        let key = match self.keys {
            Keys::Ordered => number,
            Keys::Random => scattered(number),
        };
        table.insert(&self.item(key)).await?;
        Ok(())
    }

    async fn revoke(&self, _id: String) -> Result<()> {
        Err("only inserts are measured here".into())
    }

    async fn pair(&self, _row: Session) -> Result<()> {
        Err("only inserts are measured here".into())
    }
}

/// Another number for each number, all over the range: the last steps of SplitMix64.
fn scattered(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

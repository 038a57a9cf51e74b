//! A store with a table of messages in a folder of its own.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use walwright::rusqlite::Connection;
use walwright::{Migration, Page, PageRequest, SearchIndex, Store, Table};
use walwright_test_support::{Scratch, watchdog};

/// Longer than any test takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

pub const SCHEMA: &str =
    "CREATE TABLE message (id INTEGER PRIMARY KEY, buffer INTEGER NOT NULL, at INTEGER NOT NULL,
    body TEXT NOT NULL) STRICT; CREATE INDEX message_at ON message (buffer, at)";

/// Runs a test's body under the watchdog.
#[track_caller]
pub fn run(body: impl FnOnce() + Send + 'static) {
    watchdog(LIMIT, body);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub id: i64,
    pub buffer: i64,
    pub at: i64,
    pub body: String,
}

pub struct Bed {
    scratch: Scratch,
    pub store: Store,
    pub messages: Table<Message>,
}

impl Bed {
    /// With messages of these texts, the first with id 1.
    pub fn new(texts: &[&str]) -> Self {
        let scratch = Scratch::new();
        let store = Store::builder(scratch.join("store.db")).migrations(&[Migration::sql(SCHEMA)]).readers(1);
        let store = store.open().wait().unwrap();
        let messages = store.table::<Message>("message").open().wait().unwrap();
        let rows = texts.iter().zip(1..).map(|(body, id)| Message {
            id,
            buffer: 1,
            at: id,
            body: (*body).to_owned(),
        });
        messages.insert_many(rows.collect::<Vec<_>>()).wait().unwrap();
        Self { scratch, store, messages }
    }

    /// Closes the store and opens it again.
    pub fn reopen(self) -> Self {
        self.store.close().wait().unwrap();
        let Self { scratch, .. } = self;
        let store = Store::builder(scratch.join("store.db")).readers(1).open().wait().unwrap();
        let messages = store.table::<Message>("message").open().wait().unwrap();
        Self { scratch, store, messages }
    }

    pub fn substrings(&self) -> SearchIndex<Message> {
        let index = self.messages.search_index("message_search").columns(["body"]).substrings();
        let index = index.open().wait().unwrap();
        index.ready().wait().unwrap();
        index
    }

    pub fn words(&self) -> SearchIndex<Message> {
        let index =
            self.messages.search_index("message_words").columns(["body"]).words().open().wait().unwrap();
        index.ready().wait().unwrap();
        index
    }

    /// Runs statements of the program's own.
    #[track_caller]
    pub fn sql(&self, sql: &'static str) {
        self.store.write(move |tx| tx.execute_batch(sql)).wait().unwrap();
    }

    /// The connection of another program.
    pub fn outside(&self) -> Connection {
        Connection::open(self.scratch.join("store.db")).unwrap()
    }
}

#[track_caller]
pub fn page(request: PageRequest<Message>) -> Page<Message> {
    request.wait().unwrap()
}

/// The ids of what is found, in order.
#[track_caller]
pub fn ids(request: PageRequest<Message>) -> Vec<i64> {
    page(request).rows.iter().map(|message| message.id).collect()
}

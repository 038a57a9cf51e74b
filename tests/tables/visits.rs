//! A function of the schema by which a test knows when the writer comes to a row, and decides how long that takes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use walwright::StoreBuilder;
use walwright::rusqlite::functions::FunctionFlags;
use walwright_test_support::Gate;

/// Longer than a piece of work on many rows may take: with it each look at the clock ends a piece.
const LONG: Duration = Duration::from_millis(3);

/// Each row whose trigger calls `visit(id)` takes longer than a piece may.
#[derive(Clone, Default)]
pub struct Visits {
    gates: Arc<Mutex<HashMap<i64, Gate>>>,
}

impl Visits {
    /// A gate that the writer will stand at when it visits this row, in the middle of its statement.
    pub fn gate_at(&self, id: i64) -> Gate {
        self.gates.lock().unwrap().entry(id).or_default().clone()
    }

    fn visit(&self, id: i64) {
        thread::sleep(LONG);
        let gate = self.gates.lock().unwrap().get(&id).cloned();
        if let Some(gate) = gate {
            gate.wait();
        }
    }

    /// Makes the function known to the store's connections.
    pub fn known_to(&self, builder: StoreBuilder) -> StoreBuilder {
        let visits = self.clone();
        builder.on_connection(move |connection| {
            let visits = visits.clone();
            let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_INNOCUOUS;
            connection.create_scalar_function("visit", 1, flags, move |call| {
                visits.visit(call.get(0)?);
                Ok(0)
            })
        })
    }
}

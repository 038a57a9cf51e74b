//! The rows of the report. Their fields, in this order, are those of the JSON objects.

use crate::delete;
use crate::load::{self, Load};
use crate::options::StoreName;
use crate::scene::Scene;
use crate::work::Work;
use serde::{Serialize, Serializer};
use std::time::Duration;

/// One load on one store.
#[derive(Serialize)]
pub struct ForwardRow {
    pub store: StoreName,
    pub sync_delay_ms: u64,
    pub connections: Load,
    pub completed: usize,
    pub wall_s: f64,
    /// None if no connection was completed.
    pub mean_ms: Option<f64>,
    /// Commands, and the statements that carried them out; none if the store does not count them.
    pub commands: Option<u64>,
    pub statements: Option<u64>,
    pub syncs: u64,
    #[serde(skip)]
    pub responses_s: f64,
}

/// One delete on one store.
#[derive(Serialize)]
pub struct DeleteRow {
    pub store: StoreName,
    pub sync_delay_ms: u64,
    pub delete_rows: usize,
    pub wall_s: f64,
    pub failed_reads: usize,
    pub rows_left_at_ack: i64,
    #[serde(skip)]
    pub answered_s: f64,
    #[serde(skip)]
    pub reads: usize,
}

impl ForwardRow {
    pub fn new(scene: Scene, load: Load, measured: &load::Measured, work: Work) -> Self {
        Self {
            store: scene.store,
            sync_delay_ms: scene.sync_delay_ms(),
            connections: load,
            completed: measured.completed,
            wall_s: seconds(measured.wall),
            mean_ms: measured.mean.map(milliseconds),
            commands: work.writes.map(|writes| writes.commands),
            statements: work.writes.map(|writes| writes.statements),
            syncs: work.syncs,
            responses_s: seconds(measured.responses),
        }
    }
}

impl DeleteRow {
    pub fn new(scene: Scene, measured: &delete::Measured) -> Self {
        Self {
            store: scene.store,
            sync_delay_ms: scene.sync_delay_ms(),
            delete_rows: delete::ROWS,
            wall_s: seconds(measured.wall),
            failed_reads: measured.failed_reads,
            rows_left_at_ack: measured.rows_left_at_ack,
            answered_s: seconds(measured.answered),
            reads: measured.reads,
        }
    }
}

impl Serialize for StoreName {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// To the microsecond: further digits are noise to whoever reads them.
fn seconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e6
}

pub fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::Writes;

    const SCENE: Scene = Scene { store: StoreName::Walwright, sync_delay: Duration::from_millis(5) };

    #[test]
    fn a_load_is_an_object_with_nine_fields() {
        let mut measured = load::Measured {
            completed: 6,
            wall: Duration::from_micros(12_345),
            mean: Some(Duration::from_nanos(7_654_321)),
            responses: Duration::from_micros(8_000),
            failure: None,
        };
        let mut work = Work { writes: Some(Writes { commands: 12, statements: 7 }), syncs: 2 };
        let row = ForwardRow::new(SCENE, Load::Together(6), &measured, work);
        assert_eq!(
            serde_json::to_string(&row).expect("plain data"),
            r#"{"store":"walwright","sync_delay_ms":5,"connections":6,"completed":6,"wall_s":0.012345,"mean_ms":7.654,"commands":12,"statements":7,"syncs":2}"#
        );

        (measured.completed, measured.mean, work.writes) = (0, None, None);
        let row = ForwardRow::new(SCENE, Load::Sequential, &measured, work);
        let json = serde_json::to_string(&row).expect("plain data");
        assert!(json.contains(r#""connections":"sequential","completed":0"#), "{json}");
        assert!(json.ends_with(r#""mean_ms":null,"commands":null,"statements":null,"syncs":2}"#), "{json}");
    }

    #[test]
    fn a_delete_is_an_object_with_six_fields() {
        let measured = delete::Measured {
            answered: Duration::ZERO,
            wall: Duration::from_millis(3),
            rows_left_at_ack: 541,
            reads: 1000,
            failed_reads: 10,
            first_failure: None,
        };
        assert_eq!(
            serde_json::to_string(&DeleteRow::new(SCENE, &measured)).expect("plain data"),
            r#"{"store":"walwright","sync_delay_ms":5,"delete_rows":542,"wall_s":0.003,"failed_reads":10,"rows_left_at_ack":541}"#
        );
    }
}

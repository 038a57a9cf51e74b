//! Row commands, alone and many for one row, and work on many rows in pieces.

use super::super::command::{Command, Shape};
use super::super::rig::Rig;
use super::super::rows::RowOp;
use super::super::schema::BASE;
use super::super::script::Script;
use rusqlite::types::Value;
use walwright_test_support::Rng;

/// Groups of row commands, most of them for one row: some of them are carried out as one statement.
pub fn row_commands(rig: &mut Rig, rng: &mut Rng) {
    rig.open(BASE, |builder| builder);
    let mut script = Script::new(rng);
    for round in 0..30 {
        let row = script.rng.below(3) as i64;
        let mut commands: Vec<Command> = (0..=script.rng.below(6)).map(|_| script.row_command(row)).collect();
        if round % 4 == 1 {
            // Something else in the middle, which nothing is carried out across.
            let command = if round % 8 == 1 { script.row_batch(row) } else { script.any() };
            commands.insert(commands.len() / 2, command);
        }
        rig.group(commands);
        if round % 9 == 4 {
            rig.send(Command::flush());
        }
        if round % 3 == 2 {
            // A row that is on the disk goes by one statement, and nobody asked for it to be durable.
            let row = 100 + round;
            rig.send(script.row_command_of(RowOp::Insert, row));
            let ops = [RowOp::SetText, RowOp::SetText, RowOp::Delete];
            rig.group(ops.map(|op| script.row_command_of(op, row).committed()).into());
        }
    }
    assert!(rig.stats().coalesced > 0, "every command was a statement of its own");
}

/// Rows come, change and go in pieces, at both levels, between commits that nobody waited for.
pub fn pieces(rig: &mut Rig, rng: &mut Rng) {
    rig.open(BASE, |builder| builder);
    let mut script = Script::new(rng);
    for room in 0..5 {
        rig.send(script.insert().committed());
        let first = script.last() + 1;
        let enter = script.enter_crowd(room, 24);
        let mut people: Vec<i64> = enter.calls.iter().map(|call| id(&call.values[0])).collect();
        assert_eq!(people.first(), Some(&first));
        let level = script.level();
        let groups = rig.stats().groups;
        rig.send(enter.at(level));
        assert!(rig.stats().groups > groups + 1, "it was done in one piece");
        rig.send(script.insert().committed());
        let (stamp, level) = (script.stamp_crowd(room, &people), script.level());
        rig.send(stamp.at(level));
        let some = people.split_off(16);
        rig.send(Script::leave_crowd(None, &some).committed());
        if room % 2 == 0 {
            rig.send(Script::leave_crowd(Some(room), &people).committed());
        } else {
            // They go away without a delete; then there is nobody to delete, which is answered.
            let sql = "UPDATE crowd SET room = room + 1000 WHERE room = ?1";
            rig.send(Command::statement(sql, [room.into()]).committed());
            let nobody = Script::leave_crowd(Some(room), &[]);
            assert!(matches!(nobody.shape, Shape::Pieces(_)));
            rig.send(nobody.committed());
        }
    }
}

fn id(value: &Value) -> i64 {
    match value {
        Value::Integer(id) => *id,
        other => panic!("no id: {other:?}"),
    }
}

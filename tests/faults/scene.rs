//! The scripts: what a store is doing while its I/O fails.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use walwright::rusqlite::config::DbConfig;
use walwright::rusqlite::functions::FunctionFlags;
use walwright::rusqlite::{Connection, OpenFlags};
use walwright::{AckLevel, ClosureError, Row, Tx, Value};

use crate::run::{Run, delete, insert, update};
use crate::template::Template;

/// A script: what there is before, what happens before the fault, and what happens under it.
pub struct Scene {
    pub name: &'static str,
    pub template: fn() -> Template,
    /// The store is open, and nothing fails yet.
    pub prepare: fn(&mut Run),
    pub play: fn(&mut Run),
}

/// All of them.
pub const SCENES: &[Scene] = &[
    Scene { name: "open a fresh file", template: Template::none, prepare: |_| {}, play: open_and_use },
    Scene {
        name: "convert from rollback mode",
        template: Template::rollback_mode,
        prepare: |_| {},
        play: open_and_use,
    },
    Scene {
        name: "recover a left-behind WAL",
        template: Template::left_behind_wal,
        prepare: |_| {},
        play: open_and_use,
    },
    Scene {
        name: "recover a hot journal",
        template: Template::hot_journal,
        prepare: |_| {},
        play: open_and_use,
    },
    Scene { name: "groups", template: Template::closed, prepare: open, play: groups },
    Scene { name: "row commands", template: Template::closed, prepare: open_with_pauses, play: row_commands },
    Scene { name: "a group that spills", template: Template::closed, prepare: open, play: spill },
    Scene {
        name: "checkpoints",
        template: Template::closed,
        prepare: open_with_a_short_log,
        play: checkpoints,
    },
    Scene {
        name: "sequences are reserved",
        template: Template::closed,
        prepare: open_reserving,
        play: reserving,
    },
    Scene {
        name: "after a stranger's change",
        template: Template::closed,
        prepare: open_and_let_a_stranger_change_the_schema,
        play: write_and_read,
    },
    Scene { name: "idle upkeep", template: Template::closed, prepare: open_and_fill_the_log, play: idle },
    Scene {
        name: "close and reopen",
        template: Template::closed,
        prepare: open_and_write,
        play: close_and_reopen,
    },
];

fn open(run: &mut Run) {
    run.open();
}

fn open_and_use(run: &mut Run) {
    run.open();
    run.one(AckLevel::Committed, "insert", &[insert(100, "first")], |store| {
        store.execute("INSERT INTO item VALUES (100, 'first')", ())
    });
    run.one(AckLevel::Durable, "insert", &[insert(101, "second")], |store| {
        store.execute("INSERT INTO item VALUES (101, 'second')", ())
    });
    run.read();
}

/// The row of that number as the template has it.
fn before(run: &Run, id: i64) -> String {
    run.ledger.rows[&id].clone()
}

fn groups(run: &mut Run) {
    run.hold();
    run.send("durable insert", &[insert(101, "a")], |store| {
        store.execute("INSERT INTO item VALUES (?1, ?2)", (101, "a"))
    });
    run.send_at(AckLevel::Committed, "committed insert", &[insert(102, "b")], |store| {
        store.execute_returning("INSERT INTO item VALUES (102, 'b') RETURNING id", ())
    });
    run.send_at(AckLevel::Committed, "delete", &[delete(1, &before(run, 1))], |store| {
        store.execute("DELETE FROM item WHERE id = 1", ())
    });
    run.send_at(AckLevel::Committed, "delete of nothing", &[], |store| {
        store.execute("DELETE FROM item WHERE id = 999", ())
    });
    run.send_at(AckLevel::Committed, "update", &[update(2, &before(run, 2), "changed")], |store| {
        store.execute("UPDATE item SET text = 'changed' WHERE id = 2", ())
    });
    let changes = [insert(103, "c"), insert(104, "d"), update(3, &before(run, 3), "changed")];
    run.send("batch", &changes, |store| {
        store
            .batch()
            .execute("INSERT INTO item VALUES (103, 'c')", ())
            .execute("INSERT INTO item VALUES (104, 'd')", ())
            .execute("UPDATE item SET text = 'changed' WHERE id = 3", ())
            .send()
    });
    run.send("batch that fails", &[], |store| {
        store
            .batch()
            .execute("INSERT INTO item VALUES (105, 'e')", ())
            .execute("INSERT INTO item VALUES (10, 'there is one')", ())
            .send()
    });
    run.settle();
    run.read();

    run.hold();
    let changes = [insert(106, "f"), delete(4, &before(run, 4))];
    run.send("closure", &changes, |store| {
        store.write(|tx| {
            tx.execute("INSERT INTO item VALUES (106, 'f')", ())?;
            tx.execute("DELETE FROM item WHERE id = 4", ())
        })
    });
    run.send("closure that fails", &[], |store| {
        store.write(|tx| -> Result<(), ClosureError> {
            tx.execute("INSERT INTO item VALUES (107, 'g')", ())?;
            Err(ClosureError::message("changed its mind"))
        })
    });
    run.send("closure that panics", &[], |store| {
        store.write(|tx| -> Result<(), ClosureError> {
            tx.execute("INSERT INTO item VALUES (108, 'h')", ())?;
            // Without the panic hook, which would print.
            std::panic::resume_unwind(Box::new("on purpose"))
        })
    });
    run.send("closure that takes no notice", &[insert(109, "i")], |store| store.write(take_no_notice));
    run.send("rolls everything back", &[], |store| {
        store.execute("INSERT OR ROLLBACK INTO item VALUES (10, 'there is one')", ())
    });
    run.send_at(AckLevel::Committed, "after the rollback", &[insert(110, "j")], |store| {
        store.execute("INSERT INTO item VALUES (110, 'j')", ())
    });
    run.settle();

    run.one(AckLevel::Committed, "committed alone", &[insert(111, "k")], |store| {
        store.execute("INSERT INTO item VALUES (111, 'k')", ())
    });
    run.one(AckLevel::Committed, "delete of nothing after it", &[], |store| {
        store.execute("DELETE FROM item WHERE id = 998", ())
    });
    run.one(AckLevel::Committed, "committed again", &[insert(112, "l")], |store| {
        store.execute("INSERT INTO item VALUES (112, 'l')", ())
    });
    run.one(AckLevel::Durable, "flush", &[], |store| store.flush());
    run.read();
}

/// Inserts a row and ignores that a second statement fails, be it by a constraint or by I/O.
fn take_no_notice(tx: &Tx<'_>) -> Result<(), ClosureError> {
    tx.execute("INSERT INTO item VALUES (109, 'i')", ())?;
    let _ = tx.execute("INSERT INTO item SELECT id, text FROM item WHERE id > 30", ());
    Ok(())
}

/// A function that takes longer than a piece of work on many rows may.
fn open_with_pauses(run: &mut Run) {
    run.tweak(|builder| {
        builder.on_connection(|connection| {
            connection.create_scalar_function("pause", 0, FunctionFlags::SQLITE_INNOCUOUS, |_| {
                thread::sleep(Duration::from_millis(3));
                Ok(0)
            })
        })
    });
    run.open();
    run.open_table();
}

/// Row commands, which are carried out together, and work on many rows in pieces.
fn row_commands(run: &mut Run) {
    let table = &run.table();
    let row = |id: i64, text: &str| Row::from_iter([("id", Value::from(id)), ("text", text.into())]);
    // The first command on a table looks at its schema, and no other joins it.
    run.one(AckLevel::Durable, "first", &[insert(100, "z")], |_| table.insert(&row(100, "z")));
    run.hold();
    for id in 101..=103 {
        run.send("insert", &[insert(id, "a")], |_| table.insert(&row(id, "a")));
    }
    run.send_at(AckLevel::Committed, "update", &[update(1, &before(run, 1), "changed")], |_| {
        table.update(1).set("text", "changed").send()
    });
    run.send("upsert", &[update(2, &before(run, 2), "changed")], |_| table.upsert(&row(2, "changed")));
    run.send_at(AckLevel::Committed, "upsert", &[insert(104, "b")], |_| table.upsert(&row(104, "b")));
    run.send("there is one", &[], |_| table.insert_or_ignore(&row(3, "no")));
    run.send("there is one", &[], |_| table.insert(&row(3, "no")));
    run.send_at(AckLevel::Committed, "delete", &[delete(4, &before(run, 4))], |_| table.delete(4).send());
    run.send("guarded", &[], |_| table.update(5).set("text", "no").only_if("text", "else").send());
    run.send("of nothing", &[], |_| table.update(999).set("text", "no").send());
    run.settle();
    run.read();

    run.one(AckLevel::Durable, "batch", &[insert(105, "c"), delete(6, &before(run, 6))], |store| {
        store.batch().add(table.insert(&row(105, "c"))).add(table.delete(6)).send()
    });
    run.one(AckLevel::Committed, "slow down", &[], |store| {
        let trigger =
            "CREATE TRIGGER slow BEFORE DELETE ON item WHEN old.id % 8 = 0 BEGIN SELECT pause(); END";
        store.execute(trigger, ())
    });
    let gone: Vec<_> = (9..=32).map(|id| delete(id, &before(run, id))).collect();
    run.bulk(AckLevel::Committed, "delete of many", &gone, |_| table.delete_many(9..=32).send());
    let rest: Vec<_> = (33..=38).map(|id| update(id, &before(run, id), "changed")).collect();
    run.bulk(AckLevel::Durable, "update of many", &rest, |_| {
        table.update_many(33..=38).set("text", "changed").atomic().send()
    });
    run.read();
}

/// More than the cache holds: frames go to the log before COMMIT, and statements use a journal.
fn spill(run: &mut Run) {
    let big = "y".repeat(150_000);
    run.hold();
    run.send("before the big ones", &[insert(101, "a")], |store| {
        store.execute("INSERT INTO item VALUES (101, 'a')", ())
    });
    run.send("big insert", &[insert(102, &big)], |store| {
        store.execute("INSERT INTO item VALUES (102, ?1)", (big.clone(),))
    });
    let all: Vec<_> =
        (5..=40).map(|id| update(id, &before(run, id), &format!("{}!", before(run, id)))).collect();
    run.send_at(AckLevel::Committed, "update of many", &all, |store| {
        store.execute("UPDATE item SET text = text || '!' WHERE id BETWEEN 5 AND 40", ())
    });
    run.send("big closure that fails", &[], |store| {
        store.write(|tx| -> Result<(), ClosureError> {
            tx.execute("UPDATE item SET text = text || text || text", ())?;
            Err(ClosureError::message("changed its mind"))
        })
    });
    run.send("after the big ones", &[insert(103, "b")], |store| {
        store.execute("INSERT INTO item VALUES (103, 'b')", ())
    });
    run.settle();
    run.read();
}

/// The log is copied after nearly every group, also while a reader holds a snapshot.
fn checkpoints(run: &mut Run) {
    let text = "z".repeat(6_000);
    let write = |run: &mut Run, id: i64, level| {
        run.one(level, "insert", &[insert(id, &text)], |store| {
            store.execute("INSERT INTO item VALUES (?1, ?2)", (id, text.clone()))
        });
    };
    for id in 101..=103 {
        write(run, id, AckLevel::Durable);
        write(run, id + 100, AckLevel::Committed);
    }
    let pinned = run.store().cloned().map(|store| {
        let (in_snapshot, entered) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let reader = thread::spawn(move || {
            let held = store.read(move |db| {
                let _ = db.query_row("SELECT count(*) FROM item", [], |_| Ok(()));
                let _ = in_snapshot.send(());
                let _ = released.recv_timeout(Duration::from_secs(10));
                Ok(())
            });
            let _ = held.wait();
        });
        // An error says that the read was refused.
        let _ = entered.recv();
        (reader, release)
    });
    for id in 104..=106 {
        write(run, id, AckLevel::Committed);
    }
    if let Some((reader, release)) = pinned {
        drop(release);
        reader.join().unwrap();
    }
    for id in 107..=108 {
        write(run, id, AckLevel::Durable);
    }
    run.one(AckLevel::Committed, "delete", &[delete(5, &before(run, 5))], |store| {
        store.execute("DELETE FROM item WHERE id = 5", ())
    });
    run.read();
}

fn open_with_a_short_log(run: &mut Run) {
    run.tweak(|builder| builder.wal_limits(16 << 10, 1 << 20));
    run.open();
}

/// A group that could need more sequences than are reserved at a time: every group reserves anew.
fn open_reserving(run: &mut Run) {
    run.tweak(|builder| builder.group(1 << 20, 1 << 20, Duration::from_secs(1)));
    run.open();
}

fn reserving(run: &mut Run) {
    for id in 101..=103 {
        run.one(AckLevel::Committed, "insert", &[insert(id, "a")], |store| {
            store.execute("INSERT INTO item VALUES (?1, 'a')", (id,))
        });
        run.one(AckLevel::Durable, "insert", &[insert(id + 100, "b")], |store| {
            store.execute("INSERT INTO item VALUES (?1, 'b')", (id + 100,))
        });
    }
}

/// The writer reads the schema anew inside its transaction, which must not stay open if that fails.
fn open_and_let_a_stranger_change_the_schema(run: &mut Run) {
    run.open();
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let stranger = Connection::open_with_flags_and_vfs(&run.path, flags, run.vfs.name()).unwrap();
    // Else it checkpoints as it is closed, and a short log hides reads.
    stranger.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    stranger.execute_batch("CREATE TABLE other (id INTEGER PRIMARY KEY, text TEXT)").unwrap();
}

fn write_and_read(run: &mut Run) {
    for id in 101..=102 {
        run.one(AckLevel::Durable, "insert", &[insert(id, "a")], |store| {
            store.execute("INSERT INTO item VALUES (?1, 'a')", (id,))
        });
        run.read();
    }
}

fn open_and_fill_the_log(run: &mut Run) {
    // Too little in the log for a busy writer, enough for an idle one.
    run.tweak(|builder| builder.wal_limits(400 << 10, 1 << 30));
    run.open();
    let text = "w".repeat(150_000);
    run.one(AckLevel::Durable, "big insert", &[insert(101, &text)], |store| {
        store.execute("INSERT INTO item VALUES (101, ?1)", (text.clone(),))
    });
}

/// The writer copies the log because nothing else is to be done.
fn idle(run: &mut Run) {
    let Some(store) = run.store().cloned() else { return };
    let began = Instant::now();
    while store.stats().checkpoints == 0 && !run.has_failed() && began.elapsed() < Duration::from_millis(250)
    {
        thread::sleep(Duration::from_millis(2));
    }
    run.one(AckLevel::Durable, "insert", &[insert(102, "after")], |store| {
        store.execute("INSERT INTO item VALUES (102, 'after')", ())
    });
}

fn open_and_write(run: &mut Run) {
    run.open();
    run.one(AckLevel::Committed, "insert", &[insert(101, "a")], |store| {
        store.execute("INSERT INTO item VALUES (101, 'a')", ())
    });
}

/// A close that cannot copy the log says so, and loses nothing.
fn close_and_reopen(run: &mut Run) {
    let _ = run.close();
    run.open();
    run.one(AckLevel::Committed, "insert", &[insert(102, "b")], |store| {
        store.execute("INSERT INTO item VALUES (102, 'b')", ())
    });
    run.one(AckLevel::Durable, "insert", &[insert(103, "c")], |store| {
        store.execute("INSERT INTO item VALUES (103, 'c')", ())
    });
}

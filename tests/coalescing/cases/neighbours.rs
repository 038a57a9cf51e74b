//! Commands in between: on other rows, on other tables, statements and closures.

use super::{Case, PLAIN, case, delete, insert, update, upsert};
use crate::command::{Command, Ending, Part};
use crate::program::Handle;

const UNIQUE: &str = "CREATE TABLE t(id TEXT PRIMARY KEY, name UNIQUE, x, rev INTEGER)";
const BOTH: &str = "INSERT INTO t VALUES ('a', 'a', 0, 1), ('b', 'b', 0, 1)";

pub fn cases() -> Vec<Case> {
    let mut cases = handed_over();
    cases.extend(families());
    cases.extend(barriers());
    cases
}

/// Values of which there may be one only.
fn handed_over() -> Vec<Case> {
    let partial = "CREATE UNIQUE INDEX u ON t(name) WHERE x = 0";
    let plain = "CREATE TABLE t(id TEXT PRIMARY KEY, name, x, rev INTEGER)";
    let expression = "CREATE UNIQUE INDEX u ON t(lower(name))";
    vec![
        case("a unique value that a later command gives up", &[UNIQUE])
            .rows(&[BOTH])
            .send(update("a").with("x", 1))
            .send(insert("c").with("name", "a"))
            .send(update("a").with("name", "z")),
        case("a unique value that another gives up in between", &[UNIQUE])
            .rows(&[BOTH])
            .send(insert("c").with("name", "c"))
            .send(update("b").with("name", "z"))
            .send(update("c").with("name", "b")),
        case("two unique values that are swapped", &[UNIQUE])
            .rows(&[BOTH])
            .send(update("a").with("name", "c"))
            .send(update("b").with("name", "a"))
            .send(update("a").with("name", "b")),
        case("an update to a taken value before a delete", &[UNIQUE])
            .rows(&[BOTH])
            .send(update("a").with("name", "b"))
            .send(delete("a")),
        case("a unique value sent again as it is", &[UNIQUE])
            .send(insert("a").with("name", "n").with("x", 1))
            .send(insert("b").with("name", "m").with("x", 1))
            .send(update("a").with("name", "n").with("x", 2))
            .coalesces(1),
        case("a partial index whose condition changes", &[plain, partial])
            .rows(&["INSERT INTO t VALUES ('a', 'n', 0, 1)"])
            .send(update("a").with("name", "n"))
            .send(insert("b").with("name", "n").with("x", 0))
            .send(update("a").with("x", 1)),
        case("a unique expression", &[plain, expression])
            .rows(&["INSERT INTO t VALUES ('a', 'n', 0, 1)"])
            .send(update("a").with("x", 1))
            .send(insert("b").with("name", "N"))
            .send(update("a").with("name", "z")),
        case("a chain that fails where it is, while others go on", &[UNIQUE])
            .rows(&[BOTH])
            .send(insert("c").with("name", "a").with("x", 1))
            .send(delete("a"))
            .send(update("c").with("x", 2))
            .send(insert("c").with("name", "a")),
        case("a delete that was thought to find another revision", &[UNIQUE])
            .rows(&[BOTH])
            .send(update("a").with("x", 1).if_revision(4))
            .send(delete("a").if_revision(1))
            .send(insert("c").with("name", "a"))
            .send(delete("a").if_revision(5)),
        case("a delete at its own place", &[UNIQUE])
            .rows(&[BOTH])
            .send(update("a").with("x", 1))
            .send(insert("c").with("name", "a"))
            .send(delete("a"))
            .send(insert("d").with("name", "a")),
    ]
}

/// Foreign keys.
fn families() -> Vec<Case> {
    let parents = "CREATE TABLE p(id INTEGER PRIMARY KEY, n, rev INTEGER)";
    let child = "CREATE TABLE t(id TEXT PRIMARY KEY, pid REFERENCES p, x, rev INTEGER)";
    let of_parents = |name, child: &str| {
        case(name, &[parents, child])
            .handle(Handle::new("p", &["id"]))
            .rows(&["INSERT INTO p VALUES (1, 0, 1), (2, 0, 1)", "INSERT INTO t VALUES ('b', 1, 0, 1)"])
    };
    let of_children = |name, reference: &str| {
        let children =
            format!("CREATE TABLE c(id INTEGER PRIMARY KEY, tid REFERENCES {reference}, rev INTEGER)");
        case(name, &[UNIQUE, &children]).handle(Handle::new("c", &["id"])).rows(&[BOTH])
    };
    vec![
        of_parents("a first image without a parent", child)
            .send(insert("a").with("pid", 9))
            .send(update("a").with("pid", 1)),
        of_parents("a parent that a later command lets go", child)
            .send(update("b").with("x", 1))
            .send(delete(1).by(1))
            .send(update("b").with("pid", 2)),
        of_parents("a parent that comes in between", child)
            .send(insert("a").with("pid", 1))
            .send(insert(9).by(1))
            .send(update("a").with("pid", 9)),
        of_parents(
            "a reference that is left open until later",
            &child.replace("p,", "p DEFERRABLE INITIALLY DEFERRED,"),
        )
        .send(insert("a").with("pid", 9))
        .send(update("a").with("pid", 1))
        .send(insert("c").with("pid", 8))
        .send(insert(8).by(1))
        .send(update("c").with("x", 1)),
        of_parents("a parent that takes its children along", &child.replace("p,", "p ON DELETE CASCADE,"))
            .send(update("b").with("x", 1))
            .send(delete(1).by(1))
            .send(update("b").with("x", 2)),
        of_parents("a parent that leaves its children NULL", &child.replace("p,", "p ON DELETE SET NULL,"))
            .send(update("b").with("x", 1).with("pid", 1))
            .send(delete(1).by(1))
            .send(update("b").with("x", 2).only_if("pid", 1)),
        of_parents("a parent's key that moves its children", &child.replace("p,", "p ON UPDATE CASCADE,"))
            .send(update("b").with("x", 1).with("pid", 1))
            .send(update(1).by(1).with("id", 7))
            .send(update("b").with("x", 2).only_if("pid", 1)),
        of_children("a child that comes between updates and a delete", "t")
            .send(update("a").with("x", 1))
            .send(insert(1).with("tid", "a").by(1))
            .send(delete("a")),
        of_children("a child of a value that is changed later", "t(name)")
            .send(update("a").with("x", 1))
            .send(insert(1).with("tid", "a").by(1))
            .send(update("a").with("name", "z")),
        of_children("a child of a value that is there in between", "t(name)")
            .send(insert("c").with("name", "c"))
            .send(insert(1).with("tid", "c").by(1))
            .send(update("c").with("name", "z")),
        of_children("children that go with their parent", "t ON DELETE CASCADE")
            .send(insert("c").with("name", "c"))
            .send(insert(1).with("tid", "c").by(1))
            .send(update(1).with("tid", "b").by(1))
            .send(delete("c"))
            .send(delete("b")),
    ]
}

/// What reads everything, or changes it.
fn barriers() -> Vec<Case> {
    let one = "INSERT INTO t VALUES ('a', 1, 2, 1), ('b', 1, 2, 1)";
    let log = "INSERT INTO l SELECT x, y, rev FROM t";
    let trigger =
        "CREATE TRIGGER one AFTER UPDATE ON t BEGIN INSERT INTO l VALUES (new.x, new.y, new.rev); END";
    let elsewhere = "CREATE TRIGGER one AFTER INSERT ON o BEGIN INSERT INTO l SELECT x, y, rev FROM t; END";
    let other = "CREATE TABLE o(id TEXT PRIMARY KEY, n, rev INTEGER)";
    let between = |name| case(name, &[PLAIN]).rows(&[one]).send(update("a").with("x", 5));
    let after = |case: Case| case.send(update("a").with("x", 6)).send(update("a").with("x", 7));
    vec![
        after(between("a statement in between that reads").statement(log)),
        after(
            between("a statement in between that writes").statement("UPDATE t SET x = x + 1, rev = rev + 1"),
        ),
        after(between("a closure in between that reads").closure(log, Ending::Well)),
        after(between("a closure in between that fails").closure(log, Ending::Error)),
        after(between("a closure in between that panics").closure(log, Ending::Panic)),
        after(between("a batch in between").send(Command::Batch(vec![
            Part::Statement(log.to_owned()),
            Part::Row(update("a").with("y", 9)),
        ]))),
        after(between("a batch in between that fails").send(Command::Batch(vec![
            Part::Row(update("a").with("y", 9)),
            Part::Row(update("a").with("y", 8).if_revision(77)),
        ]))),
        after(between("a column that is added in between").statement("ALTER TABLE t ADD COLUMN w DEFAULT 5")),
        after(between("a column that is renamed in between").statement("ALTER TABLE t RENAME COLUMN y TO z")),
        after(between("a unique index that is made in between").statement("CREATE UNIQUE INDEX u ON t(x)")),
        after(between("a trigger that is made in between").statement(trigger))
            .pause()
            .send(update("a").with("x", 8))
            .send(update("a").with("x", 9)),
        after(between("a trigger that is made before the next group").statement(trigger).pause()),
        after(
            between("a unique index that is made before the next group")
                .statement("UPDATE t SET x = 8 WHERE id = 'b'")
                .statement("CREATE UNIQUE INDEX u ON t(x)")
                .pause()
                .send(update("a").with("x", 8)),
        ),
        case("a trigger of another table that reads", &[PLAIN, other, elsewhere])
            .handle(Handle::new("o", &["id"]))
            .rows(&[one])
            .send(update("a").with("x", 5))
            .send(insert("k").by(1))
            .send(update("a").with("x", 6))
            .send(update("a").with("x", 7)),
        case("another table in between", &[PLAIN, other])
            .handle(Handle::new("o", &["id"]))
            .rows(&[one])
            .send(update("a").with("x", 5))
            .send(insert("a").by(1))
            .send(update("a").with("x", 6))
            .send(upsert("a").with("n", 7).by(1))
            .coalesces(2),
    ]
}

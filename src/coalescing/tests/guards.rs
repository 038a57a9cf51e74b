//! Guards that are answered from what was sent.

use super::*;

fn x(t: &Handle, value: i64) -> Sent {
    t.update("a", [(X, int(value))])
}

#[test]
fn the_revision_behind_an_insert_is_known() {
    let t = Handle::new();
    let run = [t.insert("a", []), x(&t, 1).if_revision(1), x(&t, 2).if_revision(1), x(&t, 3).if_revision(2)];
    assert_eq!(chains(&run), ["Insert 0 1 2! 3"]);
    let members = &plan(&run).chains[0].members;
    assert_eq!(members.iter().map(|member| member.changes_before).collect::<Vec<_>>(), [0, 1, 2, 2]);
}

#[test]
fn the_revision_behind_a_guard_that_holds_is_known() {
    let t = Handle::new();
    let run = [x(&t, 1).if_revision(4), x(&t, 2).if_revision(5), x(&t, 3).if_revision(5), x(&t, 4)];
    assert_eq!(chains(&run), ["Update 0 1 2! 3"]);
    no_chains(&[x(&t, 1).if_revision(i64::MAX), x(&t, 2).if_revision(i64::MIN)]);
}

#[test]
fn the_revision_behind_others_is_not_known() {
    let t = Handle::new();
    no_chains(&[x(&t, 1), x(&t, 2).if_revision(2)]);
    no_chains(&[t.upsert("a", [(X, int(1))]), x(&t, 2).if_revision(1)]);
    // The command that closes the chain starts the next, whose revision is known.
    assert_eq!(chains(&[x(&t, 1), x(&t, 2).if_revision(2), x(&t, 3).if_revision(3)]), ["Update 1 2"]);
}

#[test]
fn a_sequence_is_known_behind_every_change() {
    let t = Table::with_sequences().handle();
    let first = FIRST as i64;
    let run = [
        t.upsert("b", [(X, int(1))]),
        t.upsert("a", [(X, int(1))]),
        x(&t, 2).if_revision(first + 1),
        x(&t, 3).if_revision(first + 1),
        x(&t, 4).if_revision(first + 2),
        x(&t, 5).if_revision(first + 3),
        x(&t, 6).if_revision(first + 4),
    ];
    assert_eq!(chains(&run), ["Upsert 1 2 3! 4 5! 6"]);
    assert_eq!(plan(&run).chains[0].last_change(), Some(6));
    assert_eq!(chains(&[x(&t, 1), x(&t, 2).if_revision(5)]), ["Update 0 1!"]);
}

#[test]
fn a_sequence_past_every_revision_is_not_known() {
    let t = Table::with_sequences().handle();
    let run = [x(&t, 1), x(&t, 2).if_revision(5)];
    let commands: Vec<_> = run.iter().map(|sent| (&sent.command, &sent.facts)).collect();
    assert!(Plan::of(&commands, u64::MAX - 1).chains.is_empty());
}

#[test]
fn a_revision_of_a_table_without_one_is_not_known() {
    let mut table = Table::new();
    table.shape.revision = None;
    let t = table.handle();
    no_chains(&[t.insert("a", []), x(&t, 1).if_revision(1)]);
    assert_eq!(chains(&[t.insert("a", []), x(&t, 1)]), ["Insert 0 1"]);
}

#[test]
fn a_value_that_the_chain_has_set_is_known() {
    let t = Handle::new();
    let run = [
        x(&t, 1),
        x(&t, 2).only_if(X, int(1)),
        x(&t, 3).only_if(X, int(1)),
        x(&t, 4).only_if(X, Value::Null),
        t.update("a", [(X, Value::Null)]),
        x(&t, 5).only_if(X, Value::Null),
    ];
    assert_eq!(chains(&run), ["Update 0 1 2! 3! 4 5"]);
}

#[test]
fn a_value_that_the_chain_has_not_set_is_not_known() {
    let t = Handle::new();
    no_chains(&[t.insert("a", [(X, int(1))]), x(&t, 2).only_if(Y, Value::Null)]);
    no_chains(&[x(&t, 1).only_if(Y, text("p")), x(&t, 2).only_if(Y, text("p"))]);
    no_chains(&[x(&t, 1), x(&t, 2).only_if(0, text("a"))]);
    no_chains(&[t.insert("a", [(X, int(1))]), x(&t, 2).only_if(6, int(1))]);
}

#[test]
fn a_value_that_is_converted_is_not_known() {
    let t = Handle::new();
    no_chains(&[t.insert("a", [(X, text("12"))]), x(&t, 1).only_if(X, int(12))]);
    no_chains(&[t.insert("a", [(X, int(12))]), x(&t, 1).only_if(X, text("12"))]);
    no_chains(&[t.insert("a", [(Y, int(12))]), x(&t, 1).only_if(Y, text("12"))]);
    no_chains(&[t.insert("a", [(REAL, int(1))]), x(&t, 1).only_if(REAL, Value::Real(1.0))]);
    no_chains(&[t.insert("a", [(REAL, Value::Real(1.0))]), x(&t, 1).only_if(REAL, Value::Real(1.0))]);
    no_chains(&[t.insert("a", [(ANY, int(1))]), x(&t, 1).only_if(ANY, Value::Real(1.0))]);
}

#[test]
fn text_with_another_collation_is_not_known() {
    let mut table = Table::new();
    table.facts.is_binary[Y] = false;
    let t = table.handle();
    no_chains(&[t.insert("a", [(Y, text("abc"))]), x(&t, 1).only_if(Y, text("ABC"))]);
    no_chains(&[t.insert("a", [(Y, text("abc"))]), x(&t, 1).only_if(Y, text("abc"))]);
    assert_eq!(
        chains(&[t.insert("a", [(Y, text("abc"))]), x(&t, 1).only_if(Y, Value::Null)]),
        ["Insert 0 1!"]
    );
}

#[test]
fn text_is_compared_past_a_nul() {
    let t = Handle::new();
    let run = [
        t.insert("a", [(Y, text("p\0q"))]),
        x(&t, 1).only_if(Y, text("p\0q")),
        x(&t, 2).only_if(Y, text("p\0r")),
    ];
    assert_eq!(chains(&run), ["Insert 0 1 2!"]);
}

#[test]
fn both_guards_must_hold() {
    let t = Handle::new();
    let guarded = |revision, value| x(&t, 9).if_revision(revision).only_if(X, int(value));
    let insert = || t.insert("a", [(X, int(1))]);
    assert_eq!(chains(&[insert(), guarded(1, 1)]), ["Insert 0 1"]);
    assert_eq!(chains(&[insert(), guarded(2, 1)]), ["Insert 0 1!"]);
    assert_eq!(chains(&[insert(), guarded(1, 2)]), ["Insert 0 1!"]);
    // One that is not sure spoils the other, even if that fails.
    no_chains(&[insert(), x(&t, 9).if_revision(2).only_if(Y, int(1))]);
}

#[test]
fn a_guard_where_none_belongs_joins_no_chain() {
    let t = Handle::new();
    no_chains(&[t.insert("a", []).if_revision(1), x(&t, 1)]);
    no_chains(&[t.insert("a", []), t.upsert("a", [(X, int(1))]).if_revision(1)]);
}

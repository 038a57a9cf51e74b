//! Which commands are about the same row.

use super::*;

fn update(t: &Handle, key: &str) -> Sent {
    t.update(key, [(X, int(1))])
}

/// Between two updates of one key this command stands, and closes their chain.
#[track_caller]
fn closes(t: &Handle, between: Sent) {
    no_chains(&[update(t, "a"), between, update(t, "a")]);
}

#[test]
fn a_key_that_is_converted_closes_all_chains_of_its_table() {
    let t = Handle::new();
    closes(&t, update(&t, "").with_key(vec![int(7)]));
    closes(&t, update(&t, "").with_key(vec![Value::Real(7.5)]));
    closes(&t, t.delete("").with_key(vec![int(7)]));
    assert_eq!(chains(&[update(&t, "a"), update(&t, "7"), update(&t, "a")]), ["Update 0 2"]);
}

#[test]
fn null_and_real_keys_close_all_chains_of_their_table() {
    let mut table = Table::new();
    table.shape.columns[0].affinity = Affinity::Blob;
    let t = table.handle();
    for key in [Value::Null, Value::Real(1.0)] {
        closes(&t, update(&t, "").with_key(vec![key.clone()]));
        no_chains(&[update(&t, "").with_key(vec![key.clone()]), update(&t, "").with_key(vec![key])]);
    }
}

#[test]
fn values_of_different_kinds_are_different_keys() {
    let mut table = Table::new();
    table.shape.columns[0].affinity = Affinity::Blob;
    let t = table.handle();
    let keys = [text("1"), int(1), Value::Blob(b"1".to_vec())];
    let once: Vec<_> = keys.iter().map(|key| update(&t, "").with_key(vec![key.clone()])).collect();
    let twice: Vec<_> = once.iter().chain(&once).cloned().collect();
    assert_eq!(chains(&twice), ["Update 0 3", "Update 1 4", "Update 2 5"]);
}

#[test]
fn a_key_that_the_database_makes_closes_all_chains_of_its_table() {
    let t = Handle::new();
    closes(&t, t.insert("", [(X, int(1))]).with_key(vec![]));
}

#[test]
fn a_change_of_a_key_closes_all_chains_of_its_table() {
    let t = Handle::new();
    closes(&t, t.update("b", [(0, text("a"))]));
    closes(&t, t.update("a", [(0, text("b")), (X, int(1))]));
}

#[test]
fn a_compound_key_counts_as_a_whole() {
    let mut table = Table::new();
    table.shape.key = vec![2, 0];
    let t = table.handle();
    let of = |y: &str, id: &str| update(&t, "").with_key(vec![text(y), text(id)]);
    let run = [of("a", "bc"), of("ab", "c"), of("c", "ab"), of("a", "bc"), of("ab", "c")];
    assert_eq!(chains(&run), ["Update 0 3", "Update 1 4"]);
    no_chains(&[of("a", "b"), update(&t, "a"), of("a", "b")]);
}

#[test]
fn other_tables_have_other_keys_and_close_nothing() {
    let mut table = Table::new();
    let t = table.handle();
    table.shape.name = "o".to_owned();
    let o = table.handle();
    let made = o.insert("", []).with_key(vec![]);
    let run = [update(&t, "a"), update(&o, "a"), update(&t, "a"), update(&o, "a")];
    assert_eq!(chains(&run), ["Update 0 2", "Update 1 3"]);
    assert_eq!(chains(&[update(&t, "a"), made, update(&t, "a")]), ["Update 0 2"]);
}

#[test]
fn two_handles_with_the_same_key_and_revision_are_one_table() {
    let mut table = Table::new();
    let t = table.handle();
    assert_eq!(chains(&[update(&t, "a"), update(&table.handle(), "a")]), ["Update 0 1"]);
    table.shape.name = "T".to_owned();
    assert_eq!(chains(&[update(&t, "a"), update(&table.handle(), "a")]), ["Update 0 1"]);
}

#[test]
fn two_handles_with_different_keys_or_revisions_close_each_others_chains() {
    let by_id = Handle::new();
    let other = |change: fn(&mut TableShape)| {
        let mut table = Table::new();
        table.shape.name = "T".to_owned();
        change(&mut table.shape);
        table.handle()
    };
    for other in [
        other(|shape| shape.key = vec![NAME]),
        other(|shape| shape.revision = None),
        other(|shape| shape.columns.truncate(6)),
    ] {
        closes(&by_id, update(&other, "a"));
        closes(&by_id, update(&other, "z"));
        let run = [update(&other, "n"), update(&by_id, "a"), update(&by_id, "a"), update(&other, "n")];
        assert_eq!(chains(&run), ["Update 1 2"]);
    }
}

#[test]
fn many_keys_are_kept_apart() {
    let t = Handle::new();
    let run: Vec<_> = (0..600).map(|n| update(&t, &format!("key {}", n % 200))).collect();
    let found = chains(&run);
    assert_eq!(found.len(), 200);
    assert_eq!(found[17], "Update 17 217 417");
}

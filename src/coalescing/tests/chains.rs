//! What joins a chain, and what closes it.

use super::*;

#[test]
fn an_insert_and_its_updates_are_one_insert() {
    let t = Handle::new();
    let run = [
        t.insert("a", [(X, int(1)), (Y, text("p"))]),
        t.insert("b", [(X, int(1))]),
        t.update("a", [(X, int(2))]),
        t.update("b", [(X, int(5))]),
        t.update("a", [(Y, text("q")), (ANY, int(7))]),
    ];
    let plan = plan(&run);
    assert_eq!(chains(&run), ["Insert 0 2 4", "Insert 1 3"]);
    assert_eq!(plan.chains[0].set.set().to_vec(), [(X, int(2)), (Y, text("q")), (ANY, int(7))]);
    assert_eq!((plan.chains[0].changes, plan.chains[0].last_change()), (3, Some(4)));
    let places = [Place::Chain(0), Place::Chain(1), Place::Member(0), Place::Member(1), Place::Member(0)];
    assert_eq!(plan.places, places);
}

#[test]
fn updates_are_one_update_with_the_guard_of_the_head() {
    let t = Handle::new();
    let run =
        [t.update("a", [(X, int(1))]).only_if(Y, text("p")), t.update("a", [(X, int(2)), (Y, text("q"))])];
    assert_eq!(chains(&run), ["Update 0 1"]);
    assert_eq!(plan(&run).chains[0].set.set().to_vec(), [(X, int(2)), (Y, text("q"))]);
}

#[test]
fn upserts_and_updates_are_one_upsert() {
    let t = Handle::new();
    let run = [
        t.upsert("a", [(X, int(1))]),
        t.upsert("a", [(X, int(2))]),
        t.update("a", [(X, int(3)), (Y, text("p"))]),
    ];
    assert_eq!(chains(&run), ["Upsert 0 1 2"]);
    assert_eq!(chains(&[t.insert("a", []), t.upsert("a", [(X, int(2))])]), ["Insert 0 1"]);
    assert_eq!(chains(&[t.update("a", [(X, int(1))]), t.upsert("a", [(X, int(2))])]), ["Update 0 1"]);
}

#[test]
fn commands_on_different_keys_are_alone() {
    let t = Handle::new();
    let run = [t.insert("a", []), t.update("b", [(X, int(1))]), t.delete("c"), t.upsert("d", [(X, int(1))])];
    assert_eq!(plan(&run).places, [Place::Alone; 4]);
    assert_eq!(plan(&[]).places, []);
    assert_eq!(plan(&[t.insert("a", [])]).places, [Place::Alone]);
}

#[test]
fn a_second_insert_closes_the_chain_and_starts_another() {
    let t = Handle::new();
    let run = [
        t.insert("a", []),
        t.update("a", [(X, int(1))]),
        t.insert("a", [(X, int(2))]),
        t.update("a", [(X, int(3))]),
    ];
    assert_eq!(chains(&run), ["Insert 0 1", "Insert 2 3"]);
}

#[test]
fn an_insert_that_may_be_ignored_closes_the_chain_and_starts_none() {
    let t = Handle::new();
    let update = |value| t.update("a", [(X, int(value))]);
    no_chains(&[t.insert_or_ignore("a", []), update(1)]);
    no_chains(&[t.insert("a", []), t.insert_or_ignore("a", []), update(1)]);
    assert_eq!(chains(&[t.insert_or_ignore("a", []), update(1), update(2)]), ["Update 1 2"]);
}

#[test]
fn a_watched_column_may_only_be_sent_again_as_it_was() {
    let t = Handle::new();
    let insert = t.insert("a", [(X, int(1)), (NAME, text("n"))]);
    assert_eq!(chains(&[insert.clone(), t.update("a", [(X, int(2)), (NAME, text("n"))])]), ["Insert 0 1"]);
    no_chains(&[insert.clone(), t.update("a", [(NAME, text("m"))])]);
    // Unknown is not the same.
    no_chains(&[t.update("a", [(X, int(1))]), t.update("a", [(NAME, text("n"))])]);
    // The head may set it: it stays at its place.
    assert_eq!(chains(&[t.update("a", [(NAME, text("n"))]), t.update("a", [(X, int(1))])]), ["Update 0 1"]);
}

#[test]
fn a_watched_value_that_is_converted_is_no_longer_the_same() {
    let mut table = Table::new();
    table.facts.is_watched[X] = true;
    let t = table.handle();
    no_chains(&[t.insert("a", [(X, text("1"))]), t.update("a", [(X, text("1"))])]);
    assert_eq!(chains(&[t.insert("a", [(X, int(1))]), t.update("a", [(X, int(1))])]), ["Insert 0 1"]);
}

#[test]
fn a_follower_that_closes_a_chain_starts_the_next() {
    let t = Handle::new();
    let run = [
        t.insert("a", [(NAME, text("n"))]),
        t.update("a", [(NAME, text("m"))]),
        t.update("a", [(X, int(1))]),
    ];
    assert_eq!(chains(&run), ["Update 1 2"]);
}

#[test]
fn a_value_that_not_null_refuses_is_not_overwritten() {
    let mut table = Table::new();
    table.shape.columns[X].not_null = true;
    let t = table.handle();
    no_chains(&[t.insert("a", [(X, Value::Null)]), t.update("a", [(X, int(1))])]);
    no_chains(&[t.update("a", [(X, int(0))]), t.update("a", [(X, Value::Null)])]);
    assert_eq!(chains(&[t.insert("a", [(X, int(0))]), t.update("a", [(X, int(1))])]), ["Insert 0 1"]);
    // What nobody overwrites fails in the chain as well.
    assert_eq!(chains(&[t.insert("a", [(X, Value::Null)]), t.update("a", [(Y, text("p"))])]), ["Insert 0 1"]);
}

#[test]
fn a_value_that_strict_refuses_is_not_overwritten() {
    let mut table = Table::new();
    table.shape.is_strict = true;
    let t = table.handle();
    no_chains(&[t.insert("a", [(X, text("p"))]), t.update("a", [(X, int(1))])]);
    no_chains(&[t.update("a", [(X, int(1))]), t.update("a", [(X, Value::Real(1.5))])]);
    assert_eq!(chains(&[t.insert("a", [(X, int(0))]), t.update("a", [(X, int(1))])]), ["Insert 0 1"]);
}

#[test]
fn a_column_that_the_insert_left_out_must_take_null_and_have_no_default() {
    let mut table = Table::new();
    table.facts.can_be_omitted[X] = false;
    table.shape.columns[Y].default = Some("'p'".to_owned());
    let t = table.handle();
    for made in [t.insert("a", []), t.upsert("a", [(ANY, int(1))])] {
        no_chains(&[made.clone(), t.update("a", [(X, int(1))])]);
        no_chains(&[made.clone(), t.update("a", [(Y, text("q"))])]);
        assert_eq!(chains(&[made, t.update("a", [(REAL, int(1))])]).len(), 1);
    }
    // An update leaves nothing out.
    let updates = [t.update("a", [(ANY, int(1))]), t.update("a", [(X, int(1)), (Y, text("q"))])];
    assert_eq!(chains(&updates), ["Update 0 1"]);
}

#[test]
fn a_large_command_joins_no_chain() {
    let t = Handle::new();
    let of_bytes = |bytes: usize| t.update("a", [(ANY, Value::Blob(vec![0; bytes]))]);
    let small = || t.update("a", [(X, int(1))]);
    // With the byte of its key.
    assert_eq!(chains(&[small(), of_bytes(64 * 1024 - 1)]), ["Update 0 1"]);
    no_chains(&[small(), of_bytes(64 * 1024), small()]);
    assert_eq!(chains(&[small(), of_bytes(64 * 1024), small(), small()]), ["Update 2 3"]);
    let in_two = t.update("a", [(Y, text(&"p".repeat(40_000))), (ANY, text(&"q".repeat(40_000)))]);
    no_chains(&[small(), in_two]);
}

#[test]
fn a_command_without_anything_to_set_joins_no_chain() {
    let t = Handle::new();
    no_chains(&[t.update("a", [(X, int(1))]), t.update("a", []), t.update("a", [(X, int(1))])]);
    no_chains(&[t.upsert("a", []), t.update("a", [(X, int(1))])]);
}

#[test]
fn a_command_that_sets_the_revision_joins_no_chain() {
    let t = Handle::new();
    no_chains(&[t.insert("a", []), t.update("a", [(6, int(9))]), t.update("a", [(X, int(1))])]);
}

#[test]
fn a_table_that_does_not_coalesce_has_no_chains() {
    let mut table = Table::new();
    let t = table.handle();
    table.facts.coalesces = false;
    table.shape.name = "o".to_owned();
    let o = table.handle();
    let run =
        [t.insert("a", []), o.insert("a", []), o.update("a", [(X, int(1))]), t.update("a", [(X, int(1))])];
    assert_eq!(chains(&run), ["Insert 0 3"], "nor does it close those of others");
}

#[test]
fn columns_of_which_nothing_is_known_join_no_chain() {
    let t = Handle::new();
    no_chains(&[t.insert("a", []), t.update("a", [(77, int(1))])]);
    no_chains(&[t.insert("a", []), t.update("a", [(X, int(1))]).only_if(77, int(1))]);
}

//! Deletes at the end of chains.

use super::*;

fn x(t: &Handle, value: i64) -> Sent {
    t.update("a", [(X, int(value))])
}

#[test]
fn plain_updates_and_a_delete_are_a_delete_at_its_own_place() {
    let t = Handle::new();
    let run = [x(&t, 1), t.insert("b", []), x(&t, 2), t.delete("a")];
    assert_eq!(chains(&run), ["Delete 0 2 3-"]);
    let plan = plan(&run);
    let places = [Place::Member(0), Place::Alone, Place::Member(0), Place::Chain(0)];
    assert_eq!(plan.places, places);
    assert_eq!((plan.chains[0].changes, plan.chains[0].last_change()), (2, Some(2)));
    assert_eq!(plan.chains[0].set.set().to_vec(), []);
}

#[test]
fn a_delete_ends_its_chain() {
    let t = Handle::new();
    let run = [x(&t, 1), t.delete("a"), x(&t, 2), t.insert("a", []), x(&t, 3)];
    assert_eq!(chains(&run), ["Delete 0 1-", "Insert 3 4"]);
}

#[test]
fn a_delete_starts_no_chain() {
    let t = Handle::new();
    no_chains(&[t.delete("a"), t.insert("a", []), t.delete("a")]);
    no_chains(&[t.delete("a"), t.delete("a")]);
}

#[test]
fn an_insert_and_its_delete_are_both_carried_out() {
    let t = Handle::new();
    no_chains(&[t.insert("a", []), t.delete("a")]);
    assert_eq!(chains(&[t.insert("a", []), x(&t, 1), t.delete("a")]), ["Insert 0 1"]);
    assert_eq!(chains(&[t.upsert("a", [(X, int(1))]), x(&t, 1), t.delete("a")]), ["Upsert 0 1"]);
}

#[test]
fn an_update_that_others_could_see_is_carried_out() {
    let t = Handle::new();
    let rename = t.update("a", [(NAME, text("n"))]);
    no_chains(&[rename.clone(), t.delete("a")]);
    assert_eq!(chains(&[rename, x(&t, 1), t.delete("a")]), ["Update 0 1"]);
}

#[test]
fn an_update_that_could_fail_is_carried_out() {
    let mut table = Table::new();
    table.shape.columns[X].not_null = true;
    let t = table.handle();
    no_chains(&[t.update("a", [(X, Value::Null)]), t.delete("a")]);
    table.shape.columns[X].not_null = false;
    table.shape.is_strict = true;
    let t = table.handle();
    no_chains(&[t.update("a", [(X, text("p"))]), t.delete("a")]);
    assert_eq!(chains(&[x(&t, 1), t.delete("a")]), ["Delete 0 1-"]);
}

#[test]
fn an_upsert_could_make_the_row_and_is_not_moved() {
    let t = Handle::new();
    let run = [x(&t, 1), t.upsert("a", [(X, int(2))]), t.delete("a")];
    assert_eq!(chains(&run), ["Update 0 1"]);
}

#[test]
fn guards_of_deletes_are_answered_like_those_of_updates() {
    let t = Handle::new();
    let run = [x(&t, 1).if_revision(4), t.delete("a").if_revision(5)];
    assert_eq!(chains(&run), ["Delete 0 1-"]);
    assert_eq!(chains(&[x(&t, 1), t.delete("a").only_if(X, int(1))]), ["Delete 0 1-"]);
    no_chains(&[x(&t, 1), t.delete("a").if_revision(5)]);
}

#[test]
fn a_delete_whose_guard_fails_lets_the_chain_go_on_but_no_delete_join() {
    let t = Handle::new();
    let run = [x(&t, 1).if_revision(4), t.delete("a").if_revision(4), x(&t, 2), t.delete("a")];
    assert_eq!(chains(&run), ["Update 0 1! 2"]);
    // An update whose guard fails is moved without harm.
    let run = [x(&t, 1).if_revision(4), x(&t, 9).if_revision(4), t.delete("a").if_revision(5)];
    assert_eq!(chains(&run), ["Delete 0 1! 2-"]);
}

//! Names of tables, columns and fields: quoted, not ASCII, in another case, taken from SQLite.

use serde::{Deserialize, Serialize};
use walwright::Row;

use crate::bed::{Bed, run};

#[test]
fn names_may_hold_whatever_sqlite_takes() {
    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Odd {
        #[serde(rename = "Schlüssel")]
        key: String,
        #[serde(rename = "a \"quoted\" name")]
        quoted: i64,
        #[serde(rename = "select")]
        keyword: Option<i64>,
        #[serde(rename = "; DROP TABLE x --")]
        hostile: i64,
        #[serde(rename = "?1")]
        parameter: i64,
    }
    run(|| {
        let bed = Bed::new(
            r#"CREATE TABLE "größe ""1""" ("Schlüssel" TEXT PRIMARY KEY, "a ""quoted"" name" INTEGER,
               "select" INTEGER DEFAULT 9, "; DROP TABLE x --" INTEGER, "?1" INTEGER, [re vision] INTEGER);
               CREATE TABLE x (id INTEGER PRIMARY KEY)"#,
        );
        let name = r#"größe "1""#;
        let table = bed.store.table::<Odd>(name).revision("re vision").open().wait().unwrap();
        assert_eq!(table.name(), name);
        let odd = Odd { key: "ß".to_owned(), quoted: 1, keyword: Some(2), hostile: 3, parameter: 4 };
        assert_eq!(table.insert(&odd).wait().unwrap().revision, Some(1));
        assert_eq!(table.upsert(&odd).wait().unwrap().revision, Some(2));
        let changed = table.update("ß").set("a \"quoted\" name", 10).only_if("; drop table X --", 3).wait();
        assert_eq!(changed.unwrap().revision, Some(3));
        let modified = table.modify("ß", |row| {
            row.parameter = 5;
            Ok(())
        });
        assert_eq!(modified.wait().unwrap().unwrap().receipt.revision, Some(4));
        assert_eq!(table.update_where("select", 2).set("SELECT", 7).wait().unwrap().rows_changed, 1);
        let expected = Odd { quoted: 10, keyword: Some(7), parameter: 5, ..odd };
        assert_eq!(table.get("ß").wait().unwrap(), Some(expected));
        assert_eq!(table.delete_where("?1", 5).wait().unwrap().rows_changed, 1);
        assert_eq!(bed.one("SELECT count(*) FROM x"), "0");
    });
}

/// Fields go by the names of columns in any case, on the way there and back.
#[test]
fn fields_are_columns_in_any_case() {
    #[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Account {
        account_id: String,
        is_open: bool,
        #[serde(rename = "V")]
        version: i64,
    }
    run(|| {
        let bed =
            Bed::new("CREATE TABLE Account (ACCOUNTID TEXT PRIMARY KEY, isopen INTEGER NOT NULL, v INTEGER)");
        let accounts = bed.store.table::<Account>("ACCOUNT").revision("V").open().wait().unwrap();
        assert_eq!(accounts.name(), "Account", "as the schema has it");
        let account = Account { account_id: "a".to_owned(), is_open: true, version: 0 };
        assert_eq!(accounts.insert(&account).wait().unwrap().revision, Some(1));
        let closed = accounts.modify("a", |account| {
            account.is_open = false;
            Ok(account.clone())
        });
        let closed = closed.wait().unwrap().unwrap();
        assert_eq!(closed.value, Account { is_open: false, version: 1, ..account.clone() });
        assert_eq!(closed.receipt.revision, Some(2));
        let found = accounts.get("a").wait().unwrap();
        assert_eq!(found, Some(Account { is_open: false, version: 2, ..account }));
        assert_eq!(bed.look("SELECT * FROM account"), ["a|0|2"]);
    });
}

/// SQLite knows the rowid by three names. Where columns took them all, nobody can ask for it.
#[test]
fn columns_may_take_the_names_of_the_rowid() {
    run(|| {
        let bed = Bed::new(
            "CREATE TABLE t (rowid TEXT PRIMARY KEY, n INTEGER, v INTEGER); \
             CREATE TABLE u (rowid TEXT PRIMARY KEY, oid INTEGER, _rowid_ INTEGER, v INTEGER)",
        );
        for (name, column, has_rowid) in [("t", "n", true), ("u", "oid", false)] {
            let table = bed.store.table::<Row>(name).revision("v").open().wait().unwrap();
            let row = |id: &str| Row::new().with("rowid", id).unwrap().with(column, 1).unwrap();
            let made = table.insert(&row("x")).wait().unwrap();
            assert_eq!((made.rowid, made.revision), (has_rowid.then_some(1), Some(1)));
            for id in ["c", "a", "b"] {
                assert_eq!(table.upsert(&row(id)).wait().unwrap().revision, Some(1));
            }
            assert_eq!(table.update_where(column, 1).set(column, 2).wait().unwrap().rows_changed, 4);
            assert_eq!(table.delete("x").if_revision(2).wait().unwrap().rows_changed, 1);
            assert_eq!(table.delete_where(column, 2).wait().unwrap().rows_changed, 3);
        }
    });
}

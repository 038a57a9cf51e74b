//! C16. Two clients read the same revision, both write, and the first change is gone: the comparison and the write
//! were two statements (HeliosSoftware/hfs#1404; also adorsys/status-list-server#223, brandonrc/mobula#42).
//!
//! What must hold: of N concurrent conditional writes that expect the same revision exactly one wins, and the
//! others are told the revision that holds now; the same for conditional deletes and for "only if it is not there
//! yet"; and coalescing, which may carry out several of them as one statement, changes none of the answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::Barrier;
use walwright::{Migration, RowReceipt, Store, Table, WriteError};
use walwright_test_support::{Scratch, watchdog};

use crate::support_write::{LIMIT, hold};

const TASKS: i64 = 50;

#[derive(Serialize, Deserialize, Clone)]
struct Account {
    id: String,
    balance: i64,
    owner: Option<i64>,
    version: i64,
}

fn open(scratch: &Scratch, coalescing: bool) -> (Store, Table<Account>) {
    let schema = "CREATE TABLE account (id TEXT PRIMARY KEY, balance INTEGER NOT NULL, owner INTEGER, \
                  version INTEGER NOT NULL)";
    let store = Store::builder(scratch.join("store.db"))
        .migrations(&[Migration::sql(schema)])
        .coalescing(coalescing)
        .open()
        .wait()
        .unwrap();
    let accounts = store.table("account").revision("version").open().wait().unwrap();
    (store, accounts)
}

fn account() -> Account {
    Account { id: "a".to_owned(), balance: 0, owner: None, version: 0 }
}

/// Runs a body on a runtime with several threads, with coalescing and without.
fn each_way<F: Future<Output = ()> + 'static>(body: fn(Store, Table<Account>) -> F) {
    watchdog(LIMIT, move || {
        for coalescing in [true, false] {
            let scratch = Scratch::new();
            let (store, accounts) = open(&scratch, coalescing);
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().unwrap();
            runtime.block_on(body(store, accounts));
        }
    });
}

/// What tasks that all start at once are answered.
async fn together<F>(accounts: &Table<Account>, write: fn(Table<Account>, i64) -> F) -> Vec<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let start = Arc::new(Barrier::new(TASKS as usize));
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let (start, accounts) = (Arc::clone(&start), accounts.clone());
            tokio::spawn(async move {
                start.wait().await;
                write(accounts, task).await
            })
        })
        .collect();
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    answers
}

/// The one receipt of the winner; all others were told that the row has this revision, or is gone.
#[track_caller]
fn one_winner(answers: Vec<Result<RowReceipt, WriteError>>, others: Option<Option<i64>>) -> RowReceipt {
    let mut winner = None;
    for answer in answers {
        match answer {
            Ok(receipt) => assert!(winner.replace(receipt).is_none(), "two have won"),
            Err(WriteError::Conflict(conflict)) => {
                assert_eq!(conflict.exists.then_some(conflict.revision), others);
            }
            Err(error) => panic!("{error}"),
        }
    }
    winner.expect("somebody wins")
}

#[test]
fn c16_of_many_that_expect_the_same_revision_one_wins() {
    each_way(|_store, accounts| async move {
        let revision = accounts.insert(&account()).await.unwrap().revision;
        assert_eq!(revision, Some(1));
        let answers = together(&accounts, |accounts, task| async move {
            accounts.update("a").set("owner", task).if_revision(1).await
        });
        let winner = one_winner(answers.await, Some(Some(2)));
        assert_eq!(winner.revision, Some(2));
        let row = accounts.get("a").await.unwrap().unwrap();
        assert_eq!((row.version, row.owner.is_some()), (2, true));

        // The next round, without a revision: only who finds the row unowned takes it.
        accounts.update("a").set("owner", None::<i64>).await.unwrap();
        let answers = together(&accounts, |accounts, task| async move {
            accounts.update("a").set("owner", task).only_if("owner", None::<i64>).await
        });
        assert_eq!(one_winner(answers.await, Some(Some(4))).revision, Some(4));
    });
}

#[test]
fn c16_of_many_conditional_deletes_one_deletes() {
    each_way(|_store, accounts| async move {
        accounts.insert(&account()).await.unwrap();
        let answers =
            together(&accounts, |accounts, _| async move { accounts.delete("a").if_revision(1).await });
        assert_eq!(one_winner(answers.await, None).rows_changed, 1);
        assert!(!accounts.exists("a").await.unwrap());
    });
}

#[test]
fn c16_of_many_that_expect_no_row_one_makes_it() {
    each_way(|_store, accounts| async move {
        let answers = together(&accounts, |accounts, task| async move {
            accounts.insert(&Account { owner: Some(task), ..account() }).await
        });
        let (made, refused): (Vec<_>, Vec<_>) = answers.await.into_iter().partition(Result::is_ok);
        assert_eq!((made.len(), refused.len()), (1, TASKS as usize - 1));
        assert!(refused.iter().all(|answer| matches!(answer, Err(WriteError::Constraint(_)))));

        let answers = together(&accounts, |accounts, task| async move {
            accounts.insert_or_ignore(&Account { id: "b".to_owned(), owner: Some(task), ..account() }).await
        });
        let created = answers.await.into_iter().filter(|answer| answer.as_ref().unwrap().created).count();
        assert_eq!(created, 1);
    });
}

/// All in one group, so that they meet each other there: a conditional write sees what the one before it did.
#[test]
fn c16_conditional_writes_of_one_group_see_each_other() {
    watchdog(LIMIT, || {
        for coalescing in [true, false] {
            let scratch = Scratch::new();
            let (store, accounts) = open(&scratch, coalescing);
            // The first command on a table looks at its schema, and no other joins it.
            accounts.delete("a").wait().unwrap();
            let gate = hold(&store);
            let made = accounts.insert(&account()).try_submit().unwrap();
            let own = |task| accounts.update("a").set("owner", task).if_revision(1 + task / 10);
            let sent: Vec<_> = (0..TASKS).map(|task| own(task).try_submit().unwrap()).collect();
            let gone = accounts.delete("a").if_revision(6).try_submit().unwrap();
            let late = own(TASKS).try_submit().unwrap();
            gate.open();
            assert_eq!(made.wait().unwrap().revision, Some(1));
            for (task, pending) in (0..TASKS).zip(sent) {
                let now = 2 + task / 10;
                match pending.wait() {
                    Ok(receipt) => assert_eq!((task % 10, receipt.revision), (0, Some(now))),
                    Err(WriteError::Conflict(conflict)) => assert_eq!(conflict.revision, Some(now)),
                    Err(error) => panic!("{error}"),
                }
            }
            assert_eq!(gone.wait().unwrap().rows_changed, 1);
            assert!(matches!(late.wait(), Err(WriteError::Conflict(conflict)) if !conflict.exists));
            assert_eq!(store.stats().coalesced > 0, coalescing);
        }
    });
}

/// Twenty tasks add 1 ten times each, reading, comparing and trying again.
#[test]
fn c16_increments_by_compare_and_retry_all_count() {
    each_way(|_store, accounts| async move {
        accounts.insert(&account()).await.unwrap();
        let adding: Vec<_> = (0..20).map(|_| tokio::spawn(add_by_retry(accounts.clone()))).collect();
        for task in adding {
            task.await.unwrap();
        }
        let row = accounts.get("a").await.unwrap().unwrap();
        assert_eq!((row.balance, row.version), (200, 201));
    });
}

async fn add_by_retry(accounts: Table<Account>) {
    for _ in 0..10 {
        loop {
            let row = accounts.get("a").await.unwrap().unwrap();
            let added = accounts.update("a").set("balance", row.balance + 1).if_revision(row.version);
            match added.await {
                Ok(receipt) => {
                    assert_eq!(receipt.revision, Some(row.version + 1));
                    break;
                }
                Err(WriteError::Conflict(conflict)) => assert!(conflict.revision > Some(row.version)),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// The same with `modify`, where nobody has to try again.
#[test]
fn c16_increments_by_modify_all_count() {
    each_way(|_store, accounts| async move {
        accounts.insert(&account()).await.unwrap();
        let adding: Vec<_> = (0..20)
            .map(|_| {
                let accounts = accounts.clone();
                tokio::spawn(async move {
                    for _ in 0..10 {
                        let add = accounts.modify("a", |row| {
                            row.balance += 1;
                            Ok(row.balance)
                        });
                        let added = add.await.unwrap().unwrap();
                        assert_eq!(added.receipt.revision, Some(added.value + 1));
                    }
                })
            })
            .collect();
        for task in adding {
            task.await.unwrap();
        }
        let row = accounts.get("a").await.unwrap().unwrap();
        assert_eq!((row.balance, row.version), (200, 201));
    });
}

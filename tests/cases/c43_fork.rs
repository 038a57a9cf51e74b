//! C43. A server opened its database and then put itself into the background: the locks had not followed the
//! fork, the child's close took the parent's log away, and the file was damaged (mumble-voip/mumble#5031).
//!
//! Must hold: in a forked child every call is answered at once with a typed error, also those that were
//! under way; drop and exit touch nothing; the parent goes on unharmed.

use std::future::{Future, IntoFuture};
use std::io::{Read, Write};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread;

use walwright::{
    CloseError, OpenError, Outcome, ReadError, Row, SearchIndex, SearchIndexError, SearchReady, Store,
    StoreState, WriteError,
};
use walwright_test_support::{Gate, Probe, Scratch, watchdog};

use crate::support_read::{Helper, LIMIT, contents, number, say};

#[test]
fn c43_a_forked_child_is_refused_and_the_parent_goes_on() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        // In a process of its own, which has few threads and forks at a known moment.
        let helper = Helper::start("c43 fork", &scratch.join("a.db"));
        assert_eq!(helper.hear(), "forked: every call was refused");
        assert_eq!(helper.hear(), "parent: 1000 records");
        helper.finish();
        let probe = Probe::open(scratch.join("a.db")).unwrap();
        probe.integrity_check().unwrap();
        assert_eq!(probe.count("SELECT count(*) FROM t").unwrap(), 1003);
    });
}

/// What was under way when the process was forked.
struct UnderWay {
    pending: walwright::Pending<walwright::Receipt>,
    write: Pin<Box<walwright::WriteFuture<walwright::Receipt>>>,
    submit: Pin<Box<dyn Future<Output = Result<walwright::Pending<walwright::Receipt>, WriteError>>>>,
    read: Pin<Box<walwright::ReadFuture<walwright::ResultRows>>>,
    close: walwright::Close,
    open: Pin<Box<walwright::OpenFuture>>,
    index: SearchIndex<Row>,
    ready: SearchReady,
}

fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// In a process of its own: opens a store, forks while writes and reads are under way, and goes on.
pub fn open_and_fork(path: &Path) {
    let store = Store::builder(path).readers(1).write_queue(2, 1 << 20).open().wait().unwrap();
    store.execute("CREATE TABLE t (x)", ()).wait().unwrap();
    let index = index_to_be_built(&store);
    let bystander = Store::temporary().open().wait().unwrap();
    bystander.execute("CREATE TABLE t (x)", ()).wait().unwrap();
    let folder = bystander.settings().path.parent().unwrap().to_owned();

    // Everything stands still at the gate when the process is forked: the child must find no lock taken.
    let gate = Gate::new();
    let (at_gate, at_gate_too) = (gate.clone(), gate.clone());
    let running = store.write(move |_| {
        at_gate.wait();
        Ok(())
    });
    let running = running.try_submit().unwrap();
    let reading = thread::spawn({
        let store = store.clone();
        move || {
            let read = store.read(move |_| {
                at_gate_too.wait();
                Ok(())
            });
            read.wait()
        }
    });
    let last_read = thread::spawn({
        let (bystander, gate) = (bystander.clone(), gate.clone());
        move || {
            let read = bystander.read(move |_| {
                gate.wait();
                Ok(())
            });
            read.wait()
        }
    });
    gate.wait_until_entered_by(3);
    let insert = || store.execute("INSERT INTO t VALUES (1)", ());
    let at_gate = gate.clone();
    let other = Store::builder(path.with_file_name("other.db")).on_connection(move |_| {
        at_gate.wait();
        Ok(())
    });
    let mut under_way = UnderWay {
        pending: insert().try_submit().unwrap(),
        write: Box::pin(insert().into_future()),
        submit: Box::pin(insert().submit()),
        read: Box::pin(store.query("SELECT 1", ()).into_future()),
        close: bystander.close(),
        open: Box::pin(other.open().into_future()),
        ready: index.ready(),
        index,
    };
    assert!(poll(under_way.write.as_mut()).is_pending());
    assert!(poll(under_way.submit.as_mut()).is_pending(), "the queue is full");
    assert!(poll(under_way.read.as_mut()).is_pending());
    assert!(poll(under_way.open.as_mut()).is_pending());
    gate.wait_until_entered_by(4);

    let (mut told, mut tell) = std::io::pipe().unwrap();
    // SAFETY: the child runs more than signal handlers may, as daemons do. The threads that exist here hold no
    // lock that it takes: they stand at the gate or sleep.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", std::io::Error::last_os_error());
    if child == 0 {
        drop(told);
        // A call that hangs must not leave the child behind.
        // SAFETY: the call has no precondition; nobody in this process has another alarm.
        unsafe { libc::alarm(20) };
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            every_call_is_refused(&store, path, under_way);
            drop(bystander);
        }));
        // The last handle of the child, dropped in it; then an ordinary exit with everything that it runs.
        drop((store, running));
        let word: &[u8] =
            if refused.is_ok() { b"every call was refused" } else { b"a call failed, see stderr" };
        tell.write_all(word).unwrap();
        drop(tell);
        std::process::exit(0);
    }
    drop(tell);
    let listener = thread::spawn(move || {
        let mut word = String::new();
        told.read_to_string(&mut word).map(|_| word)
    });
    let word = listener.join().unwrap().unwrap();
    let mut status = 0;
    // SAFETY: the child is ours and has not been waited for; `status` outlives the call.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child ended by itself");
    say(format!("forked: {word}"));

    gate.open();
    running.wait().unwrap();
    reading.join().unwrap().unwrap();
    last_read.join().unwrap().unwrap();
    finish(under_way);
    assert!(!folder.exists(), "the temporary store is closed by its owner");
    for _ in 0..1000 {
        store.execute("INSERT INTO t VALUES (2)", ()).wait().unwrap();
    }
    say(format!("parent: {} records", number(&store, "SELECT count(*) FROM t WHERE x = 2")));
    // Still the only owner.
    let second = Store::builder(path).open().wait();
    assert!(matches!(second, Err(OpenError::AlreadyOpen { this_process: true, .. })));
    store.close().wait().unwrap();
}

/// A search index of a table that is full: the writer has no time to build it.
fn index_to_be_built(store: &Store) -> SearchIndex<Row> {
    store.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)", ()).wait().unwrap();
    let rows = "WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
                INSERT INTO note (text) SELECT 'note ' || i FROM n";
    store.execute(rows, ()).wait().unwrap();
    let notes = store.table::<Row>("note").open().wait().unwrap();
    notes.search_index("note_search").columns(["text"]).substrings().open().wait().unwrap()
}

/// In the parent: all of it is carried out.
fn finish(under_way: UnderWay) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let UnderWay { pending, write, submit, read, close, open, index, ready } = under_way;
    pending.wait().unwrap();
    ready.wait().unwrap();
    assert_eq!(index.find("note 777").wait().unwrap().rows.len(), 11);
    close.wait().unwrap();
    runtime.block_on(async move {
        write.await.unwrap();
        submit.await.unwrap().await.unwrap();
        assert_eq!(read.await.unwrap().len(), 1);
        open.await.unwrap().close().await.unwrap();
    });
}

/// In the forked child.
fn every_call_is_refused(store: &Store, path: &Path, under_way: UnderWay) {
    let folder = path.parent().unwrap();
    let before = contents_but_of_the_opening(folder);
    let insert = || store.execute("INSERT INTO t VALUES (9)", ());
    let is_forked = |error: &WriteError| matches!(error, WriteError::Forked { admitted: false });
    let error = insert().wait().unwrap_err();
    assert!(is_forked(&error) && error.outcome() == Outcome::NotStarted, "{error:?}");
    assert!(insert().try_submit().is_err_and(|error| is_forked(&error)));
    assert!(store.flush().wait().is_err_and(|error| is_forked(&error)));
    assert!(store.write(|_| Ok(())).wait().is_err_and(|error| is_forked(&error)));
    assert!(store.execute_returning("SELECT 1", ()).wait().is_err_and(|error| is_forked(&error)));
    let batch = store.batch().execute("INSERT INTO t VALUES (9)", ()).send();
    assert!(batch.wait().is_err_and(|error| is_forked(&error)));
    assert!(matches!(store.query("SELECT 1", ()).wait(), Err(ReadError::Forked)));
    assert!(matches!(store.read(|_| Ok(())).wait(), Err(ReadError::Forked)));
    assert!(matches!(store.close().wait(), Err(CloseError::Forked)));
    assert!(matches!(store.close_within(LIMIT).wait(), Err(CloseError::Forked)));
    match poll(std::pin::pin!(insert().into_future())) {
        Poll::Ready(Err(WriteError::Forked { admitted: false })) => {}
        other => panic!("{other:?}"),
    }
    match poll(std::pin::pin!(insert().submit())) {
        Poll::Ready(Err(WriteError::Forked { admitted: false })) => {}
        other => panic!("{:?}", other.map(|result| result.map(drop))),
    }
    let stats = store.stats();
    assert!(matches!(stats.state, StoreState::Forked), "{stats:?}");
    let _ = (store.settings(), format!("{store:?}"), store.clone());
    // The parent has it, and a child is nobody's heir.
    let again = Store::builder(path).open().wait().map(drop);
    match again {
        Err(OpenError::AlreadyOpen { holder, this_process: false, .. }) => {
            assert_eq!(holder, Some(std::os::unix::process::parent_id()));
        }
        other => panic!("{other:?}"),
    }
    // What was under way has nobody here who would carry it out.
    let UnderWay { pending, mut write, mut submit, mut read, close, mut open, index, ready } = under_way;
    let error = pending.wait().unwrap_err();
    // The parent carries them out: what is on disk is not known here.
    assert!(matches!(error, WriteError::Forked { admitted: true }), "{error:?}");
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert!(matches!(poll(write.as_mut()), Poll::Ready(Err(WriteError::Forked { admitted: true }))));
    assert!(matches!(poll(submit.as_mut()), Poll::Ready(Err(WriteError::Forked { admitted: true }))));
    assert!(matches!(poll(read.as_mut()), Poll::Ready(Err(ReadError::Forked))));
    assert!(matches!(close.wait(), Err(CloseError::Forked)));
    for ready in [ready, index.ready()] {
        let error = ready.wait().unwrap_err();
        assert!(matches!(error, SearchIndexError::Write(WriteError::Forked { admitted: true })), "{error:?}");
    }
    assert!(matches!(index.find("note").wait(), Err(ReadError::Forked)));
    assert!(matches!(poll(open.as_mut()), Poll::Ready(Err(OpenError::Forked { .. }))));
    drop((write, submit, read, open));
    assert!(before == contents_but_of_the_opening(folder), "the child has changed a file");
}

/// The parent goes on with its opening of the other database meanwhile.
fn contents_but_of_the_opening(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = contents(folder);
    files.retain(|(name, _)| !name.starts_with("other.db"));
    files
}

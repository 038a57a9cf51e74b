//! A disk that fills up, byte by byte, and has room again later.

use std::time::Duration;

use walwright::rusqlite::ffi;
use walwright::{AckLevel, OpenError, WriteError};
use walwright_test_support::{FaultVfs, Scratch, watchdog};

use crate::run::{Run, builder, insert};
use crate::scene::SCENES;
use crate::template::Template;

/// The disk fills up at another byte each time, in the middle of groups, COMMITs and checkpoints. Nothing
/// stops, every refused command is not applied, and all is well when there is room, without reopening.
#[test]
fn a_disk_that_fills_up_anywhere_is_survived_without_reopening() {
    let vfs = FaultVfs::unique("full");
    vfs.skip_real_syncs(true);
    let mut refused = 0;
    for scene in
        SCENES.iter().filter(|scene| ["groups", "a group that spills", "checkpoints"].contains(&scene.name))
    {
        let template = (scene.template)();
        for free in (0..200_000).step_by(13_001) {
            let folder = Scratch::new();
            let mut run = Run::new(vfs, template.copy_to(folder.path()), template.rows());
            let (prepare, play, images) = (scene.prepare, scene.play, folder.subdirectory("after"));
            refused += watchdog(Duration::from_secs(30), move || {
                prepare(&mut run);
                vfs.set_free_bytes(Some(free));
                play(&mut run);
                assert!(!run.has_failed(), "{free} bytes: a full disk stopped the store");
                let refused = run.refused();
                vfs.set_free_bytes(None);
                run.conclude(&images);
                refused
            });
        }
    }
    assert!(refused > 20, "only {refused} commands met the full disk");
}

/// Room is what a delete may make; it needs some itself. Here somebody else makes it.
#[test]
fn the_same_command_succeeds_when_there_is_room() {
    let (vfs, folder, template) = (FaultVfs::unique("full"), Scratch::new(), Template::closed());
    let path = template.copy_to(folder.path());
    let store = builder(&path).vfs(vfs.name()).open().wait().unwrap();
    let write = || store.execute("INSERT INTO item VALUES (101, zeroblob(100000))", ());
    vfs.set_free_bytes(Some(50_000));
    for level in [AckLevel::Durable, AckLevel::Committed] {
        let error = write().ack(level).wait().unwrap_err();
        assert!(matches!(error, WriteError::DiskFull(_)) && error.is_retryable(), "{error}");
    }
    assert_eq!(store.query("SELECT 1 FROM item WHERE id = 101", ()).wait().unwrap().len(), 0);
    vfs.set_free_bytes(None);
    write().wait().unwrap();
    store.close().wait().unwrap();
}

/// Opening needs room too: for the conversion, for the engine's own table. Without any it says so, and the
/// file is what it was. Taking up a log that was left behind makes room instead.
#[test]
fn opening_on_a_full_disk_leaves_the_file_as_it_was() {
    let vfs = FaultVfs::unique("full");
    for (template, needs_room) in
        [(Template::rollback_mode(), true), (Template::none(), true), (Template::left_behind_wal(), false)]
    {
        let folder = Scratch::new();
        let path = template.copy_to(folder.path());
        vfs.set_free_bytes(Some(0));
        match builder(&path).vfs(vfs.name()).open().wait() {
            Err(OpenError::Sqlite { source, .. }) if needs_room => {
                assert_eq!(source.code(), ffi::SQLITE_FULL)
            }
            Ok(store) if !needs_room => store.close().wait().unwrap(),
            other => panic!("{other:?}"),
        }
        vfs.set_free_bytes(None);
        let mut run = Run::new(vfs, path, template.rows());
        run.open();
        run.one(AckLevel::Durable, "insert", &[insert(101, "a")], |store| {
            store.execute("INSERT INTO item VALUES (101, 'a')", ())
        });
        run.read();
        run.conclude(&folder.subdirectory("after"));
    }
}

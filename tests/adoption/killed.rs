//! The power goes at any step of an adoption: of the switch to WAL mode, the version, the migrations, the fix-ups.

use std::fs;

use walwright::rusqlite::Connection;
use walwright::{FixupState, Store};
use walwright_test_support::vfs::{DatabaseCreation, Disk, Event, FaultVfs};
use walwright_test_support::{Probe, Scratch};

use crate::bed::{MESSAGES, content, fill, open, recognising, run};
use crate::fixups;

/// What one run writes, from the making of the old file on, and where the adoption begins in it.
fn recorded(scratch: &Scratch) -> (Vec<Event>, usize) {
    let vfs = FaultVfs::unique("killed");
    vfs.start_recording(DatabaseCreation::AtOnce);
    let path = scratch.subdirectory("recorded").join("a.db");
    let flags = walwright::rusqlite::OpenFlags::default();
    let old = Connection::open_with_flags_and_vfs(&path, flags, vfs.name()).unwrap();
    // What the old program has committed is durable, the end of its journal too.
    old.pragma_update(None, "synchronous", "EXTRA").unwrap();
    fill(&old, 1).unwrap();
    drop(old);
    let begun = vfs.trace().len();
    let store = open(recognising(&path).vfs(vfs.name()).fixup(fixups::fill()));
    store.fixups_done().wait().unwrap();
    store.close().wait().unwrap();
    (vfs.trace(), begun)
}

/// Opens what is left, and holds it against what an adoption that nobody disturbed leaves.
fn goes_on(folder: &std::path::Path, vfs: &FaultVfs, at: &str) {
    let path = folder.join("a.db");
    let store = open(recognising(&path).vfs(vfs.name()).fixup(fixups::fill()));
    store.fixups_done().wait().unwrap();
    assert_eq!(store.settings().user_version, 3, "{at}");
    assert_eq!(store.settings().journal_mode, "wal", "{at}");
    assert!(store.fixups().iter().all(|fixup| fixup.state == FixupState::Done), "{at}");
    store.close().wait().unwrap();
    let probe = Probe::open(&path).unwrap();
    probe.integrity_check().unwrap();
    let once = "SELECT count(*) FROM message WHERE lower_nick = lower(nick) AND nick = 'Nick' || id";
    assert_eq!(probe.count(once).unwrap(), MESSAGES, "{at}: each row is there, and was met once");
}

#[test]
fn an_adoption_goes_on_wherever_the_power_went() {
    run(|| {
        let scratch = Scratch::new();
        let (events, begun) = recorded(&scratch);
        assert!(events.len() > begun + 40, "or this test shows nothing");
        let folder = scratch.subdirectory("left");
        // All places of the beginning, and then some: the steps of a fix-up are alike.
        let places = (begun..=events.len()).filter(|count| count - begun < 60 || count % 11 == 0);
        let vfs = FaultVfs::unique("going-on");
        vfs.skip_real_syncs(true);
        for count in places {
            fs::remove_dir_all(&folder).unwrap();
            fs::create_dir(&folder).unwrap();
            Disk::after(&events[..count]).image_at_power_cut().write_into(&folder).unwrap();
            goes_on(&folder, vfs, &format!("after {} of {} events", count - begun, events.len() - begun));
        }
    });
}

/// An older program must not touch what the newer one has adopted.
#[test]
fn an_older_program_is_refused_by_the_version_that_was_stamped() {
    run(|| {
        let scratch = Scratch::new();
        let path = crate::bed::old_file(&scratch, 1);
        open(recognising(&path)).close().wait().unwrap();
        let before = content(&path);
        let older = Store::builder(&path).migrations(&crate::bed::MIGRATIONS[..1]).recognise(|_| Ok(Some(1)));
        let error = crate::bed::refused(older);
        assert!(matches!(error, walwright::OpenError::SchemaTooNew { found: 3, known: 1, .. }), "{error}");
        assert_eq!(content(&path), before);
    });
}

//! Delete of one row.

use walwright::{AckLevel, Row};
use walwright_test_support::FaultVfs;
use walwright_test_support::vfs::{DatabaseCreation, FileKind};

use crate::bed::{Bed, run};

#[test]
fn a_delete_says_whether_the_row_was_there() {
    run(|| {
        let bed = Bed::new("CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER); INSERT INTO t VALUES (1, 4)");
        let table = bed.revised::<Row>();
        let deleted = table.delete(1).wait().unwrap();
        assert_eq!((deleted.rows_changed, deleted.revision, deleted.created), (1, None, false));
        assert_eq!(table.delete(1).wait().unwrap().rows_changed, 0);
        assert_eq!(bed.one("SELECT count(*) FROM t"), "0");
    });
}

/// A delete is answered when it is durable, whatever level is asked for: also one of a row that is not there,
/// because an earlier commit that nobody waited for may have removed it.
#[test]
fn a_delete_is_durable_at_whatever_level() {
    run(|| {
        let vfs = FaultVfs::unique("row-delete");
        vfs.start_recording(DatabaseCreation::AtOnce);
        let bed = Bed::with("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)", |builder| {
            builder.vfs(vfs.name()).ack(AckLevel::Committed)
        });
        let table = bed.table::<Row>("t");
        let row = Row::new().with("id", 1).unwrap().with("n", 1).unwrap();
        let syncs = || vfs.counts(FileKind::Wal).syncs;
        bed.store.flush().wait().unwrap();

        let before = syncs();
        table.insert(&row).wait().unwrap();
        table.update(1).set("n", 2).wait().unwrap();
        assert_eq!(syncs(), before, "nobody asked for more than a commit");
        table.delete(1).wait().unwrap();
        assert!(syncs() > before);

        let before = syncs();
        table.insert(&row).wait().unwrap();
        assert_eq!(table.delete(2).wait().unwrap().rows_changed, 0);
        assert!(syncs() > before, "what was done before is durable, too");
        let before = syncs();
        table.delete(2).wait().unwrap();
        assert_eq!(syncs(), before, "nothing is left to sync");
    });
}

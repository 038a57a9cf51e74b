//! A look at an image: opened with Walwright, read, written to and closed.

use super::content;
use super::rig::NAME;
use super::schema::Step;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use walwright::{Migration, Store, StoreBuilder};
use walwright_test_support::Scratch;
use walwright_test_support::vfs::Image;

/// What was found in an image.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// Why the image could not be used, or what is wrong in it. Empty if it is sound.
    pub complaints: Vec<String>,
    /// Its content.
    pub digest: u64,
    /// How many migrations it had.
    pub version: usize,
    /// The commit sequence of the first write.
    pub sequence: u64,
}

/// A folder for one image after the other.
///
/// In memory if there is such a place: an image is what a disk held, and needs none itself.
pub struct Bench {
    folder: PathBuf,
    _scratch: Option<Scratch>,
}

impl Bench {
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let memory = PathBuf::from("/dev/shm").join(format!("walwright-cut-{}-{number}", std::process::id()));
        if fs::create_dir(&memory).is_ok() {
            return Self { folder: memory, _scratch: None };
        }
        let scratch = Scratch::new();
        Self { folder: scratch.path().to_owned(), _scratch: Some(scratch) }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// Puts the image there and clears away what was there.
    pub fn lay_out(&self, image: &Image) {
        let empty = fs::remove_dir_all(&self.folder).and_then(|()| fs::create_dir(&self.folder));
        empty.and_then(|()| image.write_into(&self.folder)).expect("an image can be written");
    }

    /// Looks at the image with a store that has these migrations.
    pub fn look(&self, image: &Image, steps: &[Step]) -> Look {
        self.lay_out(image);
        let mut look = Look::default();
        if let Err(complaint) = fill(&mut look, &self.path(), steps) {
            look.complaints.push(complaint);
        }
        look
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // A leftover folder is no reason to fail.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A store that costs little to open.
pub fn builder(path: &Path, steps: &[Step]) -> StoreBuilder {
    let migrations: Vec<Migration> = steps.iter().map(Step::migration).collect();
    Store::builder(path).migrations(&migrations).readers(1).page_cache(1 << 18)
}

fn fill(look: &mut Look, path: &Path, steps: &[Step]) -> Result<(), String> {
    let store = builder(path, steps).open().wait().map_err(|error| format!("does not open: {error}"))?;
    look.version = steps.len() - store.settings().migrations_applied as usize;
    let read = store.read(|db| Ok((content::complaints(db)?, content::digest(db)?)));
    (look.complaints, look.digest) = read.wait().map_err(|error| format!("cannot be read: {error}"))?;
    let first = store.execute("INSERT INTO tick VALUES (0)", ()).wait();
    look.sequence = first.map_err(|error| format!("the first write fails: {error}"))?.sequence;
    store.close().wait().map_err(|error| format!("does not close: {error}"))
}

//! From what happened to what is on the disk.

use super::image::Image;
use super::trace::{Event, FileId, SyncEffect};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A disk with a volatile cache, at one point of a recording.
///
/// Feed it the events of a trace in order and ask at any point what a power cut would leave. The
/// rules: bytes and lengths are pending until their file is synced, names until their directory is.
/// A sync covers what was complete when it began. Whatever is pending may be on the disk or not, in
/// any combination.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    files: BTreeMap<FileId, File>,
    /// The names on the disk.
    names: BTreeMap<PathBuf, FileId>,
    /// Names made and removed since, in order.
    renames: Vec<NameChange>,
    /// Every name that was ever seen.
    known: BTreeSet<PathBuf>,
    /// Events applied so far.
    events: usize,
}

/// The content of one file.
#[derive(Clone, Debug, Default)]
struct File {
    path: PathBuf,
    /// What is on the disk, as far as no undecided change lies below it.
    durable: Vec<u8>,
    /// The changes since, in order; the first of them is not durable.
    changes: VecDeque<ContentChange>,
}

#[derive(Clone, Debug)]
struct ContentChange {
    event: usize,
    what: Content,
    state: State,
}

#[derive(Clone, Debug)]
enum Content {
    Write { offset: u64, data: Arc<[u8]> },
    Truncate { size: u64 },
}

/// Where a change of content is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Pending,
    /// Lost to a failed sync; no later sync covers it.
    Dropped,
    Durable,
}

#[derive(Clone, Debug)]
struct NameChange {
    event: usize,
    path: PathBuf,
    /// The file that has the name since, or none.
    file: Option<FileId>,
}

/// A change that a power cut may take back.
#[derive(Clone, Copy, Debug)]
pub struct Pending<'disk> {
    /// The number of the event that made it, from 0. It names the change.
    pub event: usize,
    /// The file's name.
    pub path: &'disk Path,
    /// What was changed.
    pub change: Change<'disk>,
    /// A failed sync dropped it: it is most likely lost, whatever was synced since.
    pub dropped: bool,
}

/// What a pending change does.
#[derive(Clone, Copy, Debug)]
pub enum Change<'disk> {
    /// Makes the name. Without it the file is not there, whatever was written to it.
    Create,
    /// Removes the name.
    Delete,
    /// Writes bytes.
    Write {
        /// Where the first byte goes.
        offset: u64,
        /// The bytes.
        data: &'disk [u8],
    },
    /// Cuts the file, or extends it with zeros.
    Truncate {
        /// Its length after that.
        size: u64,
    },
}

/// What becomes of a pending change in a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is not on the disk.
    Lost,
    /// It is on the disk.
    Kept,
    /// Only so many first bytes of a write are on the disk; other changes are kept.
    Head(usize),
    /// Only what follows so many bytes of a write is on the disk; other changes are kept.
    Tail(usize),
}

impl Disk {
    /// The disk after all of `events`.
    pub fn after<'event>(events: impl IntoIterator<Item = &'event Event>) -> Self {
        let mut disk = Self::default();
        events.into_iter().for_each(|event| disk.apply(event));
        disk
    }

    /// Lets the next event of the recording happen.
    pub fn apply(&mut self, event: &Event) {
        let number = self.events;
        self.events += 1;
        match event {
            Event::Found { file, path, content } => {
                self.meet(*file, path).durable = content.to_vec();
                self.names.insert(path.clone(), *file);
            }
            Event::Create { file, path, durable } => {
                self.meet(*file, path);
                if *durable {
                    self.names.insert(path.clone(), *file);
                } else {
                    self.renames.push(NameChange { event: number, path: path.clone(), file: Some(*file) });
                }
            }
            Event::Write { file, offset, data } => {
                self.change(number, *file, Content::Write { offset: *offset, data: data.clone() });
            }
            Event::Truncate { file, size } => self.change(number, *file, Content::Truncate { size: *size }),
            Event::Sync { file, covers, effect } => {
                let file = self.files.entry(*file).or_default();
                match effect {
                    SyncEffect::Durable => file.settle(*covers),
                    SyncEffect::DroppedPages => file.drop_pages(*covers),
                    SyncEffect::Nothing => {}
                }
            }
            Event::Delete { path, durable } => {
                self.known.insert(path.clone());
                self.renames.push(NameChange { event: number, path: path.clone(), file: None });
                if *durable {
                    self.settle_names(path.parent(), number + 1);
                }
            }
            Event::SyncDirectory { path, covers } => self.settle_names(Some(path), *covers),
            Event::Mark(_) => {}
        }
    }

    /// Everything that a power cut may take back now, in the order in which it happened.
    pub fn pending(&self) -> Vec<Pending<'_>> {
        let contents = self.files.values().flat_map(|file| {
            let undecided = file.changes.iter().filter(|change| change.state != State::Durable);
            undecided.map(|change| file.describe(change))
        });
        let mut all: Vec<_> = self.renames.iter().map(NameChange::describe).chain(contents).collect();
        all.sort_unstable_by_key(|pending| pending.event);
        all
    }

    /// What is left when only synced data survives.
    pub fn image_at_power_cut(&self) -> Image {
        self.image_with(&|_| false)
    }

    /// What is left when, beside the synced data, exactly those pending changes survive that `keep`
    /// accepts. It is asked about dropped changes too.
    pub fn image_with(&self, keep: &dyn Fn(&Pending) -> bool) -> Image {
        self.image_with_fates(&|pending| {
            if keep(pending) { Fate::Kept } else { Fate::Lost }
        })
    }

    /// What is left when each pending change meets the fate that `fate` says: as
    /// [`Disk::image_with`], with writes that are torn.
    pub fn image_with_fates(&self, fate: &dyn Fn(&Pending) -> Fate) -> Image {
        let mut names = self.names.clone();
        for change in &self.renames {
            if fate(&change.describe()) != Fate::Lost {
                change.carry_out(&mut names);
            }
        }
        let missing = self.known.iter().filter(|path| !names.contains_key(*path)).cloned().collect();
        let content = |id: FileId| self.files.get(&id).map_or_else(Vec::new, |file| file.content(fate));
        let files = names.into_iter().map(|(path, id)| (path, content(id))).collect();
        Image { files, missing }
    }

    /// The file `id`, which has the name `path` from now on.
    fn meet(&mut self, id: FileId, path: &Path) -> &mut File {
        self.known.insert(path.to_owned());
        let file = self.files.entry(id).or_default();
        path.clone_into(&mut file.path);
        file
    }

    fn change(&mut self, event: usize, file: FileId, what: Content) {
        let change = ContentChange { event, what, state: State::Pending };
        self.files.entry(file).or_default().changes.push_back(change);
    }

    /// The names in `directory` that were changed before event `covers` are durable.
    fn settle_names(&mut self, directory: Option<&Path>, covers: usize) {
        let names = &mut self.names;
        self.renames.retain(|change| {
            let settled = change.event < covers && change.path.parent() == directory;
            if settled {
                change.carry_out(names);
            }
            !settled
        });
    }
}

impl File {
    /// What was changed before event `covers` is durable.
    fn settle(&mut self, covers: usize) {
        for change in &mut self.changes {
            if change.event < covers && change.state == State::Pending {
                change.state = State::Durable;
            }
        }
        // Later changes stay in the list as long as an undecided one lies below them.
        while let Some(change) = self.changes.front().filter(|change| change.state == State::Durable) {
            change.what.carry_out(&mut self.durable, Fate::Kept);
            self.changes.pop_front();
        }
    }

    /// The bytes that were written before event `covers` cannot become durable any more. Lengths
    /// can: they are the filesystem's own data, not pages of the file.
    fn drop_pages(&mut self, covers: usize) {
        for change in &mut self.changes {
            let page = matches!(change.what, Content::Write { .. });
            if page && change.event < covers && change.state == State::Pending {
                change.state = State::Dropped;
            }
        }
    }

    fn content(&self, fate: &dyn Fn(&Pending) -> Fate) -> Vec<u8> {
        let mut content = self.durable.clone();
        for change in &self.changes {
            let decided = change.state == State::Durable;
            let fate = if decided { Fate::Kept } else { fate(&self.describe(change)) };
            change.what.carry_out(&mut content, fate);
        }
        content
    }

    fn describe<'disk>(&'disk self, change: &'disk ContentChange) -> Pending<'disk> {
        Pending {
            event: change.event,
            path: &self.path,
            change: match &change.what {
                Content::Write { offset, data } => Change::Write { offset: *offset, data },
                Content::Truncate { size } => Change::Truncate { size: *size },
            },
            dropped: change.state == State::Dropped,
        }
    }
}

impl Content {
    fn carry_out(&self, content: &mut Vec<u8>, fate: Fate) {
        match self {
            Self::Write { offset, data } => {
                let (skipped, kept) = match fate {
                    Fate::Lost => return,
                    Fate::Kept => (0, &data[..]),
                    Fate::Head(bytes) => (0, &data[..bytes.min(data.len())]),
                    Fate::Tail(bytes) => (bytes.min(data.len()), &data[bytes.min(data.len())..]),
                };
                let start = length(*offset) + skipped;
                let end = start + kept.len();
                // A lost write before this one leaves zeros.
                content.resize(content.len().max(end), 0);
                content[start..end].copy_from_slice(kept);
            }
            Self::Truncate { size } if fate != Fate::Lost => content.resize(length(*size), 0),
            Self::Truncate { .. } => {}
        }
    }
}

impl NameChange {
    fn carry_out(&self, names: &mut BTreeMap<PathBuf, FileId>) {
        match self.file {
            Some(file) => names.insert(self.path.clone(), file),
            None => names.remove(&self.path),
        };
    }

    fn describe(&self) -> Pending<'_> {
        let change = if self.file.is_some() { Change::Create } else { Change::Delete };
        Pending { event: self.event, path: &self.path, change, dropped: false }
    }
}

/// A position in a file that fits in memory.
fn length(position: u64) -> usize {
    usize::try_from(position).expect("recorded files fit in memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(1);

    fn create(file: FileId) -> Event {
        Event::Create { file, path: "/dir/db".into(), durable: false }
    }

    fn write(offset: u64, data: &[u8]) -> Event {
        Event::Write { file: FILE, offset, data: data.into() }
    }

    fn sync(covers: usize, effect: SyncEffect) -> Event {
        Event::Sync { file: FILE, covers, effect }
    }

    fn sync_directory(covers: usize) -> Event {
        Event::SyncDirectory { path: "/dir".into(), covers }
    }

    fn found(content: &[u8]) -> Event {
        Event::Found { file: FILE, path: "/dir/db".into(), content: content.into() }
    }

    fn content(disk: &Disk) -> Option<Vec<u8>> {
        disk.image_at_power_cut().get("/dir/db").map(<[u8]>::to_vec)
    }

    #[test]
    fn a_new_file_needs_a_sync_of_its_directory_and_its_own() {
        let mut events = vec![create(FILE), write(0, b"abc"), sync(2, SyncEffect::Durable)];
        assert_eq!(content(&Disk::after(&events)), None);
        events.push(sync_directory(3));
        assert_eq!(content(&Disk::after(&events)).unwrap(), b"abc");
        let unsynced = [create(FILE), write(0, b"abc"), sync_directory(2)];
        assert_eq!(content(&Disk::after(&unsynced)).unwrap(), b"");
    }

    #[test]
    fn a_sync_covers_only_what_came_before_it_began() {
        let disk =
            Disk::after(&[found(b"...."), write(0, b"a"), write(1, b"b"), sync(2, SyncEffect::Durable)]);
        assert_eq!(content(&disk).unwrap(), b"a...");
        assert_eq!(disk.pending().len(), 1);
    }

    #[test]
    fn dropped_bytes_stay_away_until_they_are_written_again() {
        let mut events = vec![found(b"...."), write(0, b"ab"), sync(2, SyncEffect::DroppedPages)];
        events.extend([write(3, b"d"), sync(4, SyncEffect::Durable)]);
        let disk = Disk::after(&events);
        assert_eq!(content(&disk).unwrap(), b"...d");
        assert_eq!(disk.image_with(&|_| true).get("/dir/db").unwrap(), b"ab.d");

        events.extend([write(1, b"b"), sync(6, SyncEffect::Durable)]);
        assert_eq!(content(&Disk::after(&events)).unwrap(), b".b.d");
    }

    #[test]
    fn lengths_are_pending_too_and_lost_writes_leave_zeros() {
        let disk = Disk::after(&[found(b"abcd"), Event::Truncate { file: FILE, size: 1 }, write(3, b"x")]);
        assert_eq!(content(&disk).unwrap(), b"abcd");
        let truncated = disk.image_with(&|pending| matches!(pending.change, Change::Truncate { .. }));
        assert_eq!(truncated.get("/dir/db").unwrap(), b"a");
        assert_eq!(disk.image_with(&|_| true).get("/dir/db").unwrap(), b"a\0\0x");
    }

    #[test]
    fn writes_can_be_torn() {
        let disk = Disk::after(&[found(b"...."), write(0, b"abcd")]);
        assert_eq!(disk.image_with_fates(&|_| Fate::Head(1)).get("/dir/db").unwrap(), b"a...");
        assert_eq!(disk.image_with_fates(&|_| Fate::Tail(3)).get("/dir/db").unwrap(), b"...d");
    }

    #[test]
    fn a_deleted_file_comes_back_when_its_directory_was_not_synced() {
        let delete = |durable| Event::Delete { path: "/dir/db".into(), durable };
        let disk = Disk::after(&[found(b"old"), delete(false), create(FileId(2))]);
        assert_eq!(content(&disk).unwrap(), b"old");
        assert_eq!(disk.image_with(&|_| true).get("/dir/db").unwrap(), b"");

        let disk = Disk::after(&[found(b"old"), delete(true)]);
        assert_eq!(content(&disk), None);
        assert!(disk.image_at_power_cut().missing.contains(Path::new("/dir/db")));
    }
}

//! A storage for the models: a log with a committed and a synced mark, and a script of what goes wrong.

use std::cell::RefCell;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::command::{Deed, Failure, Receipt, Write};
use crate::protocol::level::AckLevel;
use crate::protocol::storage::{
    Applied, CommitError, Committed, GroupReport, Interruption, Joined, Readiness, Storage, TransactionLost,
};

/// Whose record it is. Another program's is nobody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) written: Option<Written>,
}

/// Which piece of which command a record is, and under which commit sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) id: u8,
    pub(crate) piece: u8,
    pub(crate) sequence: u64,
}

/// What the writer has published, seen at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) committed: usize,
    pub(crate) synced: usize,
}

/// The log that the writer writes, as the others see it.
///
/// The marks decide what is on it, and they are one loom object: their order with the answers is the very
/// property, and a std type would hide it from the model checker. The records are written before
/// the mark that shows them, and never changed.
pub(crate) struct Disk {
    records: Mutex<Vec<Record>>,
    /// The ends of the groups that were committed.
    group_ends: Mutex<Vec<usize>>,
    marks: AtomicUsize,
    fatal: AtomicBool,
    /// Calls that the protocol must not make. A panic would not do: the writer's loop catches it.
    violations: Mutex<Vec<String>>,
}

const MARK_BITS: u32 = 16;

/// std's lock, without its poison: a model that failed has already said why.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Disk {
    pub(crate) fn new() -> Self {
        Self {
            records: Mutex::new(Vec::new()),
            group_ends: Mutex::new(vec![0]),
            marks: AtomicUsize::new(0),
            fatal: AtomicBool::new(false),
            violations: Mutex::new(Vec::new()),
        }
    }

    /// What is committed and what is synced now.
    pub(crate) fn marks(&self) -> Marks {
        let marks = self.marks.load(Ordering::Acquire);
        Marks { committed: marks >> MARK_BITS, synced: marks & ((1 << MARK_BITS) - 1) }
    }

    fn set_marks(&self, marks: Marks) {
        self.marks.store(marks.committed << MARK_BITS | marks.synced, Ordering::Release);
    }

    /// Puts a record there that a run before this one has left, committed and not synced.
    pub(crate) fn leave_unsynced_record(&self) {
        let committed = self.append([Record { written: None }]);
        self.set_marks(Marks { committed, ..self.marks() });
    }

    /// The first `count` records.
    pub(crate) fn records(&self, count: usize) -> Vec<Record> {
        lock(&self.records)[..count].to_vec()
    }

    /// Whether a commit, or nothing at all, ended after `count` records.
    pub(crate) fn is_group_end(&self, count: usize) -> bool {
        lock(&self.group_ends).contains(&count)
    }

    /// Whether a fault has come after which the storage must be reopened.
    pub(crate) fn is_fatal(&self) -> bool {
        self.fatal.load(Ordering::Acquire)
    }

    /// What the protocol did and must not.
    pub(crate) fn violations(&self) -> Vec<String> {
        lock(&self.violations).clone()
    }

    fn violation(&self, what: impl Into<String>) {
        lock(&self.violations).push(what.into());
    }

    fn append(&self, records: impl IntoIterator<Item = Record>) -> usize {
        let mut log = lock(&self.records);
        log.extend(records);
        lock(&self.group_ends).push(log.len());
        log.len()
    }
}

/// A call that the writer makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Upkeep,
    Reserve,
    Begin,
    Apply,
    ApplyTogether,
    Commit,
    Sync,
    Report,
}

/// What a scripted call does instead of its work, or besides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Reserve, begin: not now.
    Refused,
    /// Upkeep, reserve, begin, sync: never again. COMMIT: nobody knows, and nothing is on disk.
    Fatal,
    /// COMMIT: nobody knows, and everything is on disk.
    FatalButDone,
    /// COMMIT: rolled back.
    NotApplied,
    /// Applying a run: the transaction is lost.
    Lost,
    /// Any step: panics before it does anything.
    Panic,
    /// COMMIT, sync: panics when its work is done.
    PanicAfter,
    /// Upkeep: not ready, look again at once.
    Stalled,
    /// Upkeep: not ready, look again after a time that no model lives to see the end of.
    StalledForLong,
    /// Upkeep: wants to be called again at once if nothing waits.
    Impatient,
    /// Begin: another program commits just before.
    ForeignWrite,
}

/// One line of a script: what the `nth` call (from 0) of a step does.
pub(crate) type Line = (Step, usize, Fault);

thread_local! {
    /// The faults that struck since the test began: loom runs all threads of a model in the test's own.
    static STRUCK: RefCell<Vec<(Step, Fault)>> = const { RefCell::new(Vec::new()) };
}

/// Panics unless each fault struck in some order of some case: a script that is never reached tests nothing.
pub(crate) fn assert_struck(faults: &[(Step, Fault)]) {
    STRUCK.with_borrow(|struck| {
        for fault in faults {
            assert!(struck.contains(fault), "{fault:?} never struck");
        }
    });
}

struct Transaction {
    level: AckLevel,
    base: usize,
    records: Vec<Record>,
    /// Everyone that was applied in it.
    applied: Vec<u8>,
}

/// The writer's side of the model storage.
pub(crate) struct ModelStorage {
    disk: Arc<Disk>,
    script: Vec<Line>,
    calls: Vec<Step>,
    transaction: Option<Transaction>,
    /// Everyone whose transaction was lost: they must not run in a run again.
    lost: Vec<u8>,
    foreign: bool,
    next_sequence: u64,
    /// A fatal fault has come: every further call is one too many.
    failed: bool,
}

/// Sequences reserved at a time: enough for one group, so that every few groups reserve anew.
const RANGE: u64 = 16;

impl ModelStorage {
    /// A storage whose calls do what `script` says, and else their work.
    pub(crate) fn new(disk: Arc<Disk>, script: &[Line]) -> Self {
        Self {
            disk,
            script: script.to_vec(),
            calls: Vec::new(),
            transaction: None,
            lost: Vec::new(),
            foreign: false,
            next_sequence: 1,
            failed: false,
        }
    }

    /// Counts the call and gives what the script says about it.
    fn enter(&mut self, step: Step) -> Option<Fault> {
        if self.failed {
            self.disk.violation(format!("{step:?} after a failure that stops the writer for good"));
        }
        let nth = self.calls.iter().filter(|call| **call == step).count();
        self.calls.push(step);
        let fault = self.script.iter().find(|line| (line.0, line.1) == (step, nth)).map(|line| line.2);
        if let Some(fault) = fault {
            STRUCK.with_borrow_mut(|struck| {
                if !struck.contains(&(step, fault)) {
                    struck.push((step, fault));
                }
            });
        }
        if fault == Some(Fault::Panic) {
            self.panic();
        }
        fault
    }

    fn fail(&mut self) -> &'static str {
        self.failed = true;
        self.disk.fatal.store(true, Ordering::Release);
        "the model's disk failed"
    }

    /// A panic without the message of the panic hook.
    fn panic(&mut self) -> ! {
        self.fail();
        resume_unwind(Box::new("a scripted panic"));
    }

    fn expect_transaction(&self, step: Step, expected: bool) {
        if self.transaction.is_some() != expected {
            let place = if expected { "outside" } else { "inside" };
            self.disk.violation(format!("{step:?} {place} a transaction"));
        }
    }

    /// Does the next piece of a command.
    fn carry_out(&mut self, command: &Write, sequence: u64) -> Applied<Write> {
        let Some(transaction) = &mut self.transaction else { return Applied::Lost(Failure::Undone) };
        transaction.applied.push(command.id);
        let piece = command.kept;
        if command.is_last(piece) {
            match command.deed {
                Deed::Fail => return Applied::Failed(Failure::Undone),
                Deed::Lose => {
                    self.lose();
                    return Applied::Lost(Failure::Undone);
                }
                Deed::Insert | Deed::Delete | Deed::DeleteNothing => {}
            }
        }
        if command.leaves_record(piece) {
            transaction.records.push(Record { written: Some(Written { id: command.id, piece, sequence }) });
        }
        let deletes = command.deletes();
        if !command.is_last(piece) {
            return Applied::Piece { deletes };
        }
        let output = Receipt { sequence, seen: transaction.base + transaction.records.len() };
        Applied::Done { output, deletes }
    }

    /// The transaction is gone.
    fn lose(&mut self) {
        self.lost.extend(self.transaction.take().into_iter().flat_map(|lost| lost.applied));
    }

    fn append(&mut self, level: AckLevel, records: Vec<Record>) {
        let committed = self.disk.append(records);
        let synced = if level == AckLevel::Durable { committed } else { self.disk.marks().synced };
        self.disk.set_marks(Marks { committed, synced });
    }
}

impl Storage for ModelStorage {
    type Command = Write;

    fn begin(&mut self, level: AckLevel) -> Result<(), Interruption<&'static str>> {
        let fault = self.enter(Step::Begin);
        self.expect_transaction(Step::Begin, false);
        match fault {
            Some(Fault::Refused) => return Err(Interruption::Refused("not now")),
            Some(Fault::Fatal) => return Err(Interruption::Fatal(self.fail())),
            Some(Fault::ForeignWrite) => {
                self.foreign = true;
                self.append(AckLevel::Committed, vec![Record { written: None }]);
            }
            _ => {}
        }
        self.transaction = Some(Transaction {
            level,
            base: self.disk.marks().committed,
            records: Vec::new(),
            applied: Vec::new(),
        });
        Ok(())
    }

    fn apply(&mut self, command: &mut Write, sequence: u64, _: Instant) -> Applied<Write> {
        self.enter(Step::Apply);
        self.expect_transaction(Step::Apply, true);
        self.carry_out(command, sequence)
    }

    fn joins(&self, command: &Write) -> bool {
        command.joins
    }

    fn apply_together(
        &mut self,
        commands: &mut [&mut Write],
        first_sequence: u64,
        _: Instant,
    ) -> Result<Vec<Joined<Write>>, TransactionLost> {
        let fault = self.enter(Step::ApplyTogether);
        self.expect_transaction(Step::ApplyTogether, true);
        if commands.len() < 2 || commands.iter().any(|command| !command.joins || command.pieces > 1) {
            self.disk.violation(format!("no run: {commands:?}"));
        }
        if let Some(again) = commands.iter().find(|command| self.lost.contains(&command.id)) {
            self.disk.violation(format!("in a run after its transaction was lost: {again:?}"));
        }
        let mut joined = Vec::new();
        for (command, sequence) in commands.iter_mut().zip(first_sequence..) {
            joined.push(match self.carry_out(command, sequence) {
                Applied::Done { output, deletes } => Joined::Done { output, deletes },
                Applied::Failed(error) => Joined::Failed(error),
                // A storage that merges several into one does not know who it was.
                Applied::Piece { .. } | Applied::Lost(_) => {
                    self.lost.extend(commands.iter().map(|command| command.id));
                    return Err(TransactionLost);
                }
            });
        }
        if fault == Some(Fault::Lost) {
            self.lose();
            return Err(TransactionLost);
        }
        Ok(joined)
    }

    fn commit(&mut self) -> Result<Committed, CommitError<Failure, &'static str>> {
        let fault = self.enter(Step::Commit);
        self.expect_transaction(Step::Commit, true);
        let Some(Transaction { level, records, applied, .. }) = self.transaction.take() else {
            return Err(CommitError::NotApplied(Failure::Undone));
        };
        match fault {
            Some(Fault::NotApplied) => {
                self.lost.extend(applied);
                return Err(CommitError::NotApplied(Failure::Undone));
            }
            Some(Fault::Fatal) => return Err(CommitError::Unknown(self.fail())),
            _ => {}
        }
        let wrote = !records.is_empty();
        // A COMMIT that writes nothing syncs nothing, whatever the level.
        if wrote {
            self.append(level, records);
        }
        match fault {
            Some(Fault::FatalButDone) => return Err(CommitError::Unknown(self.fail())),
            Some(Fault::PanicAfter) => self.panic(),
            _ => {}
        }
        Ok(Committed { wrote, foreign: std::mem::take(&mut self.foreign) })
    }

    fn sync(&mut self) -> Result<(), &'static str> {
        let fault = self.enter(Step::Sync);
        self.expect_transaction(Step::Sync, false);
        // A sync that failed has dropped its pages: one that succeeds later proves nothing.
        if self.failed {
            return Ok(());
        }
        if fault == Some(Fault::Fatal) {
            return Err(self.fail());
        }
        let marks = self.disk.marks();
        self.disk.set_marks(Marks { synced: marks.committed, ..marks });
        if fault == Some(Fault::PanicAfter) {
            self.panic();
        }
        Ok(())
    }

    fn reserve(&mut self) -> Result<Range<u64>, Interruption<&'static str>> {
        let fault = self.enter(Step::Reserve);
        self.expect_transaction(Step::Reserve, false);
        match fault {
            Some(Fault::Refused) => return Err(Interruption::Refused("not now")),
            Some(Fault::Fatal) => return Err(Interruption::Fatal(self.fail())),
            _ => {}
        }
        let first = self.next_sequence;
        self.next_sequence += RANGE;
        Ok(first..self.next_sequence)
    }

    fn upkeep(&mut self, _idle: bool) -> Result<Readiness, &'static str> {
        let fault = self.enter(Step::Upkeep);
        self.expect_transaction(Step::Upkeep, false);
        match fault {
            Some(Fault::Fatal) => Err(self.fail()),
            Some(Fault::Stalled) => Ok(Readiness::Stalled(Duration::ZERO)),
            Some(Fault::StalledForLong) => Ok(Readiness::Stalled(Duration::from_secs(3_600))),
            Some(Fault::Impatient) => Ok(Readiness::Ready { patience: Some(Duration::ZERO) }),
            _ => Ok(Readiness::Ready { patience: None }),
        }
    }

    fn report(&mut self, _report: &GroupReport) {
        self.enter(Step::Report);
        self.expect_transaction(Step::Report, false);
    }

    fn panicked(_message: &str) -> &'static str {
        "the writer panicked"
    }
}

//! What the cases of opening, reading, checkpoints and closing share.

use std::fmt::Debug;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use walwright::{ClosureError, Db, ReadError, Store};
use walwright_test_support::PATIENCE;

/// What a whole test may take on a machine that is busy with others.
pub const LIMIT: Duration = Duration::from_secs(120);

/// A limit that no test reaches.
pub const FOREVER: Duration = Duration::from_secs(24 * 3600);

/// A query that never ends.
pub const ENDLESS: &str =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

pub const KIB: u64 = 1024;
pub const MIB: u64 = 1024 * KIB;

/// Waits until something holds that must come by itself.
///
/// # Panics
/// If it has not come after [`PATIENCE`].
#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Runs `look` on every reader at once: none answers before each of them has taken one of the reads.
pub fn on_every_reader<R: Send + 'static>(
    store: &Store,
    readers: usize,
    look: impl Fn(&Db<'_>) -> Result<R, ClosureError> + Clone + Send + 'static,
) -> Vec<Result<R, ReadError>> {
    let barrier = Arc::new(Barrier::new(readers));
    thread::scope(|scope| {
        let reads: Vec<_> = (0..readers)
            .map(|_| {
                let (barrier, look) = (barrier.clone(), look.clone());
                scope.spawn(move || {
                    let read = store.read(move |db| {
                        barrier.wait();
                        look(db)
                    });
                    read.wait()
                })
            })
            .collect();
        reads.into_iter().map(|read| read.join().expect("the thread of a caller")).collect()
    })
}

/// The one number that a query gives.
#[track_caller]
pub fn number(store: &Store, sql: &'static str) -> i64 {
    store.read(move |db| db.query_row(sql, (), |row| row.get(0))).wait().expect(sql)
}

/// The length of a file, 0 if there is none. Looks at its name only: closing a descriptor of a database
/// would drop the locks of this process.
pub fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}

/// The file beside `path` whose name ends in `suffix`.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The content of every file in a folder, but the owner locks, which are no part of a database.
/// Only for databases that nobody has open.
pub fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            let content = fs::read(&path).expect("a readable file");
            (name, content)
        })
        .filter(|(name, _)| !name.ends_with("-owner"))
        .collect();
    files.sort();
    files
}

/// Overwrites a part of a file that the process may have open as a database: the descriptor is never
/// closed, since that would drop SQLite's locks.
pub fn scribble(path: &Path, offset: u64, bytes: &[u8]) {
    use std::os::unix::fs::FileExt;
    let file = fs::OpenOptions::new().write(true).open(path).expect("a writable file");
    file.write_all_at(bytes, offset).expect("a write");
    std::mem::forget(file);
}

/// A process that a test starts to play a role: this test binary again.
pub struct Helper {
    process: std::process::Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

const ROLE: &str = "WALWRIGHT_CASE_ROLE";
const SUBJECT: &str = "WALWRIGHT_CASE_SUBJECT";
/// What begins a line that a helper says to the test.
const MARK: &str = "@@ ";

impl Helper {
    /// Starts a process that plays `role` on `subject`.
    pub fn start(role: &str, subject: &Path) -> Self {
        Self::launch(Self::command(), role, subject)
    }

    /// The same as another user, one without any rights.
    pub fn start_without_rights(role: &str, subject: &Path) -> Self {
        let mut command = Self::command();
        command.uid(65534).gid(65534);
        Self::launch(command, role, subject)
    }

    /// The same with `subject` mounted read-only; `None` if this user may not mount.
    pub fn start_on_read_only(role: &str, subject: &Path) -> Option<Self> {
        let script = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" || exit 77
                      test -z \"$2\" && exit 0
                      exec \"$2\" --exact support_read::a_helper_process --nocapture";
        let shell = |program: &Path| {
            let mut command = Command::new("unshare");
            command.args(["-m", "sh", "-c", script, "sh"]).args([subject, program]);
            command
        };
        let may = shell(Path::new("")).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        may.then(|| Self::launch(shell(&env::current_exe().expect("this program")), role, subject))
    }

    fn command() -> Command {
        let mut command = Command::new(env::current_exe().expect("this program"));
        command.args(["--exact", "support_read::a_helper_process", "--nocapture"]);
        command
    }

    fn launch(mut command: Command, role: &str, subject: &Path) -> Self {
        command.env(ROLE, role).env(SUBJECT, subject).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("a process");
        let stdin = process.stdin.take();
        let stdout = process.stdout.take().expect("a pipe");
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(said) = line.strip_prefix(MARK)
                    && send.send(said.to_owned()).is_err()
                {
                    break;
                }
            }
        });
        Self { process, stdin, lines }
    }

    /// The next thing that the process says.
    #[track_caller]
    pub fn hear(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a helper process says something")
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Ends the process with SIGKILL.
    pub fn kill(mut self) {
        self.process.kill().expect("a process that lives");
        self.process.wait().expect("a process that ends");
    }

    /// Lets a process go on that stands in [`until_dismissed`].
    pub fn dismiss(&mut self) {
        self.stdin = None;
    }

    /// Waits until the process ended by itself, which must be a success.
    #[track_caller]
    pub fn finish(mut self) {
        self.dismiss();
        let status = self.process.wait().expect("a process that ends");
        assert!(status.success(), "{status}");
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// In a helper: says something to the test.
pub fn say(what: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    // The test may be gone; then so is the reason to speak.
    let _ = writeln!(out, "\n{MARK}{what}");
    let _ = out.flush();
}

/// In a helper: stands still until the test dismisses it, or is gone.
pub fn until_dismissed() {
    let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
}

/// Not a test by itself: what a [`Helper`] runs.
#[test]
fn a_helper_process() {
    let (Some(role), Some(subject)) = (env::var_os(ROLE), env::var_os(SUBJECT)) else { return };
    let subject = Path::new(&subject);
    match role.to_str().expect("a role in ASCII") {
        "c06 without rights" => crate::c06_open_failures::without_rights(subject),
        "c06 read-only" => crate::c06_open_failures::on_a_read_only_filesystem(subject),
        "c09 race" => crate::c09_conversion::race(subject),
        "c25 hold" => crate::c25_two_stores::hold(subject),
        "c25 race" => crate::c25_two_stores::race(subject),
        "c43 fork" => crate::c43_fork::open_and_fork(subject),
        "c55 memory" => crate::c55_raw_sql::many_texts(subject),
        "c59 write" => crate::c59_recovery::write_and_wait(subject),
        other => panic!("no such role: {other}"),
    }
}

/// The events that the engine has emitted in this process.
pub struct Events(Mutex<Vec<(Level, String)>>);

/// Starts to listen, at the first call.
pub fn events() -> &'static Events {
    static EVENTS: OnceLock<&'static Events> = OnceLock::new();
    EVENTS.get_or_init(|| {
        let events: &'static Events = Box::leak(Box::new(Events(Mutex::default())));
        tracing::subscriber::set_global_default(Ears(events)).expect("nobody else listens in this program");
        events
    })
}

impl Events {
    /// Whether an event of this level has been emitted whose text holds all of `words`.
    pub fn any(&self, level: Level, words: &[&str]) -> bool {
        let events = self.0.lock().expect("no panic under the lock");
        events.iter().any(|(of, text)| *of == level && words.iter().all(|word| text.contains(word)))
    }
}

struct Ears(&'static Events);

impl Subscriber for Ears {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::INFO && metadata.target().starts_with("walwright")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.0.lock().expect("no panic under the lock").push((*event.metadata().level(), text.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        use std::fmt::Write;
        write!(self.0, "{}={value:?} ", field.name()).expect("memory");
    }
}

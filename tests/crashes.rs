//! A process that writes as fast as it can is killed at a random moment, again and again, on one growing
//! database.
//!
//! Each client of the process reports every acknowledgement through a pipe before it goes on. What a client
//! sends is known by its number, so the parent can tell after each kill: every acknowledged command is
//! there, whatever its level (SIGKILL takes no written page away); no acknowledged delete is back; commands
//! are there as a whole and without gaps, in the order in which their client sent them; no sequence is used
//! twice; what earlier rounds left has not changed; the file is sound.
//!
//! `cargo test` kills 200 times. A soak: `WALWRIGHT_KILLS=20000 cargo test --release --test crashes`.
//! `WALWRIGHT_SEED` sets the seed of the moments, which is printed.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use walwright::{AckLevel, Applied, Migration, Pending, Receipt, Store, WriteError};
use walwright_test_support::{Probe, Rng, Scratch, watchdog};

const MIGRATIONS: &[Migration] = &[Migration::sql(
    "CREATE TABLE item (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
     CREATE INDEX item_text ON item (text)",
)];

/// Name the database and the round to the process that is to be killed.
const DATABASE: &str = "WALWRIGHT_CRASH_DATABASE";
const ROUND: &str = "WALWRIGHT_CRASH_ROUND";

const CLIENTS: i64 = 4;
/// Commands that a client sends before it waits for the first of them.
const WINDOW: usize = 3;
/// No client comes to so many commands before it is killed.
const MOST_COMMANDS: i64 = 100_000;
/// Rows that a command has ids for.
const PARTS: i64 = 4;

/// A row's new text, or none if the row is deleted.
type Change = (i64, Option<String>);
type Rows = BTreeMap<i64, String>;

/// One of the clients of one round.
#[derive(Clone, Copy)]
struct Client {
    round: i64,
    number: i64,
}

impl Client {
    fn id(self, command: i64, part: i64) -> i64 {
        ((self.round * CLIENTS + self.number) * MOST_COMMANDS + command) * PARTS + part
    }

    fn text(self, command: i64) -> String {
        format!("{}/{}/{command}", self.round, self.number)
    }

    /// What the command of that number changes, if it is carried out.
    fn changes(self, command: i64) -> Vec<Change> {
        let written = |command_of_row, part| (self.id(command_of_row, part), Some(self.text(command)));
        match command % 5 {
            0 => vec![written(command, 0)],
            1 => (0..3).map(|part| written(command, part)).collect(),
            2 => vec![written(command, 0), written(command, 1), written(command - 2, 0)],
            3 => (0..3).map(|part| (self.id(command - 2, part), None)).collect(),
            _ => vec![written(command - 2, 1)],
        }
    }

    /// Sends the command of that number.
    fn send(self, store: &Store, command: i64) -> Result<Sent, WriteError> {
        const INSERT: &str = "INSERT INTO item VALUES (?1, ?2)";
        const UPDATE: &str = "UPDATE item SET text = ?2 WHERE id = ?1";
        let text = self.text(command);
        let (own, before) = (self.id(command, 0), self.id(command - 2, 0));
        match command % 5 {
            0 => store.execute(INSERT, (own, text)).try_submit().map(Sent::Statement),
            1 => {
                let batch = (0..3)
                    .fold(store.batch(), |batch, part| batch.execute(INSERT, (own + part, text.clone())));
                batch.send().ack(AckLevel::Committed).try_submit().map(Sent::Statement)
            }
            2 => store
                .write(move |tx| {
                    tx.execute(INSERT, (own, &text))?;
                    tx.execute(INSERT, (own + 1, &text))?;
                    tx.execute(UPDATE, (before, &text))
                })
                .ack(AckLevel::Committed)
                .try_submit()
                .map(Sent::Closure),
            3 => store
                .execute("DELETE FROM item WHERE id BETWEEN ?1 AND ?1 + 2", (before,))
                .ack(AckLevel::Committed)
                .try_submit()
                .map(Sent::Statement),
            _ => store.execute(UPDATE, (before + 1, text)).try_submit().map(Sent::Statement),
        }
    }
}

/// An admitted command.
enum Sent {
    Statement(Pending<Receipt>),
    Closure(Pending<Applied<u64>>),
}

impl Sent {
    fn wait(self) -> Result<Receipt, WriteError> {
        match self {
            Self::Statement(pending) => pending.wait(),
            Self::Closure(pending) => pending.wait().map(|applied| applied.receipt),
        }
    }
}

/// The process that is killed; as a test of its own it does nothing.
#[test]
fn process_to_be_killed() {
    let Some(path) = std::env::var_os(DATABASE) else { return };
    let round = std::env::var(ROUND).unwrap().parse().unwrap();
    let store = open(Path::new(&path));
    report("\nopen");
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (store, client) = (store.clone(), Client { round, number });
            scope.spawn(move || burst(&store, client));
        }
    });
}

/// Sends commands until the process is killed, or until it is clear that nobody will.
fn burst(store: &Store, client: Client) {
    let began = Instant::now();
    let mut sent = VecDeque::new();
    for command in 0..MOST_COMMANDS {
        sent.push_back((command, client.send(store, command).unwrap()));
        if sent.len() == WINDOW
            && let Some((command, first)) = sent.pop_front()
        {
            let sequence = first.wait().unwrap().sequence;
            report(&format!("ack {} {command} {sequence}", client.number));
        }
        assert!(began.elapsed() < Duration::from_secs(60), "nobody has killed this process");
    }
}

/// Writes a line to the pipe. When this returns the parent can read it, whatever happens to this process.
fn report(line: &str) {
    let mut out = std::io::stdout().lock();
    // In one write, so that no line is torn.
    out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()).unwrap();
}

fn open(path: &Path) -> Store {
    Store::builder(path)
        .migrations(MIGRATIONS)
        .readers(1)
        // A short log: kills in the middle of checkpoints.
        .wal_limits(100 << 10, 10 << 20)
        .open()
        .wait()
        .unwrap()
}

/// When to kill.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// While the store is being opened: so long after the process was started.
    Opening(Duration),
    /// So long after the store was open.
    Bursting(Duration),
}

/// What one round's process has reported.
#[derive(Default)]
struct Report {
    /// Commands acknowledged, by client. They come in order and without gaps.
    acknowledged: [i64; CLIENTS as usize],
    sequences: Vec<u64>,
}

impl Report {
    fn take(&mut self, line: &str) {
        let Some(ack) = line.strip_prefix("ack ") else { return };
        let numbers: Vec<i64> = ack.split(' ').map(|number| number.parse().unwrap()).collect();
        let (client, command, sequence) = (numbers[0] as usize, numbers[1], numbers[2]);
        assert_eq!(self.acknowledged[client], command, "client {client} was answered out of order");
        self.acknowledged[client] += 1;
        self.sequences.push(sequence.unsigned_abs());
    }
}

/// Starts the process, kills it at its moment, and gives what it has reported.
fn one_life(path: &Path, round: i64, moment: Moment) -> Report {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["process_to_be_killed", "--exact", "--nocapture", "--test-threads=1"])
        .env(DATABASE, path)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = lines_of(process.stdout.take().unwrap());
    let mut report = Report::default();
    match moment {
        Moment::Opening(time) => thread::sleep(time),
        Moment::Bursting(time) => {
            while lines.recv_timeout(Duration::from_secs(30)).expect("the store is opened") != "open" {}
            thread::sleep(time);
        }
    }
    process.kill().unwrap();
    process.wait().unwrap();
    // The rest of what is in the pipe.
    for line in lines {
        report.take(&line);
    }
    report
}

fn lines_of(out: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            let _ = send.send(line);
        }
    });
    lines
}

/// The parent's knowledge of the database.
struct Watch {
    path: PathBuf,
    /// Count and checksums of the rows of all rounds before the present one.
    settled: (i64, f64, i64),
    last_sequence: u64,
    acknowledged: u64,
    /// Rounds in which something beyond the last acknowledgement was on disk.
    beyond: u64,
}

impl Watch {
    /// Compares the file with what was reported.
    fn check(&mut self, round: i64, report: &Report) {
        // Every other time the next process finds the log as the kill has left it.
        let store = (round % 2 == 0).then(|| open(&self.path));
        let probe = Probe::open(&self.path).unwrap();
        if probe.count("SELECT count(*) FROM sqlite_schema WHERE name = 'item'").unwrap() == 1 {
            probe.integrity_check().unwrap();
            let first = Client { round, number: 0 }.id(0, 0);
            assert_eq!(summary(&probe, first), self.settled, "earlier rounds have changed");
            for number in 0..CLIENTS {
                let acknowledged = report.acknowledged[number as usize];
                self.check_client(&probe, Client { round, number }, acknowledged);
            }
            self.settled = summary(&probe, i64::MAX);
        } else {
            assert!(report.sequences.is_empty(), "the table is gone");
        }
        self.check_sequences(report);
        drop(probe);
        if let Some(store) = store {
            store.close().wait().unwrap();
        }
    }

    /// The client's rows must be what some number of its commands leave, at least the acknowledged ones.
    fn check_client(&mut self, probe: &Probe, client: Client, acknowledged: i64) {
        let found = rows_between(probe, client.id(0, 0), client.id(MOST_COMMANDS, 0));
        let mut rows = Rows::new();
        let carry_out = |rows: &mut Rows, command| {
            for (id, text) in client.changes(command) {
                match text {
                    Some(text) => drop(rows.insert(id, text)),
                    None => drop(rows.remove(&id)),
                }
            }
        };
        (0..acknowledged).for_each(|command| carry_out(&mut rows, command));
        for more in 0..=WINDOW as i64 {
            if rows == found {
                self.acknowledged += acknowledged.unsigned_abs();
                self.beyond += u64::from(more > 0);
                return;
            }
            carry_out(&mut rows, acknowledged + more);
        }
        panic!(
            "client {} of round {}: {acknowledged} commands were acknowledged, but the file holds {found:?}",
            client.number, client.round
        );
    }

    fn check_sequences(&mut self, report: &Report) {
        let mut sequences = report.sequences.clone();
        sequences.sort_unstable();
        assert!(sequences.windows(2).all(|pair| pair[0] < pair[1]), "a sequence was used twice");
        if let (Some(first), Some(last)) = (sequences.first(), sequences.last()) {
            assert!(*first > self.last_sequence, "sequence {first} after {}", self.last_sequence);
            self.last_sequence = *last;
        }
    }
}

fn summary(probe: &Probe, end: i64) -> (i64, f64, i64) {
    let sql = "SELECT count(*), total(id % 1000003), coalesce(sum(length(text)), 0) FROM item WHERE id < ?1";
    probe.connection().query_row(sql, [end], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap()
}

fn rows_between(probe: &Probe, begin: i64, end: i64) -> Rows {
    let sql = "SELECT id, text FROM item WHERE id >= ?1 AND id < ?2";
    let mut statement = probe.connection().prepare(sql).unwrap();
    let rows = statement.query_map([begin, end], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn what_is_acknowledged_survives_every_kill() {
    let number = |name| std::env::var(name).ok().map(|text: String| text.parse::<u64>().expect("a number"));
    let kills = number("WALWRIGHT_KILLS").unwrap_or(200);
    let seed = number("WALWRIGHT_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("WALWRIGHT_SEED={seed}");
    let (mut random, folder, began) = (Rng::new(seed), Scratch::new(), Instant::now());
    let mut watch =
        Watch { path: folder.join("db"), settled: (0, 0.0, 0), last_sequence: 0, acknowledged: 0, beyond: 0 };
    for round in 0..kills {
        let moment = if random.once_in(5) {
            Moment::Opening(Duration::from_micros(random.below(30_000) as u64))
        } else {
            Moment::Bursting(Duration::from_micros(random.below(60_000) as u64))
        };
        let round = round.cast_signed();
        watch = watchdog(Duration::from_secs(120), move || {
            let report = one_life(&watch.path, round, moment);
            watch.check(round, &report);
            watch
        });
    }
    println!(
        "{kills} kills, {} acknowledgements, {} times a client had more on disk, {} rows left, {:.1?}",
        watch.acknowledged,
        watch.beyond,
        watch.settled.0,
        began.elapsed()
    );
    assert!(watch.acknowledged > kills, "the processes came to too little");
}

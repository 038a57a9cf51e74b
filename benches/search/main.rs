//! Searching a chat's messages by a part of their text, with an index and with LIKE.
//!
//! A table is filled with messages of made-up words, some of which are in every other message and some in one of a
//! thousand. Then an index of substrings is built behind the store, beside somebody who sends seven messages a second.
//! Then texts are searched for, the newest 50 messages first, with the index and with LIKE in turn; and all that both
//! find is compared, row by row.
//!
//! LIKE has to read every message when there are fewer than a page, and stops early when there are many. Only the
//! first is held against the bar: it is what makes people wait.
//!
//! `cargo bench --bench search -- [--rows N] [--quick] [--dir FOLDER] [--json]`

mod chat;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use walwright::{Filter, Migration, PageRequest, SearchIndex, Store, Table};
use walwright_bench_workload::{Bar, Latencies, Percentiles};
use walwright_benches::Result;
use walwright_benches::place::Place;

use chat::{Chat, Message};

/// How many times faster than LIKE a search has to be.
const FASTER: f64 = 20.0;
/// Between two messages of the one who sends some while the index is built.
const SENDS_EVERY: Duration = Duration::from_millis(143);
const PAGE: usize = 50;

const MIGRATIONS: &[Migration] = &[Migration::sql(
    "CREATE TABLE message (id INTEGER PRIMARY KEY, buffer INTEGER NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL);
     CREATE INDEX message_at ON message (at);
     CREATE INDEX message_buffer ON message (buffer, at);",
)];

struct Options {
    rows: i64,
    rounds: usize,
    folder: Option<PathBuf>,
    json: bool,
}

/// What was measured of one text.
#[derive(Serialize)]
struct Row<'a> {
    search: &'a str,
    found: usize,
    index: Percentiles,
    like: Percentiles,
    /// LIKE's median by the index's.
    faster: f64,
}

/// A duration of one kind, of some commands.
#[derive(Serialize)]
struct Timed<'a> {
    what: &'a str,
    seconds: f64,
    inserts: Option<Percentiles>,
}

fn main() -> Result<()> {
    let options = options()?;
    let place = Place::create(options.folder.as_deref())?;
    let out = Out { json: options.json };
    out.text(&format!("{}, a sync takes {:.2?}", place.filesystem, place.sync));
    let path = place.folder("search")?.join("search.db");
    let store = Store::builder(&path).migrations(MIGRATIONS).open().wait()?;
    let messages = store.table::<Message>("message").open().wait()?;
    let mut chat = Chat::new();
    fill(&messages, &mut chat, options.rows)?;
    let filled = std::fs::metadata(&path)?.len();

    let alone = inserts(&messages, &mut chat, 500)?;
    let index = build(&messages, &mut chat, &out)?;
    store.flush().wait()?;
    let indexed = std::fs::metadata(&path)?.len();
    out.text(&format!(
        "{} messages: {} MB without the index and {} MB with it",
        options.rows,
        filled >> 20,
        indexed >> 20
    ));
    let beside = inserts(&messages, &mut chat, 500)?;
    out.row(&Timed {
        what: "500 inserts without the index",
        seconds: alone.0,
        inserts: alone.1.percentiles(),
    })?;
    out.row(&Timed {
        what: "500 inserts with the index",
        seconds: beside.0,
        inserts: beside.1.percentiles(),
    })?;
    backfill(&messages, &mut chat, &out)?;

    let mut slowest = f64::INFINITY;
    for (name, text, is_rare) in chat.searches() {
        let row = search(&index, &messages, name, &text, options.rounds)?;
        if is_rare {
            slowest = slowest.min(row.faster);
        }
        out.row(&row)?;
    }
    let bar = Bar::at_least("a search for what is rare, times faster than LIKE", slowest, FASTER);
    out.bar(&bar)?;
    store.close().wait()?;
    Ok(())
}

fn fill(messages: &Table<Message>, chat: &mut Chat, rows: i64) -> Result<()> {
    for _ in 0..rows / 10_000 {
        let rows: Vec<Message> = (0..10_000).map(|_| chat.message()).collect();
        messages.insert_many(rows).wait()?;
    }
    Ok(())
}

/// Seconds for all, and how long each took.
fn inserts(messages: &Table<Message>, chat: &mut Chat, count: usize) -> Result<(f64, Latencies)> {
    let (mut latencies, began) = (Latencies::new(), Instant::now());
    for _ in 0..count {
        let message = chat.message();
        let sent = Instant::now();
        messages.insert(&message).wait()?;
        latencies.record(sent.elapsed());
    }
    Ok((began.elapsed().as_secs_f64(), latencies))
}

/// 500 messages at once, as one command.
fn backfill(messages: &Table<Message>, chat: &mut Chat, out: &Out) -> Result<()> {
    let rows: Vec<Message> = (0..500).map(|_| chat.message()).collect();
    let began = Instant::now();
    messages.insert_many(rows).wait()?;
    let seconds = began.elapsed().as_secs_f64();
    out.row(&Timed { what: "a backfill of 500 messages with the index", seconds, inserts: None })
}

fn build(messages: &Table<Message>, chat: &mut Chat, out: &Out) -> Result<SearchIndex<Message>> {
    let began = Instant::now();
    let index = messages.search_index("message_search").columns(["body"]).substrings().open().wait()?;
    let is_ready = AtomicBool::new(false);
    let latencies = std::thread::scope(|scope| -> Result<Latencies> {
        let sender = scope.spawn(|| -> Result<Latencies> {
            let mut latencies = Latencies::new();
            while !is_ready.load(Ordering::Relaxed) {
                let message = chat.message();
                let sent = Instant::now();
                messages.insert(&message).wait()?;
                latencies.record(sent.elapsed());
                std::thread::sleep(SENDS_EVERY);
            }
            Ok(latencies)
        });
        let ready = index.ready().wait();
        is_ready.store(true, Ordering::Relaxed);
        let latencies = sender.join().map_err(|_| "the sender panicked")??;
        ready?;
        Ok(latencies)
    })?;
    let seconds = began.elapsed().as_secs_f64();
    let what = "until the index is ready, beside 7 messages a second";
    out.row(&Timed { what, seconds, inserts: latencies.percentiles() })?;
    Ok(index)
}

fn search<'a>(
    index: &SearchIndex<Message>,
    messages: &Table<Message>,
    name: &'a str,
    text: &str,
    rounds: usize,
) -> Result<Row<'a>> {
    let found = || index.find(text).order_by_desc("at");
    let looked = || messages.page().filter(Filter::contains("body", text)).order_by_desc("at");
    let (by_index, by_like) = (all(found)?, all(looked)?);
    if by_index != by_like {
        return Err(format!("{name}: the index finds {}, LIKE {}", by_index.len(), by_like.len()).into());
    }
    let (mut index_took, mut like_took) = (Latencies::new(), Latencies::new());
    for _ in 0..rounds {
        timed(found(), &mut index_took)?;
        timed(looked(), &mut like_took)?;
    }
    let faster = like_took.percentile(50.0) / index_took.percentile(50.0);
    let percentiles = |of: &Latencies| of.percentiles().unwrap_or_default();
    let (index, like) = (percentiles(&index_took), percentiles(&like_took));
    Ok(Row { search: name, found: by_index.len(), index, like, faster })
}

fn timed(request: PageRequest<Message>, latencies: &mut Latencies) -> Result<()> {
    let sent = Instant::now();
    request.limit(PAGE).wait()?;
    latencies.record(sent.elapsed());
    Ok(())
}

/// The ids of all pages.
fn all(request: impl Fn() -> PageRequest<Message>) -> Result<Vec<i64>> {
    let mut ids = Vec::new();
    let mut page = request().limit(10_000).wait()?;
    loop {
        ids.extend(page.rows.iter().map(|message| message.id));
        let Some(next) = page.next else { return Ok(ids) };
        page = request().limit(10_000).after(&next).wait()?;
    }
}

/// Prints what is measured.
struct Out {
    json: bool,
}

impl Out {
    fn text(&self, text: &str) {
        if !self.json {
            println!("{text}");
        }
    }

    fn row(&self, row: &impl Shown) -> Result<()> {
        if self.json {
            println!("{}", serde_json::to_string(row)?);
        } else {
            println!("{}", row.shown());
        }
        Ok(())
    }

    fn bar(&self, bar: &Bar) -> Result<()> {
        if self.json {
            println!("{}", serde_json::to_string(bar)?);
        } else {
            println!("{bar}");
        }
        Ok(())
    }
}

/// A row for people.
trait Shown: Serialize {
    fn shown(&self) -> String;
}

impl Shown for Row<'_> {
    fn shown(&self) -> String {
        let Self { search, found, index, like, faster } = self;
        format!(
            "{search}: {found} found; index p50 {:.2} ms, p99 {:.2} ms; LIKE p50 {:.2} ms, p99 {:.2} ms; {faster:.1} times faster",
            index.p50_ms, index.p99_ms, like.p50_ms, like.p99_ms
        )
    }
}

impl Shown for Timed<'_> {
    fn shown(&self) -> String {
        let Self { what, seconds, inserts } = self;
        let inserts = inserts.map_or(String::new(), |Percentiles { p50_ms, p99_ms, max_ms, .. }| {
            format!("; each p50 {p50_ms:.2} ms, p99 {p99_ms:.2} ms, max {max_ms:.2} ms")
        });
        format!("{what}: {seconds:.3} s{inserts}")
    }
}

fn options() -> Result<Options> {
    use lexopt::prelude::*;
    let mut options = Options { rows: 1_000_000, rounds: 25, folder: None, json: false };
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("rows") => options.rows = arguments.value()?.parse()?,
            Long("quick") => (options.rows, options.rounds) = (100_000, 9),
            Long("dir") => options.folder = Some(arguments.value()?.into()),
            Long("json") => options.json = true,
            // Cargo's own.
            Long("bench") => {}
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(options)
}

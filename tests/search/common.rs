//! Texts that very many rows hold, by another order than that of the key: found batch by batch, the same rows as ever.

use serde::{Deserialize, Serialize};
use walwright::{Filter, Page, PageRequest, SearchIndex, Table};
use walwright_test_support::Rng;

use crate::bed::{Bed, run};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Note {
    id: i64,
    at: Option<i64>,
    room: i64,
    body: String,
}

/// More than are looked up and sorted without further ado.
const NOTES: i64 = 3_000;

/// How the times of notes go with their numbers.
#[derive(Clone, Copy, Debug)]
enum Times {
    /// Three notes have each, and some have none.
    Rising,
    Falling,
    Scattered,
}

fn note(rng: &mut Rng, times: Times, id: i64) -> Note {
    let at = match times {
        Times::Rising => Some(id / 3).filter(|_| !rng.once_in(40)),
        Times::Falling => Some(-id / 3),
        Times::Scattered => Some(id * 7_919 % 3_001),
    };
    let words = ["alpha", "beta", "gamma", "alphabet", "beta alpha"];
    let body = format!("{} {}", rng.pick(&words), if rng.once_in(700) { "needle" } else { "straw" });
    Note { id, at, room: rng.below(4) as i64, body }
}

/// A table of notes with an index, and what should be in it.
struct Board {
    bed: Bed,
    notes: Table<Note>,
    index: SearchIndex<Note>,
    expected: Vec<Note>,
}

impl Board {
    fn new(rng: &mut Rng, times: Times, index: &'static str) -> Self {
        let bed = Bed::new(&[]);
        bed.sql("CREATE TABLE note (id INTEGER PRIMARY KEY, at INTEGER, room INTEGER NOT NULL, body TEXT NOT NULL) STRICT");
        bed.sql(index);
        let notes = bed.store.table::<Note>("note").open().wait().unwrap();
        let expected: Vec<_> = (1..=NOTES).map(|id| note(rng, times, id)).collect();
        notes.insert_many(expected.clone()).wait().unwrap();
        let index = notes.search_index("note_search").columns(["body"]).substrings().open().wait().unwrap();
        index.ready().wait().unwrap();
        Self { bed, notes, index, expected }
    }

    /// Some notes go, come, change their text, or move in time.
    fn change(&mut self, rng: &mut Rng, times: Times) {
        for _ in 0..30 {
            let at = rng.below(self.expected.len());
            match rng.below(4) {
                0 => drop(self.notes.delete(self.expected.swap_remove(at).id).wait().unwrap()),
                1 => {
                    let id = NOTES + 1 + rng.below(1_000_000) as i64;
                    let note = note(rng, times, id);
                    if self.notes.insert(&note).wait().is_ok() {
                        self.expected.push(note);
                    }
                }
                _ => {
                    let of = &mut self.expected[at];
                    let (id, room, at) = (of.id, of.room, of.at);
                    *of = note(rng, times, id);
                    (of.room, of.at) = if rng.once_in(2) { (room, at) } else { (room, Some(id / 5)) };
                    self.notes.upsert(of).wait().unwrap();
                }
            }
        }
    }

    /// All ids that are found, page by page, and how many pages there were.
    #[track_caller]
    fn hold(&self, ask: &Ask) {
        let request = || {
            let request = ask.order.iter().fold(self.index.find(ask.text), |request, (column, descends)| {
                if *descends { request.order_by_desc(*column) } else { request.order_by(*column) }
            });
            match ask.room {
                Some(room) => request.filter(Filter::eq("room", room)),
                None => request,
            }
            .limit(ask.limit)
        };
        let mut expected: Vec<_> = self.expected.iter().filter(|note| ask.finds(note)).collect();
        expected.sort_by(|a, b| ask.compare(a, b));
        let expected: Vec<_> = expected.iter().map(|note| note.id).collect();
        let forward = walk(request(), ask.pages, |page| Some(request().after(page.next.as_ref()?)));
        assert_eq!(forward, expected[..expected.len().min(ask.limit * ask.pages)], "{ask:?}");
        let mut backward =
            walk(request().last(), ask.pages, |page| Some(request().before(page.previous.as_ref()?)));
        // Each page is in order, and the pages are not.
        for page in backward.chunks_mut(ask.limit) {
            page.reverse();
        }
        backward.reverse();
        assert_eq!(backward, expected[expected.len().saturating_sub(ask.limit * ask.pages)..], "{ask:?}");
    }
}

fn walk(
    first: PageRequest<Note>,
    pages: usize,
    next: impl Fn(&Page<Note>) -> Option<PageRequest<Note>>,
) -> Vec<i64> {
    let (mut ids, mut request) = (Vec::new(), Some(first));
    for _ in 0..pages {
        let Some(page) = request.map(|request| request.wait().unwrap()) else { break };
        ids.extend(page.rows.iter().map(|note| note.id));
        request = next(&page);
    }
    ids
}

/// What is searched for.
#[derive(Debug)]
struct Ask {
    text: &'static str,
    order: Vec<(&'static str, bool)>,
    room: Option<i64>,
    limit: usize,
    pages: usize,
}

impl Ask {
    fn random(rng: &mut Rng) -> Self {
        let orders = [vec!["at"], vec!["room", "at"], vec!["at", "room"], vec!["room"]];
        let order = rng.pick(&orders).iter().map(|column| (*column, rng.once_in(2))).collect();
        let text = *rng.pick(&["alpha", "ALPHA", "straw", "beta alpha", "gamma", "needle", "nothing"]);
        let room = rng.once_in(2).then(|| rng.below(4) as i64);
        Self { text, order, room, limit: *rng.pick(&[1, 7, 50, 400]), pages: 1 + rng.below(8) }
    }

    fn finds(&self, note: &Note) -> bool {
        note.body.contains(&self.text.to_lowercase()) && self.room.is_none_or(|room| room == note.room)
    }

    fn compare(&self, a: &Note, b: &Note) -> std::cmp::Ordering {
        let directed =
            |ordering: std::cmp::Ordering, descends| if descends { ordering.reverse() } else { ordering };
        let of_columns = self.order.iter().map(|(column, descends)| {
            let ordering = if *column == "at" { a.at.cmp(&b.at) } else { a.room.cmp(&b.room) };
            directed(ordering, *descends)
        });
        // The key goes the way of the last.
        let of_key = directed(a.id.cmp(&b.id), self.order.last().is_some_and(|(_, descends)| *descends));
        of_columns.chain([of_key]).find(|ordering| ordering.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    }
}

/// With an index for the order, with one for the order of each room, and with none.
fn hold_in_every_order(times: Times) {
    run(move || {
        let indexes = [
            "CREATE INDEX note_at ON note (at)",
            "CREATE INDEX note_at ON note (at); CREATE INDEX note_room ON note (room, at)",
            "",
        ];
        for (seed, index) in indexes.into_iter().enumerate() {
            let mut rng = Rng::new(seed as u64);
            let mut board = Board::new(&mut rng, times, index);
            for _ in 0..3 {
                for _ in 0..6 {
                    board.hold(&Ask::random(&mut rng));
                }
                board.change(&mut rng, times);
            }
        }
    });
}

#[test]
fn a_common_text_gives_the_same_rows_where_times_rise_with_the_key() {
    hold_in_every_order(Times::Rising);
}

#[test]
fn a_common_text_gives_the_same_rows_where_times_fall_with_the_key() {
    hold_in_every_order(Times::Falling);
}

#[test]
fn a_common_text_gives_the_same_rows_where_times_and_keys_are_scattered() {
    hold_in_every_order(Times::Scattered);
}

/// Newest first and page by page, while rows come and go between the pages, in one room of several.
#[test]
fn pages_of_a_common_text_lose_and_repeat_nothing_while_rows_come_and_go() {
    run(|| {
        let mut rng = Rng::new(77);
        let index = "CREATE INDEX note_room ON note (room, at)";
        let board = Board::new(&mut rng, Times::Rising, index);
        let ask = Ask { text: "straw", order: vec![("at", true)], room: Some(2), limit: 40, pages: 1 };
        let request =
            || board.index.find("straw").order_by_desc("at").filter(Filter::eq("room", 2)).limit(40);
        let (mut found, mut next) = (Vec::new(), Some(request()));
        while let Some(request_now) = next.take() {
            let page = request_now.wait().unwrap();
            found.extend(page.rows.iter().map(|note| note.id));
            board.bed.sql(
                "DELETE FROM note WHERE id % 13 = 0 AND id % 7 = (SELECT count(*) % 7 FROM note);
                 UPDATE note SET body = 'hay' WHERE id % 17 = 0 AND id % 5 = (SELECT count(*) % 5 FROM note);
                 INSERT INTO note (id, at, room, body) SELECT max(id) + 1, 5 + max(id) % 1000, 2, 'new straw' FROM note",
            );
            next = page.next.map(|cursor| request().after(&cursor));
        }
        let mut expected: Vec<_> = board.expected.iter().filter(|note| ask.finds(note)).collect();
        expected.sort_by(|a, b| ask.compare(a, b));
        let stays = |id: &i64| *id <= NOTES && id % 13 != 0 && id % 17 != 0;
        let expected: Vec<_> = expected.iter().map(|note| note.id).filter(stays).collect();
        assert_eq!(found.into_iter().filter(stays).collect::<Vec<_>>(), expected);
    });
}

//! What is published reaches every subscriber, in order and without a gap that it does not know of.

use std::sync::Arc;

use crate::explore::Exploration;
use crate::parker::block_on;
use crate::protocol::feed::{Delivery, Feed, FeedLimits, Record, Subscription};
use crate::sync::Mutex;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Note(u64);

impl Record for Note {
    type Topic = ();

    fn sequence(&self) -> u64 {
        self.0
    }

    fn bytes(&self) -> usize {
        1
    }

    fn concerns(&self, (): &()) -> bool {
        true
    }
}

type NoteFeed = Arc<Feed<Note, &'static str>>;

fn feed_of(records: usize) -> NoteFeed {
    Arc::new(Feed::new(FeedLimits { records, bytes: 100 }))
}

/// Takes until the end, and gives what came: `Err` where something was missed.
fn take_all(
    subscription: &Subscription<Note, &'static str>,
) -> (Vec<Result<u64, u64>>, Option<&'static str>) {
    let mut taken = Vec::new();
    loop {
        match block_on(|context| subscription.poll_take(context)) {
            Delivery::Record(note) => taken.push(Ok(note.0)),
            Delivery::Missed { from } => taken.push(Err(from)),
            Delivery::Ended(reason) => return (taken, reason),
        }
    }
}

/// The subscriber comes at any moment, also after the end, and waits for what comes.
#[test]
fn a_subscriber_gets_everything_from_its_subscription_on_and_the_end() {
    let mut exploration =
        Exploration::new("a_subscriber_gets_everything_from_its_subscription_on_and_the_end");
    for (case, reason) in [("a close", None), ("a failure", Some("failed"))] {
        exploration.case(case, move || {
            let feed = feed_of(10);
            let publisher = {
                let feed = feed.clone();
                loom::thread::spawn(move || {
                    feed.publish(&[Note(1)]);
                    feed.publish(&[Note(2), Note(3)]);
                    feed.end(reason);
                })
            };
            let (taken, end) = take_all(&feed.subscribe(None));
            let whole = [&[][..], &[2, 3], &[1, 2, 3]];
            let taken: Vec<u64> = taken.into_iter().map(Result::unwrap).collect();
            assert!(whole.contains(&taken.as_slice()), "{taken:?}");
            assert_eq!(end, reason);
            publisher.join().unwrap();
        });
    }
    exploration.finish();
}

/// One who was there from the start and may be slow: what is missing is told in its place.
#[test]
fn a_slow_subscriber_knows_of_every_gap() {
    let mut exploration = Exploration::new("a_slow_subscriber_knows_of_every_gap");
    exploration.case("room for one", || {
        let feed = feed_of(1);
        let subscription = feed.subscribe(None);
        let publisher = {
            let feed = feed.clone();
            loom::thread::spawn(move || {
                for sequence in 1..=3 {
                    feed.publish(&[Note(sequence)]);
                }
                feed.end(None);
            })
        };
        let (taken, _) = take_all(&subscription);
        let mut expected = 1;
        for one in &taken {
            match one {
                Ok(sequence) => {
                    let is_behind_a_gap = taken.contains(&Err(expected));
                    assert!(*sequence == expected || is_behind_a_gap, "{taken:?}");
                    expected = sequence + 1;
                }
                Err(from) => assert_eq!(*from, expected, "{taken:?}"),
            }
        }
        let is_told = matches!(taken.last(), Some(Ok(3) | Err(_)));
        assert!(is_told, "the last one came or is known to be missing: {taken:?}");
        publisher.join().unwrap();
    });
    exploration.finish();
}

/// A command that is sent behind a subscription finds it, although the writer looks without the feed's lock: that of
/// the queue lies in between. So does a snapshot's wish to know its place.
#[test]
fn a_command_sent_behind_a_subscription_is_watched() {
    let mut exploration = Exploration::new("a_command_sent_behind_a_subscription_is_watched");
    exploration.case("another subscriber leaves", || {
        let (feed, queue) = (feed_of(10), Arc::new(Mutex::new(false)));
        let other = feed.subscribe(None);
        let writer = {
            let (feed, queue) = (feed.clone(), queue.clone());
            loom::thread::spawn(move || {
                if *queue.lock() {
                    assert!(feed.has_subscribers() && feed.is_placing());
                    feed.publish(&[Note(1)]);
                }
            })
        };
        let leaving = loom::thread::spawn(move || drop(other));
        let subscription = feed.subscribe(None);
        let placing = feed.place_commits();
        *queue.lock() = true;
        writer.join().unwrap();
        leaving.join().unwrap();
        let taken = subscription.try_take();
        assert!(matches!(taken, None | Some(Delivery::Record(Note(1)))), "{taken:?}");
        drop(placing);
        drop(subscription);
        assert!(!feed.has_subscribers() && !feed.is_placing());
    });
    exploration.finish();
}

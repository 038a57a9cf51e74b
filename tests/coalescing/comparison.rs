//! One program, carried out in all manners, and whether anybody could tell the difference.

use walwright_test_support::FaultVfs;

use crate::bench::{Bench, Manner, Outcome};
use crate::program::Program;

/// Two stores, one that coalesces and one that does not.
pub struct Comparison {
    coalescing: Bench,
    plain: Bench,
}

pub enum Verdict {
    /// Its schema cannot be made.
    Unfit(String),
    /// Nobody can tell. So many commands were carried out by the statement of another.
    Same { coalesced: u64 },
    /// The program with the answers and what they left, side by side where they differ.
    Different(String),
}

impl Comparison {
    pub fn new(vfs: &'static FaultVfs) -> Self {
        Self { coalescing: Bench::open(vfs, true), plain: Bench::open(vfs, false) }
    }

    /// Lets somebody watch what both commit, or nobody.
    pub fn watch(&self, watched: bool) {
        self.coalescing.watch(watched);
        self.plain.watch(watched);
    }

    pub fn judge(&self, program: &Program) -> Verdict {
        let run = |bench: &Bench, manner| bench.run(program, manner);
        let (coalesced, plain) =
            match (run(&self.coalescing, Manner::InGroups), run(&self.plain, Manner::InGroups)) {
                (Ok(coalesced), Ok(plain)) => (coalesced, plain),
                (Err(error), Err(_)) => return Verdict::Unfit(error),
                (Err(error), Ok(_)) | (Ok(_), Err(error)) => {
                    return Verdict::Different(format!("only one of the stores could be prepared: {error}"));
                }
            };
        let names = ["coalesced", "one statement each"];
        if let Some(difference) = difference(program, names, [&coalesced, &plain]) {
            return Verdict::Different(difference);
        }
        if program.is_run_one_by_one {
            let alone = match run(&self.plain, Manner::OneByOne) {
                Ok(alone) => alone,
                Err(error) => return Verdict::Different(error),
            };
            let names = ["in one group", "one after the other"];
            if let Some(difference) = difference(program, names, [&plain, &alone]) {
                return Verdict::Different(difference);
            }
        }
        Verdict::Same { coalesced: coalesced.coalesced }
    }
}

/// The program and both outcomes in words, if they differ.
fn difference(program: &Program, names: [&str; 2], outcomes: [&Outcome; 2]) -> Option<String> {
    let [left, right] = outcomes;
    if left.answers == right.answers && left.state == right.state && left.changes == right.changes {
        return None;
    }
    let mut text = format!("{} or {}: it makes a difference.\n{program}", names[0], names[1]);
    let commands = program.commands.iter().map(ToString::to_string).chain(["a last look".to_owned()]);
    for (at, command) in commands.enumerate() {
        text += &format!("  {at}: {command}\n");
        text += &side_by_side(names, [&left.answers[at], &right.answers[at]]);
    }
    if left.changes != right.changes {
        let [left, right] = [left, right].map(|outcome| outcome.changes.join("\n"));
        text += &format!("  what was told:\n{}", side_by_side(names, [&left, &right]));
    }
    let mut things: Vec<&String> = left.state.iter().chain(&right.state).map(|(thing, _)| thing).collect();
    things.sort();
    things.dedup();
    for thing in things {
        let of = |outcome: &Outcome| {
            let found = outcome.state.iter().find(|(name, _)| name == thing);
            found.map_or_else(|| "not there".to_owned(), |(_, rows)| rows.clone())
        };
        let [left, right] = [of(left), of(right)];
        if left != right {
            text += &format!("  {thing}:\n{}", side_by_side(names, [&left, &right]));
        }
    }
    Some(text)
}

/// Two texts, or one if they are the same.
fn side_by_side(names: [&str; 2], [left, right]: [&str; 2]) -> String {
    let indented = |text: &str| text.replace('\n', "\n        ");
    if left == right {
        return format!("      {}\n", indented(left));
    }
    let [of_left, of_right] = names;
    format!("      {of_left}:\n        {}\n      {of_right}:\n        {}\n", indented(left), indented(right))
}

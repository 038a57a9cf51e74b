//! Makes a program that shows a difference smaller, as long as it shows one.

use walwright::AckLevel;

use crate::command::{Command, Deadline, Part, RowCall};
use crate::comparison::{Comparison, Verdict};
use crate::program::Program;

/// Programs that are tried at most.
const TRIES: usize = 3000;

/// The smallest program that was found, and the difference that it shows.
pub fn shrunk(comparison: &Comparison, program: Program, difference: String) -> (Program, String) {
    let mut best = (program, difference);
    let mut tries = 0;
    loop {
        let mut found = false;
        let mut at = 0;
        // Whenever one worked, the candidates are made anew, and those before it were tried already.
        while let Some(candidate) = candidates(&best.0).into_iter().nth(at) {
            tries += 1;
            if tries > TRIES {
                return best;
            }
            match comparison.judge(&candidate) {
                Verdict::Different(difference) => {
                    best = (candidate, difference);
                    found = true;
                }
                Verdict::Same { .. } | Verdict::Unfit(_) => at += 1,
            }
        }
        if !found {
            return best;
        }
    }
}

/// Programs with a little less.
fn candidates(program: &Program) -> Vec<Program> {
    let mut candidates = Vec::new();
    let mut try_it = |change: &dyn Fn(&mut Program)| {
        let mut candidate = program.clone();
        change(&mut candidate);
        candidates.push(candidate);
    };
    for at in (0..program.commands.len()).rev() {
        try_it(&|program| drop(program.commands.remove(at)));
    }
    let schema = &program.schema;
    for at in (0..schema.rows.len()).rev() {
        try_it(&|program| drop(program.schema.rows.remove(at)));
    }
    for at in (0..schema.others.len()).rev() {
        try_it(&|program| drop(program.schema.others.remove(at)));
    }
    for at in (0..schema.constraints.len()).rev() {
        try_it(&|program| drop(program.schema.constraints.remove(at)));
    }
    for at in (0..schema.options.len()).rev() {
        try_it(&|program| {
            program.schema.options.remove(at);
        });
    }
    for column in (0..schema.columns.len()).rev() {
        try_it(&|program| drop(program.schema.columns.remove(column)));
        for clause in (0..schema.columns[column].clauses.len()).rev() {
            try_it(&|program| drop(program.schema.columns[column].clauses.remove(clause)));
        }
    }
    for (at, sent) in program.commands.iter().enumerate() {
        if sent.deadline != Deadline::None || sent.level != AckLevel::Committed || sent.after_pause {
            try_it(&|program| program.commands[at] = sent.command.clone().into());
        }
        for command in smaller_commands(&sent.command) {
            try_it(&|program| program.commands[at].command = command.clone());
        }
    }
    for (at, handle) in program.handles.iter().enumerate() {
        if handle.revision.is_some() {
            try_it(&|program| program.handles[at].revision = None);
        }
    }
    if program.is_run_one_by_one {
        try_it(&|program| program.is_run_one_by_one = false);
    }
    candidates
}

fn smaller_commands(command: &Command) -> Vec<Command> {
    match command {
        Command::Row(call) => smaller_calls(call).into_iter().map(Command::Row).collect(),
        Command::Batch(parts) => {
            let without = |at: usize| {
                let mut parts = parts.clone();
                parts.remove(at);
                Command::Batch(parts)
            };
            let smaller = |(at, part): (usize, &Part)| {
                let calls = match part {
                    Part::Row(call) => smaller_calls(call),
                    Part::Statement(_) => Vec::new(),
                };
                let with = move |call| {
                    let mut parts = parts.clone();
                    parts[at] = Part::Row(call);
                    Command::Batch(parts)
                };
                calls.into_iter().map(with).collect::<Vec<_>>()
            };
            let removed = (0..parts.len()).map(without);
            removed.chain(parts.iter().enumerate().flat_map(smaller)).collect()
        }
        Command::Closure { statements, ending } => (0..statements.len())
            .map(|at| {
                let mut statements = statements.clone();
                statements.remove(at);
                Command::Closure { statements, ending: *ending }
            })
            .collect(),
        Command::Bulk(_) | Command::Modify(_) | Command::Statement(_) => Vec::new(),
    }
}

fn smaller_calls(call: &RowCall) -> Vec<RowCall> {
    let mut calls = Vec::new();
    for at in 0..call.set.len() {
        let mut call = call.clone();
        call.set.remove(at);
        calls.push(call);
    }
    for at in 0..call.adjust.len() {
        let mut call = call.clone();
        call.adjust.remove(at);
        calls.push(call);
    }
    if call.if_revision.is_some() {
        calls.push(RowCall { if_revision: None, ..call.clone() });
    }
    if call.only_if.is_some() {
        calls.push(RowCall { only_if: None, ..call.clone() });
    }
    calls
}

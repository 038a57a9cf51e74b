//! What a waiting person sees, on the standard error output.

use std::fmt;
use std::io::{IsTerminal, stderr};

/// One line for the current step: overwritten by the next on a terminal, else a line for each.
pub struct Progress {
    step: usize,
    steps: usize,
    terminal: bool,
}

/// Back to the start of the line, and empty it.
const ERASE: &str = "\r\x1b[2K";

impl Progress {
    pub fn new(steps: usize) -> Self {
        Self { step: 0, steps, terminal: stderr().is_terminal() }
    }

    pub fn step(&mut self, what: fmt::Arguments) {
        self.step += 1;
        let Self { step, steps, terminal } = *self;
        if terminal {
            eprint!("{ERASE}[{step}/{steps}] {what} ...");
        } else {
            eprintln!("[{step}/{steps}] {what}");
        }
    }

    /// Says how far the current step is. Only on a terminal: elsewhere it would be a line for each.
    #[allow(dead_code, reason = "another example uses it")]
    pub fn update(&self, what: fmt::Arguments) {
        if self.terminal {
            eprint!("{ERASE}[{}/{}] {what} ...", self.step, self.steps);
        }
    }

    /// Says something that stays.
    pub fn note(&self, what: fmt::Arguments) {
        self.clear();
        eprintln!("{what}");
    }

    pub fn clear(&self) {
        if self.terminal {
            eprint!("{ERASE}");
        }
    }
}

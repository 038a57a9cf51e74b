//! Runs a model in every order, counts the orders, and does not let an incomplete search pass.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// More threads than this make no model find more, only later.
const THREADS: usize = 3;

/// A model that takes more steps than this in one order goes round in circles: loom fails it.
const STEPS: usize = 5_000;

/// How often a thread is interrupted that could have gone on, at most.
fn preemption_bound() -> usize {
    match std::env::var("WALWRIGHT_MODEL_BOUND") {
        Ok(bound) => bound.parse().expect("WALWRIGHT_MODEL_BOUND is a small number, such as 3"),
        Err(_) => 2,
    }
}

/// The cases of one test: each is a model of its own.
pub(crate) struct Exploration {
    name: &'static str,
    began: Instant,
    cases: usize,
    orders: usize,
}

impl Exploration {
    /// Begins the exploration that is printed as `name`.
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, began: Instant::now(), cases: 0, orders: 0 }
    }

    /// Runs one case in every order.
    ///
    /// Panics if an order fails, naming `case`, or if there was only one order: then the model has no
    /// concurrency, and passing proves nothing.
    pub(crate) fn case(&mut self, case: &str, model: impl Fn() + Send + Sync + 'static) {
        let orders = Arc::new(AtomicUsize::new(0));
        let counter = orders.clone();
        // Every limit is set here, because `Builder::new` takes those it finds in the environment, and a
        // search that a limit cuts short passes silently.
        let mut builder = loom::model::Builder::new();
        builder.max_threads = THREADS;
        builder.max_branches = STEPS;
        builder.preemption_bound = Some(preemption_bound());
        builder.max_permutations = None;
        builder.max_duration = None;
        builder.checkpoint_file = None;
        builder.expect_explicit_explore = false;
        let end = catch_unwind(AssertUnwindSafe(|| {
            builder.check(move || {
                counter.fetch_add(1, Ordering::Relaxed);
                model();
            });
        }));
        let orders = orders.load(Ordering::Relaxed);
        if let Err(payload) = end {
            eprintln!("{}: case `{case}` failed in order {orders}", self.name);
            resume_unwind(payload);
        }
        assert!(orders > 1, "{}: case `{case}` ran in one order only", self.name);
        self.cases += 1;
        self.orders += orders;
    }

    /// Prints what was explored.
    pub(crate) fn finish(self) {
        assert!(self.cases > 0, "{}: no case ran", self.name);
        println!(
            "MODEL {:<62} {:>3} cases {:>8} orders {:>6.2} s",
            self.name,
            self.cases,
            self.orders,
            self.began.elapsed().as_secs_f64()
        );
    }
}

/// Explores a test that is one case.
pub(crate) fn explore(name: &'static str, model: impl Fn() + Send + Sync + 'static) {
    let mut exploration = Exploration::new(name);
    exploration.case("only", model);
    exploration.finish();
}

#[test]
#[should_panic(expected = "one order only")]
fn a_model_without_concurrency_fails() {
    explore("a_model_without_concurrency_fails", || {});
}

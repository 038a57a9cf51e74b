//! Walwright, built and run in the same way as its peers.

#[allow(dead_code, reason = "other benchmarks use the rest")]
#[path = "../../../src/engine.rs"]
mod engine;

use engine::Engine;
use std::path::PathBuf;
use walwright_bench_workload::{Result, peer};

async fn open(path: PathBuf) -> Result<Engine> {
    Engine::create_with(walwright::Store::builder(path)).await
}

fn main() -> std::process::ExitCode {
    peer::main(open)
}

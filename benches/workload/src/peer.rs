//! A peer's program: it runs the closed loops that its command line names, and prints a line of JSON for each.

use crate::{ClosedLoop, Pattern, Percentiles, Result, Subject};
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// What one closed loop gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PeerRow {
    pub pattern: Pattern,
    pub clients: usize,
    pub per_second: f64,
    pub latency: Option<Percentiles>,
}

/// The whole program: `FOLDER MILLISECONDS CLIENTS,CLIENTS,...`. Each loop gets a fresh database in the folder.
pub fn main<S, F>(open: impl Fn(PathBuf) -> F) -> ExitCode
where
    S: Subject,
    F: Future<Output = Result<S>>,
{
    match run(open) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run<S, F>(open: impl Fn(PathBuf) -> F) -> Result<()>
where
    S: Subject,
    F: Future<Output = Result<S>>,
{
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, time, clients] = arguments.as_slice() else {
        return Err("usage: FOLDER MILLISECONDS CLIENTS,CLIENTS,...".into());
    };
    let time = Duration::from_millis(time.parse()?);
    let clients: Vec<usize> = clients.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        for pattern in Pattern::ALL {
            for &clients in &clients {
                let folder = Path::new(folder).join(format!("{pattern}-{clients}"));
                std::fs::create_dir_all(&folder)?;
                let store = open(folder.join("db")).await?;
                let numbers = Arc::new(AtomicU64::new(0));
                let done = ClosedLoop { pattern, clients, time }.run(&store, &numbers).await?;
                let (per_second, latency) = (done.per_second(), done.latencies.percentiles());
                println!("{}", serde_json::to_string(&PeerRow { pattern, clients, per_second, latency })?);
            }
        }
        Ok(())
    })
}

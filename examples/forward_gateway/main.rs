//! A gateway that forwards TCP connections and keeps a SQLite record of each: two durable writes a
//! connection. It runs on the store as it is usually first written, and on Walwright in two ways.
//!
//! ```text
//! cargo run --release --example forward_gateway
//! cargo run --example forward_gateway -- --connections 1,6 --sync-delay-ms 0 --json
//! ```
//!
//! # What is modelled
//!
//! *The gateway.* A client opens connections to a forwarder, the forwarder relays them to a small HTTP
//! server; all three are tasks of this process on 127.0.0.1. For every accepted connection the
//! forwarder
//!
//! 1. inserts a session record, durably,
//! 2. looks it up again and checks it: it is there, not revoked, not expired,
//! 3. takes one of the sandbox's 20 slots, and waits for one if all are taken,
//! 4. relays the bytes both ways until both sides have closed, and gives the slot back,
//! 5. updates the record to revoked, durably, if nobody has changed it since step 1.
//!
//! In the row "pipelined" the forwarder sends step 5 right behind step 1: a session is for one connection, so it
//! can be revoked for all others at once. The client still waits for the insert to be durable, since without
//! a record nothing may pass; for the update nobody waits but the count of connections that have ended.
//!
//! *The client* opens N connections at once, sends `GET /` with `Connection: close`, reads to the end and
//! compares the 64 bytes of the body. A connection is completed when the right body came, within a
//! minute. Its time runs from before the connect to the end of the response; the mean is over the
//! completed ones. After the last N it makes ten connections one after the other.
//!
//! *Wall time* runs from the first connect until the last record is revoked. No client waits for step 5,
//! but the gateway is not done before, both commits are what a connection costs, and with
//! many connections the updates of the first compete with the inserts of the last: left out, they
//! would count for N = 64 and not for N = 1. The table also has the time until the last client had its
//! response. The next N starts only when the file, seen through a connection of its own, holds one
//! revoked record for every connection. One connection that is not reported goes first, so that N = 1
//! does not pay for what any first statement pays.
//!
//! *The delete.* A sandbox with 542 sessions is deleted while four readers list, a thousand times a second
//! each, the eight sessions of another sandbox. A read that errs or lists another number has failed. When the
//! delete is answered, another connection counts at once how many of its rows are still there. Its
//! wall time runs until they are gone, be it before the answer or after.
//!
//! *The stores.* All are given the same schema and the same VFS, which adds the same delay to every sync (the
//! first of the delays is 0: the disk as it is). `baseline.rs` and `walwright_store.rs` say what each of them
//! does with it.
//!
//! *The counts.* Commands are the writes that the forwarder sent to Walwright, statements the SQL that it ran to
//! carry them out, and syncs those of all the store's files, seen by the VFS, checkpoints included.
//!
//! *The disk.* Every store gets a fresh file in a fresh folder, which is removed in the end, also after
//! Ctrl-C. On a filesystem in memory a sync costs nothing and the figures say nothing; then there is a
//! warning.

mod baseline;
mod client;
mod delete;
mod folder;
mod forwarder;
mod http_server;
mod load;
mod observer;
mod options;
mod progress;
mod ratios;
mod report;
mod rows;
mod scene;
mod session;
mod session_store;
mod table;
mod walwright_store;
mod work;

use crate::folder::Folder;
use crate::options::{Command, HELP, Options};
use crate::progress::Progress;
use crate::report::Report;
use crate::scene::{Scene, Stage};
use std::error::Error;
use std::process::ExitCode;

/// Whatever went wrong, to be shown to a person.
pub type AnyError = Box<dyn Error + Send + Sync>;
/// The result of everything here that can fail.
pub type Result<T> = std::result::Result<T, AnyError>;

/// What a shell expects of a program that Ctrl-C ended: 128 and the number of the signal.
const INTERRUPTED: u8 = 130;
/// The customary answer to a command line that makes no sense.
const BAD_OPTIONS: u8 = 2;

fn main() -> ExitCode {
    let options = match options::from_command_line() {
        Ok(Command::Run(options)) => options,
        Ok(Command::Help) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("forward_gateway: {problem}\nTry 'forward_gateway --help'.");
            return ExitCode::from(BAD_OPTIONS);
        }
    };
    match measure(&options) {
        Ok(Ending::Finished) => ExitCode::SUCCESS,
        Ok(Ending::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(error) => {
            eprintln!("forward_gateway: {error}");
            ExitCode::FAILURE
        }
    }
}

/// How a run that did not fail came to its end.
enum Ending {
    Finished,
    Interrupted,
}

fn measure(options: &Options) -> Result<Ending> {
    let folder = Folder::create(options.dir.as_deref(), "forward-gateway")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ending = runtime.block_on(async {
        tokio::select! {
            result = measure_in(&folder, options) => result.map(|()| Ending::Finished),
            signal = tokio::signal::ctrl_c() => signal.map(|()| Ending::Interrupted).map_err(AnyError::from),
        }
    });
    // The files may go only when nothing writes to them any more; this waits for blocking calls, too.
    drop(runtime);
    folder.remove()?;
    ending
}

async fn measure_in(folder: &Folder, options: &Options) -> Result<()> {
    let mut progress = Progress::new(options.steps());
    let mut report = Report::new(folder.disk()?, options.json);
    report.warn_of_memory();
    let mut stage = Stage { folder, options, progress: &mut progress, report: &mut report };
    for &sync_delay in &options.sync_delays {
        for &store in &options.stores {
            stage.play(Scene { store, sync_delay }).await?;
        }
    }
    progress.clear();
    report.finish()
}

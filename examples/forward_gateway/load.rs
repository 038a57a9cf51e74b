//! The connections of one step, and how long they took.

use crate::Result;
use crate::client::fetch;
use crate::forwarder::Forwarder;
use serde::{Serialize, Serializer};
use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// How many connections one after the other make up the last step.
const SEQUENTIAL: usize = 10;

/// How the client opens its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    Together(usize),
    Sequential,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Together(1) => write!(f, "1 connection"),
            Self::Together(count) => write!(f, "{count} connections at once"),
            Self::Sequential => write!(f, "{SEQUENTIAL} connections one after the other"),
        }
    }
}

impl Serialize for Load {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Together(count) => count.serialize(serializer),
            Self::Sequential => serializer.serialize_str("sequential"),
        }
    }
}

/// What a load led to.
pub struct Measured {
    pub completed: usize,
    /// From the first connect until the last client was done.
    pub responses: Duration,
    /// From the first connect until the last record was revoked.
    pub wall: Duration,
    /// The mean of a completed connection, as its client saw it; none if there is none.
    pub mean: Option<Duration>,
    /// Why one of the connections failed, if one did.
    pub failure: Option<String>,
}

/// Opens the connections of `load`, and waits until the forwarder is done with them, too.
pub async fn put_on(forwarder: &Forwarder, load: Load) -> Result<Measured> {
    let failed_before = forwarder.settle().await?.failed;
    let start = Instant::now();
    let fetched = fetch_all(forwarder.address(), load).await?;
    let responses = start.elapsed();
    let tally = forwarder.settle().await?;
    let wall = start.elapsed();

    let times: Vec<Duration> = fetched.iter().flatten().copied().collect();
    let mean = times.iter().sum::<Duration>().checked_div(u32::try_from(times.len())?);
    // The forwarder knows the cause; the client only that its connection was dropped.
    let forwarders = tally.latest_failure.filter(|_| tally.failed > failed_before);
    let failure = forwarders.or(fetched.into_iter().find_map(Result::err).map(|error| error.to_string()));
    Ok(Measured { completed: times.len(), responses, wall, mean, failure })
}

async fn fetch_all(address: SocketAddr, load: Load) -> Result<Vec<Result<Duration>>> {
    match load {
        Load::Together(count) => {
            let mut fetched = Vec::with_capacity(count);
            let mut clients: JoinSet<_> = (0..count).map(|_| fetch(address)).collect();
            while let Some(client) = clients.join_next().await {
                fetched.push(client?);
            }
            Ok(fetched)
        }
        Load::Sequential => {
            let mut fetched = Vec::with_capacity(SEQUENTIAL);
            for _ in 0..SEQUENTIAL {
                fetched.push(fetch(address).await);
            }
            Ok(fetched)
        }
    }
}

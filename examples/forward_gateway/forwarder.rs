//! The forwarder: a session record for every connection, and the bytes both ways.

use crate::Result;
use crate::session::Session;
use crate::session_store::SessionStore;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The sandbox that all connections go to.
pub const SANDBOX: &str = "sandbox-of-the-server";
/// How many connections of one sandbox are relayed at a time; the others wait.
const SLOTS: usize = 20;
/// How long the records of connections that have ended may take to be revoked.
const PATIENCE: Duration = Duration::from_secs(120);

/// A forwarder on a port of its own, stopped when dropped.
pub struct Forwarder {
    address: SocketAddr,
    accepting: JoinHandle<()>,
    tally: watch::Receiver<Tally>,
}

/// What has become of the connections so far.
#[derive(Clone, Default)]
pub struct Tally {
    pub accepted: usize,
    /// Ended, with the record revoked or with a failure.
    pub ended: usize,
    /// Ended with a failure; the latest says why.
    pub failed: usize,
    pub latest_failure: Option<String>,
}

impl Forwarder {
    /// Forwards to `upstream`, with its records in `store`.
    pub async fn start<S: SessionStore>(store: S, upstream: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (counting, tally) = watch::channel(Tally::default());
        let gate = Arc::new(Gate { store, upstream, slots: Semaphore::new(SLOTS) });
        let accepting = tokio::spawn(accept(listener, gate, counting));
        Ok(Self { address, accepting, tally })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until every accepted connection has ended and its record is revoked.
    pub async fn settle(&self) -> Result<Tally> {
        let mut tally = self.tally.clone();
        let idle = timeout(PATIENCE, tally.wait_for(|tally| tally.ended == tally.accepted)).await;
        Ok(idle.map_err(|_| "session records are still not revoked after two minutes")??.clone())
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept<S: SessionStore>(listener: TcpListener, gate: Arc<Gate<S>>, tally: watch::Sender<Tally>) {
    let tally = Arc::new(tally);
    while let Ok((client, _)) = listener.accept().await {
        tally.send_modify(|tally| tally.accepted += 1);
        let (gate, tally) = (gate.clone(), tally.clone());
        tokio::spawn(async move {
            let failure = gate.forward(client).await.err();
            // The handle to the store goes first: who sees this connection ended may close the store.
            drop(gate);
            tally.send_modify(|tally| {
                tally.ended += 1;
                if let Some(error) = failure {
                    tally.failed += 1;
                    tally.latest_failure = Some(error.to_string());
                }
            });
        });
    }
}

/// What every connection passes.
struct Gate<S> {
    store: S,
    upstream: SocketAddr,
    slots: Semaphore,
}

impl<S: SessionStore> Gate<S> {
    async fn forward(&self, client: TcpStream) -> Result<()> {
        // A session is for one connection: whatever becomes of that, no other may have it.
        self.store.forward(Session::new(SANDBOX), self.relay(client)).await
    }

    async fn relay(&self, mut client: TcpStream) -> Result<()> {
        let _slot = self.slots.acquire().await?;
        let mut upstream = TcpStream::connect(self.upstream).await?;
        copy_bidirectional(&mut client, &mut upstream).await?;
        Ok(())
    }
}

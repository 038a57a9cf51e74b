//! One store at one sync delay: every load in turn, then the delete.

use crate::Result;
use crate::baseline::Baseline;
use crate::client::fetch;
use crate::delete;
use crate::folder::Folder;
use crate::forwarder::{Forwarder, SANDBOX};
use crate::http_server::HttpServer;
use crate::load;
use crate::observer::Observer;
use crate::options::{Options, StoreName};
use crate::progress::Progress;
use crate::report::Report;
use crate::session_store::SessionStore;
use crate::walwright_store::{Pairs, WalwrightStore};
use crate::work::Work;
use std::fmt;
use std::path::Path;
use std::time::Duration;
use walwright_test_support::FaultVfs;

/// Which store, and how much longer than the disk its syncs take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scene {
    pub store: StoreName,
    pub sync_delay: Duration,
}

impl Scene {
    pub fn sync_delay_ms(self) -> u64 {
        u64::try_from(self.sync_delay.as_millis()).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} ms added to a sync", self.store, self.sync_delay_ms())
    }
}

/// Where a scene is played, and who watches.
pub struct Stage<'run> {
    pub folder: &'run Folder,
    pub options: &'run Options,
    pub progress: &'run mut Progress,
    pub report: &'run mut Report,
}

impl Stage<'_> {
    pub async fn play(&mut self, scene: Scene) -> Result<()> {
        self.play_out(scene).await.map_err(|error| format!("{scene}: {error}").into())
    }

    async fn play_out(&mut self, scene: Scene) -> Result<()> {
        let vfs = FaultVfs::unique("forward-gateway");
        vfs.set_sync_delay(scene.sync_delay);
        let path = self.folder.new_database();
        let walwright = |pairs| WalwrightStore::open(&path, vfs.name(), pairs);
        match scene.store {
            StoreName::Baseline => {
                self.play_on(Baseline::open(&path, vfs.name()).await?, scene, &path, vfs).await
            }
            StoreName::Walwright => self.play_on(walwright(Pairs::OneByOne).await?, scene, &path, vfs).await,
            StoreName::Pipelined => self.play_on(walwright(Pairs::Pipelined).await?, scene, &path, vfs).await,
        }
    }

    async fn play_on<S: SessionStore>(
        &mut self,
        store: S,
        scene: Scene,
        path: &Path,
        vfs: &FaultVfs,
    ) -> Result<()> {
        let observer = Observer::open(path)?;
        self.report.journal_mode(scene, observer.journal_mode()?);

        self.forward(scene, &store, &observer, vfs).await?;
        self.delete(scene, &store, &observer).await?;

        // SQLite would checkpoint for whoever closes last, and that is for the store to do.
        drop(observer);
        store.close().await
    }

    async fn forward<S: SessionStore>(
        &mut self,
        scene: Scene,
        store: &S,
        observer: &Observer,
        vfs: &FaultVfs,
    ) -> Result<()> {
        let server = HttpServer::start().await?;
        let forwarder = Forwarder::start(store.clone(), server.address()).await?;
        fetch(forwarder.address()).await?;
        forwarder.settle().await?;

        for &load in &self.options.loads {
            self.progress.step(format_args!("{scene}: {load}"));
            let before = Work::so_far(store, vfs);
            let measured = load::put_on(&forwarder, load).await?;
            let work = Work::so_far(store, vfs) - before;
            if let Some(failure) = &measured.failure {
                self.progress.note(format_args!("{scene}: {load}: {failure}"));
            }
            check_records(&forwarder, observer).await?;
            self.report.forwarded(scene, load, &measured, work)?;
        }
        Ok(())
    }

    async fn delete<S: SessionStore>(&mut self, scene: Scene, store: &S, observer: &Observer) -> Result<()> {
        self.progress.step(format_args!("{scene}: delete {} sessions", delete::ROWS));
        let measured = delete::run(store, observer).await?;
        if let Some(failure) = &measured.first_failure {
            self.progress.note(format_args!("{scene}: a read beside the delete: {failure}"));
        }
        self.report.deleted(scene, &measured)
    }
}

/// Whether the file holds one revoked record for every connection that there was.
async fn check_records(forwarder: &Forwarder, observer: &Observer) -> Result<()> {
    let tally = forwarder.settle().await?;
    let records = observer.sessions_of(SANDBOX)?;
    let revoked = observer.revoked_sessions_of(SANDBOX)?;
    let connections = i64::try_from(tally.accepted)?;
    // Where the store has refused something, it depends on what that was.
    if tally.failed > 0 || (records, revoked) == (connections, connections) {
        return Ok(());
    }
    Err(format!("{connections} connections left {records} records, {revoked} of them revoked").into())
}

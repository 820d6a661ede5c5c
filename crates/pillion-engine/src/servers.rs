//! The running HTTP servers of a user: one connection file for each.
//!
//! A server writes its own file and nobody else's, so there is nothing to lock. Whoever
//! reads them believes only those whose process still runs, and removes the others.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pillion_catalogue::Stats;
use pillion_process::stat::Identity;
use pillion_runtime::{Dirs, write_atomically};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How often a server notes that it was used.
const NOTE_EVERY: Duration = Duration::from_secs(5);
/// Servers that are looked at.
const MAX_SERVERS: usize = 256;

/// A running server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Server {
    /// The folder it serves, for requests that name none.
    pub workspace_root: Option<String>,
    /// The port it listens on.
    pub port: u16,
    /// Its process.
    pub pid: u32,
    /// When it started, in UTC, as ISO 8601.
    pub started_at: String,
    /// When it last answered, in UTC, as ISO 8601.
    pub last_activity: String,
    /// Tells its process from a later one with the same number.
    #[serde(default)]
    start: u64,
}

/// The connection file of this process. Dropping it removes the file.
#[derive(Debug)]
pub struct Registration {
    file: PathBuf,
    noting: tokio::task::JoinHandle<()>,
}

impl Registration {
    /// Write the connection file of this process, and keep it current.
    pub fn new(
        dirs: &Dirs,
        root: Option<&Path>,
        port: u16,
        stats: Arc<Stats>,
    ) -> std::io::Result<Self> {
        let pid = std::process::id();
        let folder = folder(dirs);
        std::fs::create_dir_all(&folder)?;
        let file = folder.join(format!("{pid}.json"));
        let now = Timestamp::now().to_string();
        let mut server = Server {
            workspace_root: root.map(|root| root.display().to_string()),
            port,
            pid,
            started_at: now.clone(),
            last_activity: now,
            start: Identity::of(pid).map_or(0, |identity| identity.start),
        };
        write(&file, &server)?;
        let path = file.clone();
        let noting = tokio::spawn(async move {
            let answered = || stats.snapshot().iter().map(|s| s.requests).sum::<u64>();
            let mut before = 0;
            loop {
                tokio::time::sleep(NOTE_EVERY).await;
                let now = answered();
                if now != before {
                    before = now;
                    server.last_activity = Timestamp::now().to_string();
                    let _ = write(&path, &server);
                }
            }
        });
        Ok(Self { file, noting })
    }

    /// The connection file.
    pub fn file(&self) -> &Path {
        &self.file
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.noting.abort();
        let _ = std::fs::remove_file(&self.file);
    }
}

/// The servers that run now.
pub(crate) fn running(dirs: &Dirs) -> Vec<Server> {
    let Ok(files) = std::fs::read_dir(folder(dirs)) else {
        return Vec::new();
    };
    let mut servers: Vec<Server> = files
        .filter_map(|file| read(&file.ok()?.path()))
        .take(MAX_SERVERS)
        .collect();
    servers.sort_by(|a, b| a.started_at.cmp(&b.started_at));
    servers
}

/// The server of a connection file; the file of a dead one is removed.
fn read(file: &Path) -> Option<Server> {
    if file.extension()? != "json" {
        return None;
    }
    let server: Server = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    let identity = Identity {
        pid: server.pid,
        start: server.start,
    };
    if identity.is_alive() {
        return Some(server);
    }
    let _ = std::fs::remove_file(file);
    None
}

fn write(file: &Path, server: &Server) -> std::io::Result<()> {
    write_atomically(file, &serde_json::to_vec(server)?)
}

fn folder(dirs: &Dirs) -> PathBuf {
    dirs.usable_state().join("servers")
}

//! One change of a store at a time: its lock, who holds it, and how long others wait.
//!
//! Whoever waits has changed nothing yet. So the wait ends when the caller waits no longer, by an
//! error that says that the store is busy, and with a cancel.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use pillion_catalogue::Context;
use pillion_process::stat::Identity;
use pillion_runtime::managed::ProgressListener;
use serde::{Deserialize, Serialize};

use super::BundleStore;
use crate::error::{Error, Result};

const LOCK: &str = ".lock";
/// So long one waits for another process that changes the store.
const LONGEST: Duration = Duration::from_secs(120);
/// So often it is looked whether the other is done.
const LOOK: Duration = Duration::from_millis(20);
/// A wait that is shorter is not worth a word.
const MOMENT: Duration = Duration::from_millis(300);
/// Bytes of what a holder says about itself.
const MAX_HOLDER: u64 = 1024;

/// Until when somebody waits for what another process holds.
#[derive(Debug, Clone, Copy)]
pub struct WaitLimit {
    caller: Option<Instant>,
}

impl WaitLimit {
    /// As long as the caller of this request waits.
    pub fn of<S>(cx: &Context<S>) -> Self {
        let request = cx.request();
        let asked = request.timeout.map(|timeout| Instant::now() + timeout);
        Self {
            caller: request.deadline.into_iter().chain(asked).min(),
        }
    }

    /// When a wait is over that begins now and takes no longer than this.
    pub(crate) fn until(self, longest: Duration) -> Instant {
        let latest = Instant::now() + longest;
        self.caller.map_or(latest, |caller| caller.min(latest))
    }
}

/// Holds the lock of a store until it is dropped. The system lets go of it when the process
/// ends, in whatever way.
#[derive(Debug)]
pub struct Locked {
    file: fs::File,
}

impl Drop for Locked {
    fn drop(&mut self) {
        // What is left in it would be that of nobody, and is recognised as such.
        let _ = self.file.set_len(0);
    }
}

/// Who holds a lock, as its file says. The pid alone would be that of anybody.
#[derive(Debug, Serialize, Deserialize)]
struct LockHolder {
    pid: u32,
    start: u64,
}

impl LockHolder {
    /// Say that it is us. The lock holds without that, too, such as on a full disk.
    fn note(file: &mut fs::File) {
        let _ = file.set_len(0);
        let me = Identity::of(std::process::id());
        let me = me.map(|Identity { pid, start }| Self { pid, start });
        if let Some(Ok(text)) = me.as_ref().map(serde_json::to_string) {
            let _ = writeln!(file, "{text}");
        }
    }

    /// The pid of the process that holds the lock, if it said so and still runs.
    fn read(path: &Path) -> Option<u32> {
        let mut bytes = Vec::new();
        let file = super::files::open(path).ok()?;
        file.take(MAX_HOLDER).read_to_end(&mut bytes).ok()?;
        let Self { pid, start } = serde_json::from_slice(&bytes).ok()?;
        Identity { pid, start }.is_alive().then_some(pid)
    }
}

impl BundleStore {
    /// Keep all others from changing it, where it is there.
    pub async fn lock_there(
        &self,
        limit: WaitLimit,
        progress: &dyn ProgressListener,
    ) -> Result<Locked> {
        match self.root.is_dir() {
            true => self.lock(limit, progress).await,
            false => Err(self.nothing()),
        }
    }

    /// Keep all others from changing it.
    pub async fn lock(&self, limit: WaitLimit, progress: &dyn ProgressListener) -> Result<Locked> {
        fs::create_dir_all(&self.root).map_err(Error::io("make", &self.root))?;
        let path = self.root.join(LOCK);
        let mut file = fs::File::options()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(Error::io("open", &path))?;
        let (begun, until) = (Instant::now(), limit.until(LONGEST));
        let mut told = None;
        loop {
            match file.try_lock() {
                Ok(()) => {
                    LockHolder::note(&mut file);
                    return Ok(Locked { file });
                }
                Err(fs::TryLockError::Error(error)) => return Err(Error::io("lock", &path)(error)),
                Err(fs::TryLockError::WouldBlock) => {}
            }
            let now = Instant::now();
            if now >= until {
                return Err(Error::Busy {
                    path: self.root.clone(),
                    holder: LockHolder::read(&path),
                });
            }
            if now >= begun + MOMENT {
                let waits = waits_for(LockHolder::read(&path));
                if told.as_ref() != Some(&waits) {
                    progress.step(&waits);
                    told = Some(waits);
                }
            }
            tokio::time::sleep_until((now + LOOK).min(until).into()).await;
        }
    }
}

/// What is told of a wait.
fn waits_for(holder: Option<u32>) -> String {
    match holder {
        Some(pid) if pid == std::process::id() => {
            "waiting for another request that changes the store".to_owned()
        }
        Some(pid) => format!("waiting for process {pid}, which changes the store"),
        None => "waiting for another process that changes the store".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Default, Clone)]
    struct Heard(Arc<Mutex<Vec<String>>>);

    impl ProgressListener for Heard {
        fn step(&self, message: &str) {
            self.0.lock().unwrap().push(message.to_owned());
        }
    }

    const FOREVER: WaitLimit = WaitLimit { caller: None };

    #[tokio::test]
    async fn who_waits_is_told_for_whom_and_gives_up_with_his_caller() {
        let folder = tempfile::tempdir().unwrap();
        let store = BundleStore::new(folder.path());
        let heard = Heard::default();
        let held = store.lock(FOREVER, &heard).await.unwrap();
        let path = folder.path().join(LOCK);
        assert_eq!(LockHolder::read(&path), Some(std::process::id()));
        let impatient = WaitLimit {
            caller: Some(Instant::now()),
        };
        let error = store.lock(impatient, &heard).await.unwrap_err();
        let told = pillion_protocol::Error::from(error);
        assert_eq!(told.code, pillion_protocol::Code::Busy, "{told:?}");
        assert_eq!(told.data.unwrap()["pid"], std::process::id());
        assert!(heard.0.lock().unwrap().is_empty(), "nobody waited");
        // Another process that has the same pid now is another one.
        let me = Identity::of(std::process::id()).unwrap();
        let twin = LockHolder {
            pid: me.pid,
            start: me.start + 1,
        };
        fs::write(&path, serde_json::to_vec(&twin).unwrap()).unwrap();
        assert_eq!(LockHolder::read(&path), None);
        drop(held);
        assert_eq!(fs::read(&path).unwrap(), b"");
        drop(store.lock(impatient, &heard).await.unwrap());
        assert_eq!(
            waits_for(Some(me.pid)),
            "waiting for another request that changes the store"
        );
        assert!(waits_for(Some(1)).contains("process 1,"));
    }
}

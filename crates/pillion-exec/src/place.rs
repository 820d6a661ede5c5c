//! The folder of a run: in memory, of a session, or one that goes away with the run.

use std::path::{Path, PathBuf};

use pillion_catalogue::{Code, Error, Result};
use pillion_sandbox::{Level, TMP, WORK};

use crate::lane::Lane;
use crate::perform::Request;
use crate::{ExecService, session};

/// The session of runs in the user lane that name none.
pub(crate) const NO_SESSION: &str = "default";

/// Where a run has its folder.
#[derive(Debug)]
pub(crate) struct Place {
    /// On this machine; `None` if it is only in memory.
    pub(crate) folder: Option<PathBuf>,
    /// Its name below the folder of all sessions.
    pub(crate) part: Option<PathBuf>,
    /// It goes away with this.
    throwaway: bool,
    /// As the program sees it.
    pub(crate) seen: PathBuf,
    pub(crate) tmp: PathBuf,
}

impl Place {
    pub(crate) fn of(service: &ExecService, request: &Request, level: Level) -> Result<Self> {
        let boxed = level == Level::L3;
        let kept = request.lane == Lane::User;
        if !kept && boxed {
            return Ok(Self {
                folder: None,
                part: None,
                throwaway: true,
                seen: WORK.into(),
                tmp: TMP.into(),
            });
        }
        let name = match kept {
            true => request
                .session
                .clone()
                .unwrap_or_else(|| NO_SESSION.to_owned()),
            false => format!("run-{}-{}", std::process::id(), unique()),
        };
        let folder = session::folder(&service.sessions(), &name)?;
        session::give_to_stranger(&folder).map_err(|error| {
            Error::new(
                Code::StartFailed,
                format!("cannot prepare `{}`: {error}", folder.display()),
            )
        })?;
        let (seen, tmp) = match boxed {
            true => (WORK.into(), TMP.into()),
            false => (folder.clone(), folder.join(".tmp")),
        };
        Ok(Self {
            folder: Some(folder),
            part: boxed.then(|| name.into()),
            throwaway: !kept,
            seen,
            tmp,
        })
    }

    /// The folder, if it stays.
    pub(crate) fn kept(&self) -> Option<&Path> {
        self.folder.as_deref().filter(|_| !self.throwaway)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.as_ref().filter(|_| self.throwaway) {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

fn unique() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

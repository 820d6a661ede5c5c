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
            false => session::name_of_run(),
        };
        let folder = session::folder(&service.sessions(), &name)?;
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

    /// Make the folder belong to whoever runs code; says what is in it. It may be much, and
    /// must not hold up anybody else.
    pub(crate) async fn prepare(&self) -> Result<Vec<session::Listed>> {
        let Some(folder) = self.folder.clone() else {
            return Ok(Vec::new());
        };
        let name = folder.display().to_string();
        let given = move || session::give_to_stranger(&folder);
        let given = tokio::task::spawn_blocking(given).await;
        given.map_err(Error::internal)?.map_err(|error| {
            let message = format!("cannot prepare `{name}`: {error}");
            Error::new(Code::StartFailed, message)
        })?;
        Ok(self.listed().await)
    }

    /// What is in the folder, if it stays.
    pub(crate) async fn listed(&self) -> Vec<session::Listed> {
        let Some(folder) = self.kept().map(Path::to_owned) else {
            return Vec::new();
        };
        let listed = tokio::task::spawn_blocking(move || session::listed(&folder)).await;
        listed.unwrap_or_default()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take().filter(|_| self.throwaway) {
            // It may hold much, and nobody should wait for it.
            tokio::task::spawn_blocking(move || session::remove(&folder));
        }
    }
}

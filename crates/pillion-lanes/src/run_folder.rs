//! The folder of a run: in memory, of a session, or one that goes away with the run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result, work};
use pillion_sandbox::{Level, TMP, WORK};

use crate::lane::Lane;
use crate::session::{self, InUse, Purpose, Survey};

/// The session of runs in the user lane that name none.
pub const NO_SESSION: &str = "default";

/// How long a run waits for a session that is being emptied, and how often it looks.
const CLEARING: Duration = Duration::from_secs(10);
const RETRY_EVERY: Duration = Duration::from_millis(5);

/// Where a run has its folder.
#[derive(Debug)]
pub struct RunFolder {
    /// On this machine; `None` if it is only in memory.
    pub folder: Option<PathBuf>,
    /// Its name below the folder of all sessions.
    pub part: Option<PathBuf>,
    /// It goes away with this.
    throwaway: bool,
    /// Nobody empties it meanwhile.
    in_use: Option<InUse>,
    /// As the program sees it.
    pub seen: PathBuf,
    /// Where it has its temporary files, as it sees them.
    pub tmp: PathBuf,
}

impl RunFolder {
    /// The folder of code in `lane` behind walls of this level. Folders on this machine are
    /// below `sessions`; in the user lane it is that of `session`.
    pub fn new(sessions: &Path, lane: Lane, session: Option<&str>, level: Level) -> Result<Self> {
        let boxed = level == Level::L3;
        let kept = lane == Lane::User;
        if !kept && boxed {
            return Ok(Self {
                folder: None,
                part: None,
                throwaway: true,
                in_use: None,
                seen: WORK.into(),
                tmp: TMP.into(),
            });
        }
        let name = match kept {
            true => session.unwrap_or(NO_SESSION).to_owned(),
            false => session::name_of_run(),
        };
        let folder = session::folder(sessions, &name)?;
        let (seen, tmp) = match boxed {
            true => (WORK.into(), TMP.into()),
            false => (folder.clone(), folder.join(session::TMP_IN_FOLDER)),
        };
        Ok(Self {
            folder: Some(folder),
            part: boxed.then(|| session::part(&name)),
            throwaway: !kept,
            in_use: None,
            seen,
            tmp,
        })
    }

    /// Make the folder ready for a run, and say what is in it. It may be much, and must not
    /// hold up anybody else.
    pub async fn prepare(&mut self) -> Result<Survey> {
        let Some(folder) = self.folder.clone() else {
            return Ok(Survey::default());
        };
        let until = tokio::time::Instant::now() + CLEARING;
        while self.in_use.is_none() {
            self.in_use = session::lock_for_run(&folder).map_err(|error| {
                let message = format!("cannot use `{}`: {error}", folder.display());
                Error::new(Code::StartFailed, message)
            })?;
            if self.in_use.is_none() {
                if tokio::time::Instant::now() > until {
                    return Err(Error::new(Code::Busy, "its session is being emptied")
                        .hint("try again when that is done"));
                }
                tokio::time::sleep(RETRY_EVERY).await;
            }
        }
        let failed = |why: &dyn std::fmt::Display| {
            let message = format!("cannot prepare `{}`: {why}", folder.display());
            Error::new(Code::StartFailed, message)
        };
        let looked = folder.clone();
        let survey = work(move |_| session::survey(&looked, Purpose::Run)).await?;
        let survey = survey.map_err(|error| failed(&error))?;
        match survey.unseen {
            None => Ok(survey),
            Some(why) => Err(failed(&why).hint("`pillion session-clear` empties a session")),
        }
    }

    /// What is new in the folder since then, if it stays.
    pub async fn made(&self, before: Survey) -> Vec<session::ProducedFile> {
        let Some(folder) = self.folder.clone().filter(|_| !self.throwaway) else {
            return Vec::new();
        };
        let made = work(move |_| session::made(&folder, &before)).await;
        made.unwrap_or_default()
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take().filter(|_| self.throwaway) {
            // It may hold much, and nobody should wait for it.
            tokio::spawn(work(move |_| session::remove(&folder)));
        }
    }
}

/// A session that nobody else has. Its folder goes away with this.
#[derive(Debug)]
pub struct Throwaway {
    root: PathBuf,
    name: String,
}

impl Throwaway {
    /// One of those below `sessions`; nothing is made yet.
    pub fn new(sessions: PathBuf) -> Self {
        Self {
            root: sessions,
            name: session::name_of_run(),
        }
    }

    /// Its name, which no caller can give.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        let folder = self.root.join(&self.name);
        tokio::spawn(work(move |_| session::remove(&folder)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_expert_lane_has_a_folder_on_disk_only_without_namespaces() {
        let root = tempfile::tempdir().unwrap();
        let sessions = root.path().join("sessions");
        let boxed = RunFolder::new(&sessions, Lane::Expert, None, Level::L3).unwrap();
        assert_eq!(
            (boxed.folder.as_ref(), boxed.seen.as_path()),
            (None, Path::new(WORK))
        );
        assert!(!sessions.exists());
        let place = RunFolder::new(&sessions, Lane::Expert, None, Level::L2).unwrap();
        let folder = place.folder.clone().unwrap();
        assert_eq!((&place.seen, place.part.as_ref()), (&folder, None));
        assert!(folder.is_dir() && session::all(&sessions).is_empty());
        drop(place);
        while folder.exists() {
            tokio::time::sleep(RETRY_EVERY).await;
        }
    }

    #[tokio::test]
    async fn the_user_lane_keeps_the_folder_of_its_session() {
        let root = tempfile::tempdir().unwrap();
        let mut place = RunFolder::new(root.path(), Lane::User, None, Level::L3).unwrap();
        let folder = place.folder.clone().unwrap();
        let part = Path::new(NO_SESSION).join(session::WORKSPACE);
        assert_eq!(folder, root.path().join(&part));
        assert_eq!(place.part.as_deref(), Some(part.as_path()));
        assert_eq!(place.seen, Path::new(WORK));
        let before = place.prepare().await.unwrap();
        assert!(session::is_running(&folder));
        std::fs::write(folder.join("a"), "1").unwrap();
        assert_eq!(place.made(before).await.len(), 1);
        drop(place);
        assert!(folder.join("a").exists() && !session::stays_in_use(&folder));
    }

    #[tokio::test]
    async fn a_throwaway_session_leaves_no_folder() {
        let root = tempfile::tempdir().unwrap();
        let session = Throwaway::new(root.path().to_owned());
        let place =
            RunFolder::new(root.path(), Lane::User, Some(session.name()), Level::L3).unwrap();
        let folder = place.folder.clone().unwrap();
        std::fs::write(folder.join("a"), "1").unwrap();
        drop(place);
        assert!(folder.exists() && session::all(root.path()).is_empty());
        drop(session);
        while folder.exists() {
            tokio::time::sleep(RETRY_EVERY).await;
        }
    }

    #[test]
    fn a_session_has_no_name_that_leads_out() {
        let root = tempfile::tempdir().unwrap();
        let place = RunFolder::new(root.path(), Lane::User, Some("../x"), Level::L3);
        assert_eq!(place.unwrap_err().code, Code::InvalidParams);
    }
}

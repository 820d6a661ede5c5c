//! Where the content of a session comes from: what a desktop says, the folders that pillion was
//! started with, and the copy that a session keeps.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pillion_catalogue::{Code, Error, Result};
use pillion_course::{Chapter, ChapterId, Overlay, OverlayCheck, Roots};
use pillion_runtime::Dirs;

use crate::context::DesktopContext;
use crate::load::Paths;

/// Chapters that are kept in memory.
const MOST_READ: usize = 8;

/// The folders that pillion was started with; an empty variable counts as none.
pub(crate) fn roots(variable: impl Fn(&str) -> Option<String>) -> Roots {
    let path = |name| {
        let value = variable(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    Roots {
        curriculum: path("CURRICULUM_DIR"),
        experts: path("EXPERTS_DIR"),
        agents: path("MAIN_AGENTS_DIR"),
        templates: path("CURRICULUM_TEMPLATES_DIR"),
    }
}

/// The chapter that is meant, as it is on the disk now.
pub(crate) fn resolve(
    roots: &Roots,
    chapter: &str,
    context: Option<&DesktopContext>,
) -> Result<Chapter> {
    let id: ChapterId = chapter.parse().map_err(failed)?;
    let bundles = context.map(DesktopContext::bundles).unwrap_or_default();
    let found = pillion_course::resolve(roots, &id, &bundles).map_err(failed)?;
    for warning in &found.warnings {
        tracing::warn!(chapter, warning, "a part of a chapter is left out");
    }
    Ok(found)
}

/// Content that sessions began with, read once: what has a hash for its name never changes.
#[derive(Debug)]
pub(crate) struct Contents {
    dirs: Dirs,
    /// What was needed last is at the end.
    read: Mutex<Vec<(String, Arc<Chapter>)>>,
}

impl Contents {
    /// Content among pillion's own data.
    pub(crate) fn new(dirs: Dirs) -> Self {
        Self {
            dirs,
            read: Mutex::default(),
        }
    }

    /// The folder that it is kept in.
    pub(crate) fn store(&self) -> PathBuf {
        self.dirs.usable_data().join("content")
    }

    /// The chapter of a session: the content that it began with, else what there is now.
    pub(crate) fn of_session(
        &self,
        roots: &Roots,
        chapter: &str,
        paths: &Paths,
    ) -> Result<Arc<Chapter>> {
        if let Some(id) = &paths.overlay {
            match self.kept(id) {
                Ok(chapter) => return Ok(chapter),
                Err(error) => {
                    tracing::warn!(%error, "the content of a session is looked for anew");
                }
            }
        }
        let mut roots = roots.clone();
        if let Some(curriculum) = &paths.curriculum {
            roots.curriculum.get_or_insert_with(|| curriculum.clone());
        }
        resolve(&roots, chapter, paths.desktop_context.as_ref()).map(Arc::new)
    }

    fn kept(&self, id: &str) -> std::result::Result<Arc<Chapter>, pillion_course::Error> {
        if let Some(chapter) = self.known(id) {
            return Ok(chapter);
        }
        let chapter = Overlay::open(&self.store(), id, OverlayCheck::Names)?.chapter()?;
        let chapter = Arc::new(chapter);
        let mut read = self.read();
        if read.len() >= MOST_READ {
            read.remove(0);
        }
        read.push((id.to_owned(), Arc::clone(&chapter)));
        Ok(chapter)
    }

    fn known(&self, id: &str) -> Option<Arc<Chapter>> {
        let mut read = self.read();
        let at = read.iter().position(|(known, _)| known == id)?;
        let found = read.remove(at);
        let chapter = Arc::clone(&found.1);
        read.push(found);
        Some(chapter)
    }

    fn read(&self) -> MutexGuard<'_, Vec<(String, Arc<Chapter>)>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keep the content of a chapter as it is now. It may be swept away as soon as this is dropped
/// and no session names it.
pub(crate) fn keep(chapter: &Chapter, store: &Path) -> Result<Overlay> {
    pillion_course::freeze(chapter, store).map_err(failed)
}

/// Take away content that no session has any more.
pub(crate) fn sweep(store: &Path, in_use: &HashSet<String>) {
    if let Err(error) = pillion_course::sweep(store, in_use) {
        tracing::debug!(%error, "old content stays");
    }
}

/// What went wrong with content, as doors tell it.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what `map_err` hands on"
)]
pub(crate) fn failed(error: pillion_course::Error) -> Error {
    let code = match error.status() {
        400 => Code::InvalidRequest,
        404 => Code::NotFound,
        409 => Code::Conflict,
        _ => Code::ParseError,
    };
    Error::new(code, error.to_string()).hint(error.hint())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a check accepts is what agents fill in: the two crates know nothing of each other.
    #[test]
    fn the_check_knows_the_placeholders_and_prompts_of_agents() {
        let sorted = |names: &[&'static str]| {
            let mut names: Vec<&str> = names.to_vec();
            names.sort_unstable();
            names
        };
        assert_eq!(
            sorted(pillion_agents::PLACEHOLDERS),
            sorted(&pillion_course::PLACEHOLDERS)
        );
        let mut prompts = pillion_agents::Prompts::default();
        for name in pillion_course::PROMPTS {
            assert!(prompts.set(name, "text"), "{name}");
        }
    }

    /// Every variable that chooses a model is in the reference.
    #[test]
    fn variables_of_models_are_documented() {
        let known: HashSet<&str> = pillion_protocol::vars::ALL.iter().map(|v| v.name).collect();
        for (name, _) in pillion_model::VARIABLES {
            assert!(known.contains(name), "{name}");
        }
    }
}

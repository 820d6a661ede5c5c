//! A question to the workers of a project: what `py.call`, `py.describe`, `py.expose` and
//! `py.invoke` have in common.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pillion_catalogue::{Code, Context, Error, Result};
use pillion_project::Whereabouts;
use pillion_supervisor::{Ask, CallAnswer, CallRequest};
use serde::Serialize;
use serde_json::value::to_raw_value;

use super::timeout;
use crate::PythonService;
use crate::project::PythonProject;

/// Which workers are asked, and how.
pub(super) struct Question {
    /// The modules that are named: one in the folder where the caller stands is meant.
    pub(super) modules: Vec<String>,
    /// More folders to import from.
    pub(super) path: Vec<PathBuf>,
    /// Whether it may be repeated once after a crash.
    pub(super) is_safe: bool,
    pub(super) streams: bool,
}

impl Question {
    /// Ask; the project is told as well, because errors in the answer are named by it.
    pub(super) async fn ask(
        self,
        cx: &Context<PythonService>,
        method: &'static str,
        params: &impl Serialize,
    ) -> Result<(Arc<PythonProject>, CallAnswer)> {
        let service = cx.service();
        let project = service.project(Whereabouts::of_caller(cx)?).await?;
        let mut path = self.path;
        // As with `python -m`: a module in the folder where one stands can be called.
        if let Some(near) = &cx.caller().near
            && self.modules.iter().any(|name| is_module_in(near, name))
        {
            path.push(near.clone());
        }
        let pool = service.workers(&project, &path, &cx.request().peer)?;
        let call = CallRequest {
            ask: Ask {
                method: method.into(),
                params: Some(to_raw_value(params).map_err(Error::internal)?),
                project: String::new(),
            },
            safe: self.is_safe,
            timeout: timeout(cx, project.common.config.python.timeout_s),
            parts: cx.request().parts.clone().filter(|_| self.streams),
            budget: cx.request().budget.clone(),
        };
        match pool.call(call).await {
            Ok(answer) => Ok((project, answer)),
            Err(error) => Err(name_python(error, &project)),
        }
    }
}

/// Whether the first part of a dotted name is a module or package in this folder.
fn is_module_in(folder: &Path, name: &str) -> bool {
    let top = name.split(['.', ':']).next().unwrap_or_default();
    !top.is_empty() && (folder.join(format!("{top}.py")).is_file() || folder.join(top).is_dir())
}

/// A module that is missing is mostly one that is missing *there*: say where.
pub(super) fn name_python(mut error: Error, project: &PythonProject) -> Error {
    if error.code == Code::NotFound
        && let Ok(choice) = project.python()
    {
        let place = format!(
            "looked for in `{}` with `{}` ({})",
            project.common.root.display(),
            choice.interpreter.executable.display(),
            choice.source,
        );
        error.hint = Some(match error.hint.take() {
            Some(hint) if hint.ends_with(['.', '?', '!']) => format!("{hint} It was {place}."),
            Some(hint) => format!("{hint}. It was {place}."),
            None => format!("it was {place}"),
        });
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_a_file_or_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("shop.py"), "").unwrap();
        std::fs::create_dir(folder.path().join("pkg")).unwrap();
        let here = |name: &str| is_module_in(folder.path(), name);
        for name in ["shop", "shop:f", "shop.sub:f", "pkg.mod:C.m", "pkg"] {
            assert!(here(name), "{name}");
        }
        for name in ["", ":f", ".", "math:hypot", "../shop"] {
            assert!(!here(name), "{name}");
        }
    }

    #[tokio::test]
    async fn what_is_missing_is_said_with_where_it_was_looked_for() {
        use crate::world::World;
        let world = World::new();
        let project = world.with_python(world.folder("one", "")).await;
        let python = project.interpreter().unwrap().display().to_string();
        let error = name_python(Error::new(Code::NotFound, "no module `x`"), &project);
        let hint = error.hint.unwrap();
        assert!(hint.starts_with("it was looked for in"), "{hint}");
        assert!(hint.contains(&python) && hint.contains("one"), "{hint}");
        let hinted = Error::new(Code::NotFound, "no module `x`").hint("Install it.");
        let hint = name_python(hinted, &project).hint.unwrap();
        assert!(
            hint.starts_with("Install it. It was looked for in"),
            "{hint}"
        );
        let hinted = Error::new(Code::NotFound, "no module `x`").hint("write `a:b`");
        let hint = name_python(hinted, &project).hint.unwrap();
        assert!(hint.starts_with("write `a:b`. It was"), "{hint}");
        let other = name_python(Error::new(Code::Timeout, "too late"), &project);
        assert_eq!(other.hint, None, "only what is missing is missing there");
    }
}

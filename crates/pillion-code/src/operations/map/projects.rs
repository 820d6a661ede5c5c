//! `map.projects` and `map.resolve`: which projects there are.

use std::path::{Path, PathBuf};

use pillion_catalogue::{
    Code, Context, Error, Offer, Operation, Profile, Result, Safety, Scope, work,
};
use pillion_index::answers::Answer;
use pillion_index::text::{Text, columns, shown};
use pillion_map::projects;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CodeService, roots};

/// List the projects at and below a folder.
///
/// A project is a folder with a `.git`, or with a file that names its language. What git
/// ignores is left out.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Projects")]
#[serde(deny_unknown_fields)]
pub struct ListProjects {
    /// Look again: for callers that know it from elsewhere. It always does.
    #[arg(long, hide = true)]
    #[serde(default)]
    pub refresh: bool,
}

/// Projects, by group and name.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct FoundProjects(pub Vec<FoundProject>);

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundProject {
    /// The name of its folder.
    pub name: String,
    /// Its folder.
    pub path: String,
    /// Its language by the files it has; `unknown` if none says so.
    pub language: String,
    /// The folders between the root and the project; empty right below the root.
    pub group: String,
    /// The branch it is on, or the short name of a commit; empty outside of git.
    pub git_branch: String,
}

impl From<projects::DetectedProject> for FoundProject {
    fn from(project: projects::DetectedProject) -> Self {
        Self {
            name: project.name,
            path: project.path.display().to_string(),
            language: project.language.map_or("unknown", |l| l.name()).to_owned(),
            group: project.group,
            git_branch: project.branch,
        }
    }
}

impl Operation for ListProjects {
    const NAME: &'static str = "map.projects";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Folder;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .tool("project_registry", 1)
        .contract(Profile::Minimal);
    type Service = CodeService;
    type Output = Answer<FoundProjects>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<FoundProjects>> {
        let root = roots::folder_of(cx.caller())?;
        let all = found_below(&root).await?.into_iter();
        let all = FoundProjects(all.map(FoundProject::from).collect());
        Ok(Answer::one(all, None).in_format(cx.caller().format()))
    }
}

/// The projects at and below a folder.
pub(super) async fn found_below(root: &Path) -> Result<Vec<projects::DetectedProject>> {
    let root = root.to_owned();
    work(move |token| projects::all(&root, token)).await?
}

/// Say which project a path belongs to.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    /// The file or folder.
    pub path: PathBuf,
}

impl Operation for Resolve {
    const NAME: &'static str = "map.resolve";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Folder;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .tool("resolve_project", 2)
        .contract(Profile::Minimal);
    type Service = CodeService;
    type Output = Answer<FoundProject>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<FoundProject>> {
        let is_named = cx.caller().root.is_some();
        let base = is_named.then(|| roots::folder_of(cx.caller()));
        let base = base.transpose()?;
        let path = match self.path.is_absolute() {
            true => self.path.clone(),
            false => roots::folder_of(cx.caller())?.join(&self.path),
        };
        let shown = self.path.display();
        let path = path.canonicalize().map_err(|error| {
            Error::new(
                Code::NotFound,
                format!("no file or folder `{shown}`: {error}"),
            )
            .hint("name something that exists")
        })?;
        let found = work(move |_| projects::around(&path, base.as_deref())).await?;
        let project = found.ok_or_else(|| {
            Error::new(Code::NotFound, format!("`{shown}` is in no project"))
                .hint("a project has a `.git`, or a file such as `pyproject.toml` or `go.mod`")
        })?;
        Ok(Answer::one(project.into(), None).in_format(cx.caller().format()))
    }
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

impl FoundProject {
    fn row(&self) -> [&str; 5] {
        [
            &self.name,
            &self.language,
            or_dash(&self.group),
            or_dash(&self.git_branch),
            &self.path,
        ]
    }
}

impl Text for FoundProject {
    fn text(&self) -> String {
        columns(&[self.row()])
    }
}

impl Text for FoundProjects {
    fn text(&self) -> String {
        if self.0.is_empty() {
            return "no projects".to_owned();
        }
        let head = ["name", "language", "group", "branch", "path"];
        let rows = self.0.iter().map(FoundProject::row);
        columns(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
    }
}

//! `map.cross_project`: which project uses which.

use pillion_catalogue::{Context, Offer, Operation, Result, Safety, Scope, work};
use pillion_index::answers::Answer;
use pillion_index::text::{Text, shown};
use pillion_map::projects::{self, DependencyKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::projects::found_below;
use crate::{CodeService, roots};

/// Show which of the projects below a folder uses which other.
///
/// By what their manifests say: `go.mod`, paths in `pyproject.toml` and in files of
/// requirements, and manifests of agents' plugins.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct CrossProject {
    /// Look again: for callers that know it from elsewhere. It always does.
    #[arg(long, hide = true)]
    #[serde(default)]
    pub refresh: bool,
}

/// Which project uses which.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Dependencies {
    /// Where was looked.
    pub root: String,
    /// The projects, by group and name.
    pub projects: Vec<Depending>,
    /// How many projects there are.
    pub total_projects: usize,
    /// How many uses were found.
    pub total_edges: usize,
}

/// A project, and what it uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Depending {
    /// Its name.
    pub project: String,
    /// Its folder.
    pub path: String,
    /// What it uses.
    pub depends_on: Vec<DependedOn>,
}

/// A project that another uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DependedOn {
    /// Its name.
    pub project: String,
    /// Its folder: names need not be unique.
    pub path: String,
    /// How the other says so.
    #[serde(rename = "type")]
    pub kind: DependencyType,
    /// The words of the manifest that say so.
    pub via: String,
}

/// How a project says that it uses another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DependencyType {
    /// A module in `go.mod`.
    GoModule,
    /// A path in a manifest of Python.
    PythonPath,
    /// A name or path in the manifest of an agent's plugin.
    PluginRef,
}

impl Operation for CrossProject {
    const NAME: &'static str = "map.cross_project";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Folder;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .tool("cross_project_deps", 7)
        .old("cross_project_deps", &[]);
    type Service = CodeService;
    type Output = Answer<Dependencies>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Dependencies>> {
        let root = roots::folder_of(cx.caller())?;
        let all = found_below(&root).await?;
        let read = work(move |_| {
            let edges = projects::dependencies(&all);
            depending(&all, &edges)
        });
        let projects = read.await?;
        let dependencies = Dependencies {
            root: root.display().to_string(),
            total_projects: projects.len(),
            total_edges: projects.iter().map(|one| one.depends_on.len()).sum(),
            projects,
        };
        Ok(Answer::one(dependencies, None).in_format(cx.caller().format()))
    }
}

fn depending(
    all: &[projects::DetectedProject],
    edges: &[Vec<projects::Dependency>],
) -> Vec<Depending> {
    let on = |edge: &projects::Dependency| {
        let used = all.get(edge.on)?;
        Some(DependedOn {
            project: used.name.clone(),
            path: used.path.display().to_string(),
            kind: match edge.kind {
                DependencyKind::GoModule => DependencyType::GoModule,
                DependencyKind::PythonPath => DependencyType::PythonPath,
                DependencyKind::PluginRef => DependencyType::PluginRef,
            },
            via: edge.via.clone(),
        })
    };
    let one =
        |(project, edges): (&projects::DetectedProject, &Vec<projects::Dependency>)| Depending {
            project: project.name.clone(),
            path: project.path.display().to_string(),
            depends_on: edges.iter().filter_map(on).collect(),
        };
    all.iter().zip(edges).map(one).collect()
}

impl Text for Dependencies {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        for project in &self.projects {
            lines.push(project.project.clone());
            for used in &project.depends_on {
                lines.push(format!("  -> {}  ({})", used.project, used.via));
            }
        }
        lines.push(format!(
            "{} projects, {} uses",
            self.total_projects, self.total_edges
        ));
        lines.join("\n")
    }
}

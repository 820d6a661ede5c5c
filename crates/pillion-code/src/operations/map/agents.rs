//! `map.agents`: which agents work on which projects.

use pillion_catalogue::{Context, Offer, Operation, Result, Safety, Scope};
use pillion_index::answers::Answer;
use pillion_index::text::{Text, columns, shown};
use pillion_map::agents::{self, text};
use pillion_map::projects::DetectedProject;
use pillion_protocol::vars;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::projects::found_below;
use crate::{CodeService, roots};

/// Show which agents work on which projects.
///
/// From the service that `INTERMUTE_URL` names. Where it does not answer, `agents_error` says
/// so, and the rest of the answer is still there.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Agents {
    /// The service: `http://HOST:PORT`. The caller's environment names it if not given.
    // The caller's environment may name another than that of a daemon that began earlier.
    #[arg(long, env = vars::INTERMUTE_URL, hide_env_values = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Which agents work where.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MappedAgents {
    /// The agents, by project and name.
    pub agents: Vec<MappedAgent>,
    /// Whether the service answered.
    pub agents_available: bool,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents_error: Option<String>,
    /// How many projects there are at and below the root.
    pub project_count: usize,
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MappedAgent {
    /// Its id.
    pub agent_id: String,
    /// Its name.
    pub name: String,
    /// What it is doing.
    pub status: String,
    /// The project it works on.
    pub project: String,
    /// The folder of that project, if it is one of those at and below the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_path: Option<String>,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// When it was last heard of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<String>,
    /// What it keeps others from changing just now, in the words of the service.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reservations: Vec<Value>,
}

impl Operation for Agents {
    const NAME: &'static str = "map.agents";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Folder;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.tool("agent_map", 3);
    type Service = CodeService;
    type Output = Answer<MappedAgents>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<MappedAgents>> {
        let root = roots::folder_of(cx.caller())?;
        let url = self.url.clone();
        // A daemon began in the environment of somebody else.
        let of_caller = || match cx.request().peer.variables() {
            Some(variables) => variables.iter().find_map(|(name, value)| {
                let is_it = name.to_str() == Some(vars::INTERMUTE_URL);
                is_it.then(|| value.to_string_lossy().into_owned())
            }),
            None => std::env::var(vars::INTERMUTE_URL).ok(),
        };
        let url = url.or_else(of_caller);
        let url = url.filter(|url| !url.trim().is_empty());
        let ask = async {
            match &url {
                Some(url) => agents::ask(url.trim()).await,
                None => nobody(),
            }
        };
        let (projects, known) = tokio::join!(found_below(&root), ask);
        let projects = projects?;
        let all = known.agents.into_iter();
        let mut all: Vec<MappedAgent> = all.map(|agent| mapped(agent, &projects)).collect();
        let key = |a: &MappedAgent| (a.project.clone(), a.name.clone(), a.agent_id.clone());
        all.sort_by_cached_key(key);
        let answer = MappedAgents {
            agents: all,
            agents_available: known.is_available,
            agents_error: known.error,
            project_count: projects.len(),
        };
        Ok(Answer::one(answer, None).in_format(cx.caller().format()))
    }
}

fn nobody() -> agents::Known {
    let why = "`INTERMUTE_URL` is not set: nobody can be asked which agents there are";
    agents::Known {
        error: Some(why.to_owned()),
        ..agents::Known::default()
    }
}

fn mapped((agent, reservations): (Value, Vec<Value>), projects: &[DetectedProject]) -> MappedAgent {
    let optional = |name| Some(text(&agent, name)).filter(|text| !text.is_empty());
    let project = text(&agent, "project");
    let is_it = |one: &&DetectedProject| one.name == project || one.path.as_os_str() == &*project;
    let found = projects.iter().find(is_it);
    MappedAgent {
        agent_id: agents::id(&agent),
        name: text(&agent, "name"),
        status: text(&agent, "status"),
        project_path: found.map(|one| one.path.display().to_string()),
        project,
        session_id: optional("session_id"),
        last_seen: optional("last_seen"),
        reservations,
    }
}

impl Text for MappedAgents {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        let counts: Vec<String> = self
            .agents
            .iter()
            .map(|a| a.reservations.len().to_string())
            .collect();
        let rows = self.agents.iter().zip(&counts).map(|(agent, count)| {
            let project = agent.project_path.as_ref().unwrap_or(&agent.project);
            [&*agent.name, &*agent.status, &**count, &**project]
        });
        let head = ["name", "status", "reservations", "project"];
        if !self.agents.is_empty() {
            lines.push(columns(
                &std::iter::once(head).chain(rows).collect::<Vec<_>>(),
            ));
        }
        lines.extend(self.agents_error.clone());
        lines.push(format!(
            "{} agents, {} projects",
            self.agents.len(),
            self.project_count
        ));
        lines.join("\n")
    }
}

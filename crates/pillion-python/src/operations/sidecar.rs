//! `sidecar.call`: a command of a foreign sidecar.

use pillion_catalogue::{Context, Offer, Operation, Prints, Result, Safety, Scope};
use pillion_supervisor::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::call::Called;
use super::timeout;
use super::worker::WorkerRef;
use crate::{PythonService, foreign};
use pillion_project::Whereabouts;

/// Send a command to a foreign sidecar of the project.
///
/// `pillion.toml` says how it is started: `[sidecar.NAME] command = [...]`. It speaks the
/// line-JSON contract, and is supervised like a worker.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct SidecarCall {
    /// Which sidecar of `pillion.toml`.
    pub sidecar: String,
    /// The command it should do.
    pub command: String,
    /// The `project` that the command is about; the workspace root if it is not given.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Its arguments: a JSON object.
    #[arg(long, value_name = "JSON", value_parser = object)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Box<RawValue>>,
    /// It may be sent again once after a crash.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idempotent: bool,
}

impl Operation for SidecarCall {
    const NAME: &'static str = "sidecar.call";
    const SAFETY: Safety = Safety::Execute;
    const SCOPE: Scope = Scope::Folder;
    const OFFER: Offer = Offer::PLAIN.prints(Prints::Result);
    type Service = PythonService;
    type Output = Called;

    async fn run(self, cx: Context<PythonService>) -> Result<Called> {
        let place = Whereabouts {
            root: cx.folder()?,
            ..Whereabouts::default()
        };
        let project = cx.service().project_of(place, &self.sidecar).await?;
        if let Some(args) = &self.args {
            pillion_protocol::readable::check(args.get())?;
        }
        let pool = cx
            .service()
            .foreign(&project, &self.sidecar, &cx.request().peer)?;
        let made = foreign::find(&project, &self.sidecar)?;
        let call = pillion_supervisor::CallRequest {
            safe: self.idempotent || made.safe_commands.contains(&self.command),
            timeout: timeout(&cx, made.timeout_s),
            ask: Ask {
                method: self.command.into(),
                params: Some(self.args.unwrap_or_else(empty)),
                project: self
                    .project
                    .unwrap_or_else(|| project.root.display().to_string()),
            },
            parts: None,
            budget: cx.request().budget.clone(),
        };
        let answer = pool.call(call).await?;
        Ok(Called {
            result: answer.result,
            worker: WorkerRef {
                generation: answer.generation,
                pid: answer.pid,
            },
            elapsed_ms: answer.took.as_secs_f64() * 1000.0,
        })
    }
}

fn empty() -> Box<RawValue> {
    RawValue::from_string("{}".into()).unwrap_or_default()
}

fn object(text: &str) -> Result<Box<RawValue>, String> {
    let raw: Box<RawValue> =
        serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    if raw.get().starts_with('{') {
        Ok(raw)
    } else {
        Err("`--args` is a JSON object".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_a_command_are_an_object() {
        assert_eq!(empty().get(), "{}");
        assert_eq!(object(r#" {"x": 1.10}"#).unwrap().get(), r#"{"x": 1.10}"#);
        for text in ["[1]", "null", "1", "\"x\""] {
            assert!(object(text).unwrap_err().contains("object"), "{text}");
        }
        for text in ["", "{", "{'x': 1}"] {
            assert!(object(text).unwrap_err().contains("not JSON"), "{text}");
        }
    }
}

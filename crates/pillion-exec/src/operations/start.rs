//! `exec.start`: run code of others as a job.

use std::path::Path;

use pillion_catalogue::{Context, Error, Method, Offer, Operation, Result, Safety, Scope};
use pillion_lanes::Whereabouts;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;

use super::{CODE_FIELDS, JobInfo, RunCode, USER_LANE, in_session};
use crate::{ExecService, queue};

/// Put Python code into the queue of jobs, with the parameters of `exec.run`.
///
/// The answer comes at once and names the job. `exec.job` tells what became of it, `exec.stream`
/// gives its output as it comes, `exec.cancel` ends it.
#[derive(Debug, Clone, Serialize, Deserialize, clap::Args)]
#[serde(transparent)]
pub struct StartJob {
    /// What is to be run.
    #[command(flatten)]
    pub run: RunCode,
}

impl JsonSchema for StartJob {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Start".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = RunCode::json_schema(generator);
        schema.insert("description".to_owned(), ABOUT.into());
        schema
    }
}

/// The documentation above, for the schema: its parameters are those of another type.
const ABOUT: &str = "Put Python code into the queue of jobs, with the parameters of `exec.run`.\n\n\
    The answer comes at once and names the job. `exec.job` tells what became of it, \
    `exec.stream` gives its output as it comes, `exec.cancel` ends it.";

/// What was asked for, as it is kept.
#[derive(Serialize)]
struct Asked<'a> {
    #[serde(flatten)]
    run: &'a RunCode,
    root: &'a Path,
}

impl Operation for StartJob {
    const NAME: &'static str = "exec.start";
    const SAFETY: Safety = Safety::Execute;
    const SCOPE: Scope = Scope::Project;
    const OFFER: Offer = Offer::PLAIN.typed("job-start", 310).routes(&[in_session(
        Method::Post,
        "/api/session/{session_id}/code/jobs",
    )
    .takes(CODE_FIELDS)
    .fixes(USER_LANE)]);
    type Service = ExecService;
    type Output = JobInfo;

    fn text(result: &str) -> Option<String> {
        let job: JobInfo = serde_json::from_str(result).ok()?;
        Some(job.job_id)
    }

    fn typed(mut self, _json: bool) -> Self {
        self.run.take_along();
        self
    }

    async fn run(self, cx: Context<ExecService>) -> Result<JobInfo> {
        let place = Whereabouts::of_caller(&cx)?;
        let peer = &cx.request().peer;
        cx.service().jobs().are_taken()?;
        let run = self.run.of_caller(&cx).await?;
        let asked = Asked {
            run: &run,
            root: &place.root,
        };
        let asked = to_raw_value(&asked).map_err(Error::internal)?;
        let request = run.request(place, peer)?;
        let job = queue::start(cx.service(), request, asked, peer).await?;
        Ok(job.into())
    }
}

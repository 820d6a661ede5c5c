//! The command line: whole programs, from their start to their end.

use pillion_catalogue::{Error, Result};

use super::Plan;
use super::report::{Budget, Row};
use super::rounds::{Duel, Subject};
use super::stage::{FUNCTION, Stage, cannot};
use super::wire::framed;

/// The same call without anything warm.
const ONE_SHOT: &str = "\
import json, sys
from bench_target import echo
print(json.dumps(echo(*json.loads(sys.argv[1]))))
";

/// `pillion call` against a Python client of the same daemon, and against Python alone.
pub(super) async fn cli(stage: &Stage, plan: &Plan) -> Result<Vec<Row>> {
    let daemon = stage.start(stage.daemon("d.sock"), "d.sock")?;
    let payload = plan
        .payloads
        .first()
        .ok_or_else(|| Error::internal("no payloads"))?;
    let arguments = format!("[{}]", payload.json);
    let params = super::doors::params(&stage.root(), payload);
    // Both sides find a warm worker.
    let warm = super::doors::rpc(&stage.root(), payload);
    daemon.wire()?.ask(&warm).map_err(|error| cannot(&error))?;
    let ours = || {
        stage
            .pillion()
            .arg("--socket")
            .arg(&daemon.socket)
            .args(["call", FUNCTION, &arguments, "--root"])
            .arg(stage.root())
    };
    let client = || {
        stage
            .baseline("python_client.py")
            .arg(&daemon.socket)
            .args(["py.call", &params])
    };
    let one_shot = || stage.python().args(["-c", ONE_SHOT, &arguments]);
    let mut rows = Vec::new();
    if plan.wants("cli/python-client") {
        let what = "`pillion call`, whole program";
        plan.tell(what);
        let mut ours = Subject::Program(Box::new(ours));
        let mut theirs = Subject::Program(Box::new(client));
        let duel = Box::pin(Duel::fight(&mut ours, &mut theirs, plan.programs())).await?;
        let row = Row::times("cli/python-client", what, "Python client", &duel);
        rows.push(Row::new("cli/absolute", what, row.unit, row.ours).budget(Budget::Most(8000.0)));
        rows.push(row.budget(Budget::Times(0.1)));
    }
    if plan.wants("cli/one-shot") {
        let what = "`pillion call`, whole program";
        plan.tell(what);
        let mut ours = Subject::Program(Box::new(ours));
        let mut theirs = Subject::Program(Box::new(one_shot));
        let duel = Box::pin(Duel::fight(&mut ours, &mut theirs, plan.programs())).await?;
        rows.push(Row::times("cli/one-shot", what, "python -c", &duel));
    }
    daemon.stop().await;
    Ok(rows)
}

/// A request without parameters, framed.
pub(super) fn plain(method: &str) -> Vec<u8> {
    framed(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#
    ))
}

//! `pillion defs` as a whole program.

use pillion_catalogue::{Error, Result};

use super::super::report::{Budget, Row};
use super::super::rounds::{Duel, Subject};
use super::{Set, jedi};

pub(super) async fn rows(set: &Set<'_>) -> Result<Vec<Row>> {
    let (stage, plan) = (set.stage, set.plan);
    let question = set.questions.defs.first();
    let question = question.ok_or_else(|| Error::internal("no questions"))?;
    let (daemon, wire) = set.warm_daemon("c.sock")?;
    drop(wire);
    let ours = || {
        stage
            .pillion()
            .arg("--socket")
            .arg(&daemon.socket)
            .arg("defs")
            .arg(set.root.join(&question.file))
            .args([question.line.to_string(), question.col.to_string()])
            .arg("--root")
            .arg(&set.root)
    };
    let params = set.params(question).to_string();
    let client = || {
        stage
            .baseline("python_client.py")
            .arg(&daemon.socket)
            .args(["code.defs", &params])
    };
    let what = "`pillion defs`, whole program";
    let mut rows = Vec::new();
    if plan.wants("cli/python-client") || plan.wants("cli/absolute") {
        plan.tell(what);
        let mut ours = Subject::Program(Box::new(ours));
        let mut theirs = Subject::Program(Box::new(client));
        let duel = Box::pin(Duel::fight(&mut ours, &mut theirs, plan.programs())).await?;
        let row = Row::times("cli/python-client", what, "Python client", &duel);
        rows.push(Row::new("cli/absolute", what, row.unit, row.ours).budget(Budget::Most(8000.0)));
        rows.push(row.budget(Budget::Times(0.1)));
    }
    if plan.wants("cli/one-shot") {
        plan.tell(what);
        let mut ours = Subject::Program(Box::new(ours));
        let mut theirs = Subject::Program(Box::new(|| jedi::one_shot(set, question)));
        let mut effort = plan.programs();
        effort.calls = 1;
        let duel = Box::pin(Duel::fight(&mut ours, &mut theirs, effort)).await?;
        rows.push(Row::times("cli/one-shot", what, jedi::ONE_SHOT, &duel));
    }
    rows.retain(|row| plan.wants(&row.name));
    daemon.stop().await;
    Ok(rows)
}

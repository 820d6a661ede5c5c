//! How far a learner has come: skipping a task, and the end of a session.

use pillion_agents::{
    SessionState, SkipError, SkipReply, SkipRequest, Task, final_report, packet_after_skip,
    skip_task,
};
use pillion_catalogue::{Code, Error, Fault, Result, invalid};
use pillion_course::Roots;
use serde_json::json;

use crate::content::Contents;
use crate::create::tasks;
use crate::folder::{Folder, Record, hold, names};
use crate::load;

/// Where a session stands: its state, and the tasks of its chapter.
pub(crate) fn stand(
    folder: &Folder,
    roots: &Roots,
    contents: &Contents,
) -> Result<(SessionState, Vec<Task>)> {
    let (state, paths) = (load::state(folder)?, load::paths(folder)?);
    let chapter = contents.of_session(roots, &state.chapter_id, &paths);
    // What the learner did can be told without the chapter, if that is gone.
    let tasks = chapter.map_or_else(|_| known_tasks(&state), |chapter| tasks(&chapter));
    Ok((state, tasks))
}

/// Leave a task out.
pub(crate) fn skip(
    folder: &Folder,
    roots: &Roots,
    contents: &Contents,
    request: &SkipRequest,
) -> Result<SkipReply> {
    let mut held = hold(folder)?;
    let snapshot = load::snapshot(folder)?;
    let mut state = snapshot.state;
    let chapter = contents.of_session(roots, &state.chapter_id, &snapshot.paths)?;
    let tasks = tasks(&chapter);
    let current = state.current_task(&tasks).map(|task| task.id.clone());
    let reply = skip_task(&mut state, &tasks, request, &load::now());
    let reply = reply.map_err(|error| refused(&error, request))?;
    if reply.needs_reason {
        return Ok(reply);
    }
    let mut record = Record::default();
    if reply.skipped_task_id == current {
        let next = state.current_task(&tasks).cloned();
        let packet = packet_after_skip(&snapshot.packet.unwrap_or_default(), next.as_ref());
        state.current_instruction_version = packet.instruction_version;
        record
            .json(names::PACKET, &packet)
            .map_err(Error::internal)?;
    }
    record.json(names::STATE, &state).map_err(Error::internal)?;
    folder.commit(&mut held, record)?;
    folder.settle(&mut held)?;
    folder.note(&json!({
        "at": load::now(), "event": "task_skipped", "task": reply.skipped_task_id,
    }));
    Ok(reply)
}

fn refused(error: &SkipError, request: &SkipRequest) -> Error {
    let told = match (error.status(), error.member()) {
        (422, Some(member)) => {
            let given = match member {
                "reason" => &request.reason,
                _ => &request.reason_text,
            };
            let fault = Fault::new(member, "value_error", error.to_string());
            invalid(vec![fault.given(&json!(given))])
        }
        (404, _) => Error::new(Code::NotFound, error.to_string()),
        _ => Error::new(Code::Conflict, error.to_string()),
    };
    told.hint(error.hint())
}

/// End a session: its final report.
pub(crate) fn end(folder: &Folder, roots: &Roots, contents: &Contents) -> Result<String> {
    let mut held = hold(folder)?;
    let snapshot = load::snapshot(folder)?;
    let mut state = snapshot.state;
    // A report can be written without the chapter, if that is gone.
    let chapter = contents.of_session(roots, &state.chapter_id, &snapshot.paths);
    let (title, tasks) = match &chapter {
        Ok(chapter) => (chapter.title.clone(), tasks(chapter)),
        Err(_) => (state.chapter_id.clone(), known_tasks(&state)),
    };
    let report = final_report(&title, &state, &tasks, &snapshot.report, &snapshot.memory);
    state.end_suggested = true;
    state.end_confirmed = true;
    let mut record = Record::default();
    record.text(names::FINAL_REPORT, report.clone());
    record.json(names::STATE, &state).map_err(Error::internal)?;
    folder.commit(&mut held, record)?;
    folder.settle(&mut held)?;
    folder.note(&json!({ "at": load::now(), "event": "session_ended" }));
    Ok(report)
}

/// The tasks that a state knows, where the chapter is gone.
fn known_tasks(state: &SessionState) -> Vec<Task> {
    let known = state.subtask_status.iter().map(|(id, _)| Task {
        id: id.to_owned(),
        title: String::new(),
    });
    known.collect()
}

//! Skipping a task, which only the learner does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::move_on;
use crate::state::{SessionState, SkipEntry, Task, TaskStatus, Tasks};

/// After so many skips in a row the next one needs a reason.
pub const SKIPS_WITHOUT_REASON: u64 = 2;
/// The longest reason in the learner's words, in characters.
pub const MAX_REASON_TEXT: usize = 200;
/// So many skips are remembered.
const MAX_SKIP_LOG: usize = 200;

/// The reasons of the contract, with their English names.
pub const REASONS: &[(&str, &str)] = &[
    ("已掌握", "mastered"),
    ("不感兴趣", "not_interested"),
    ("太难了", "too_hard"),
    ("太啰嗦", "too_wordy"),
    (OTHER, "other"),
];
const OTHER: &str = "其他";

/// What a learner asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SkipRequest {
    /// Why: 已掌握, 不感兴趣, 太难了, 太啰嗦, 其他, or mastered, not_interested, too_hard,
    /// too_wordy, other.
    pub reason: Option<String>,
    /// Why in the learner's words, which `other` needs. At most 200 characters.
    pub reason_text: Option<String>,
    /// Which task; the current one if none is named.
    pub subtask_id: Option<String>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SkipReply {
    /// The task that was skipped; none if a reason is needed first.
    pub skipped_task_id: Option<String>,
    /// Its title.
    pub skipped_task_title: Option<String>,
    /// The task that is worked on now.
    pub next_task_id: Option<String>,
    /// What it is about.
    pub next_task_focus: Option<String>,
    /// Nothing was skipped: say why first.
    pub needs_reason: bool,
    /// Skips without progress between them.
    pub consecutive_skips: u64,
    /// No task is open.
    pub all_tasks_done: bool,
    /// Where the learner is with each task.
    #[schemars(with = "std::collections::BTreeMap<String, crate::state::SubtaskStatus>")]
    pub subtask_status: Tasks,
}

/// Why a task was not skipped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkipError {
    /// The reason is not one of the list.
    #[error("`{0}` is not one of the reasons")]
    UnknownReason(String),
    /// The reason is `other`, and nothing more was said.
    #[error("the reason `other` needs `reason_text`")]
    ReasonTextMissing,
    /// The reason in the learner's words is too long.
    #[error("`reason_text` has more than {MAX_REASON_TEXT} characters")]
    ReasonTextTooLong,
    /// The chapter has no such task.
    #[error("the chapter has no task `{0}`")]
    UnknownTask(String),
    /// The task is completed or skipped.
    #[error("the task `{id}` is already {status}")]
    AlreadyOver {
        /// The task.
        id: String,
        /// What it is.
        status: TaskStatus,
    },
    /// No task is open.
    #[error("every task is completed or skipped")]
    NothingOpen,
}

impl SkipError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownReason(_) => {
                let names: Vec<&str> = REASONS.iter().map(|(_, name)| *name).collect();
                format!("use one of: {}", names.join(", "))
            }
            Self::ReasonTextMissing => "say why in `reason_text`".to_owned(),
            Self::ReasonTextTooLong => "say it shorter".to_owned(),
            Self::UnknownTask(_) => "leave `subtask_id` out to skip the current task".to_owned(),
            Self::AlreadyOver { .. } => "choose an open task".to_owned(),
            Self::NothingOpen => "end the session".to_owned(),
        }
    }

    /// The HTTP status of the contract.
    pub fn status(&self) -> u16 {
        match self {
            Self::UnknownReason(_) | Self::ReasonTextMissing | Self::ReasonTextTooLong => 422,
            Self::UnknownTask(_) => 404,
            Self::AlreadyOver { .. } | Self::NothingOpen => 409,
        }
    }

    /// The member of the request it is about, if it is about one.
    pub fn member(&self) -> Option<&'static str> {
        match self {
            Self::UnknownReason(_) => Some("reason"),
            Self::ReasonTextMissing | Self::ReasonTextTooLong => Some("reason_text"),
            Self::UnknownTask(_) | Self::AlreadyOver { .. } => Some("subtask_id"),
            Self::NothingOpen => None,
        }
    }
}

/// Skip a task. On an error, and when a reason is needed first, nothing has changed.
pub fn skip_task(
    state: &mut SessionState,
    tasks: &[Task],
    request: &SkipRequest,
    now: &str,
) -> Result<SkipReply, SkipError> {
    let reason = reason_of(request)?;
    let task = match given(request.subtask_id.as_deref()) {
        Some(id) => tasks
            .iter()
            .find(|task| task.id == id)
            .ok_or_else(|| SkipError::UnknownTask(id.to_owned()))?,
        None => state.current_task(tasks).ok_or(SkipError::NothingOpen)?,
    };
    let status = state.status(&task.id);
    if status.is_over() {
        return Err(SkipError::AlreadyOver {
            id: task.id.clone(),
            status,
        });
    }
    if reason.is_none() && state.consecutive_skips >= SKIPS_WITHOUT_REASON {
        return Ok(reply(state, tasks, None));
    }
    state.cover(tasks);
    state.subtask_status.entry(&task.id).status = TaskStatus::Skipped;
    state.consecutive_skips = state.consecutive_skips.saturating_add(1);
    state.awaiting_skip_reason = false;
    // The next task begins without the attempts at this one.
    state.attempts_since_last_progress = 0;
    state.skip_log.push(SkipEntry {
        subtask_id: task.id.clone(),
        reason: reason.map(str::to_owned),
        reason_text: given(request.reason_text.as_deref()).map(str::to_owned),
        turn_index: state.turn_index,
        skipped_at: now.to_owned(),
        ..SkipEntry::default()
    });
    let over = state.skip_log.len().saturating_sub(MAX_SKIP_LOG);
    state.skip_log.drain(..over);
    move_on(state, tasks);
    Ok(reply(state, tasks, Some(task)))
}

fn reply(state: &SessionState, tasks: &[Task], skipped: Option<&Task>) -> SkipReply {
    let next = state.current_task(tasks);
    SkipReply {
        skipped_task_id: skipped.map(|task| task.id.clone()),
        skipped_task_title: skipped.map(|task| task.title.clone()),
        next_task_id: next.map(|task| task.id.clone()),
        next_task_focus: next.map(|task| task.title.clone()),
        needs_reason: skipped.is_none(),
        consecutive_skips: state.consecutive_skips,
        all_tasks_done: state.all_done(tasks),
        subtask_status: state.subtask_status.clone(),
    }
}

fn given(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

fn reason_of(request: &SkipRequest) -> Result<Option<&'static str>, SkipError> {
    let text = given(request.reason_text.as_deref());
    if text.is_some_and(|text| text.chars().count() > MAX_REASON_TEXT) {
        return Err(SkipError::ReasonTextTooLong);
    }
    let Some(word) = given(request.reason.as_deref()) else {
        return Ok(None);
    };
    let known = REASONS
        .iter()
        .find(|(chinese, english)| *chinese == word || english.eq_ignore_ascii_case(word));
    match known {
        None => Err(SkipError::UnknownReason(crate::words::clip(word, 40))),
        Some((OTHER, _)) if text.is_none() => Err(SkipError::ReasonTextMissing),
        Some((reason, _)) => Ok(Some(reason)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::initial_state;

    fn tasks() -> Vec<Task> {
        let task = |id: &str| Task {
            id: id.to_owned(),
            title: format!("do {id}"),
        };
        ["a", "b", "c", "d"].map(task).into()
    }

    fn request(reason: Option<&str>, text: Option<&str>, id: Option<&str>) -> SkipRequest {
        SkipRequest {
            reason: reason.map(Into::into),
            reason_text: text.map(Into::into),
            subtask_id: id.map(Into::into),
        }
    }

    #[test]
    fn the_third_skip_in_a_row_needs_a_reason() {
        let mut state = initial_state("s", "c", &tasks());
        let none = request(None, None, None);
        let first = skip_task(&mut state, &tasks(), &none, "now").unwrap();
        assert_eq!(first.skipped_task_id.as_deref(), Some("a"));
        assert_eq!(first.next_task_focus.as_deref(), Some("do b"));
        skip_task(
            &mut state,
            &tasks(),
            &request(Some("too_hard"), None, None),
            "now",
        )
        .unwrap();
        assert_eq!(state.skip_log[1].reason.as_deref(), Some("太难了"));
        let before = state.clone();
        let asked = skip_task(&mut state, &tasks(), &none, "now").unwrap();
        assert!(asked.needs_reason && asked.skipped_task_id.is_none());
        assert_eq!((asked.consecutive_skips, &state), (2, &before));
        skip_task(
            &mut state,
            &tasks(),
            &request(Some("已掌握"), None, Some("d")),
            "now",
        )
        .unwrap();
        let last = skip_task(
            &mut state,
            &tasks(),
            &request(Some("其他"), Some("why"), None),
            "now",
        );
        let last = last.unwrap();
        assert!(last.all_tasks_done && last.next_task_id.is_none() && state.end_suggested);
        assert_eq!(
            last.subtask_status.get("c").unwrap().status,
            TaskStatus::Skipped
        );
        assert_eq!(
            skip_task(&mut state, &tasks(), &none, "now"),
            Err(SkipError::NothingOpen)
        );
    }

    #[test]
    fn what_cannot_be_skipped_changes_nothing() {
        let mut state = initial_state("s", "c", &tasks());
        state.subtask_status.entry("b").status = TaskStatus::Completed;
        let before = state.clone();
        let long = "x".repeat(201);
        let cases = [
            (request(Some("bored"), None, None), 422),
            (request(Some("other"), Some("  "), None), 422),
            (request(None, Some(&long), None), 422),
            (request(None, None, Some("nope")), 404),
            (request(None, None, Some("b")), 409),
        ];
        for (request, status) in cases {
            let error = skip_task(&mut state, &tasks(), &request, "now").unwrap_err();
            assert_eq!(error.status(), status, "{error}");
            assert!(!error.hint().is_empty());
            assert_eq!(state, before);
        }
    }
}

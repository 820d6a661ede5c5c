//! The report at the end of a session, made without a model: what was kept is enough for it.

use crate::memory::MemoryState;
use crate::state::{SessionState, Task, TaskStatus};

/// The text of `final_learning_report.md`. The same session gives the same text.
pub fn final_report(
    title: &str,
    state: &SessionState,
    tasks: &[Task],
    report: &str,
    memory: &MemoryState,
) -> String {
    let mut text = format!("# Learning report: {title}\n\n");
    let count = |status| {
        let of = tasks.iter().filter(|task| state.status(&task.id) == status);
        of.count()
    };
    text.push_str(&format!(
        "{} turns. {} of {} tasks completed, {} skipped.\n\n## Tasks\n\n",
        state.turn_index,
        count(TaskStatus::Completed),
        tasks.len(),
        count(TaskStatus::Skipped),
    ));
    for task in tasks {
        let word = match state.status(&task.id) {
            TaskStatus::NotStarted => "not started",
            TaskStatus::InProgress => "in progress",
            TaskStatus::Completed => "completed",
            TaskStatus::Skipped => "skipped",
        };
        text.push_str(&format!("- **{}** {}: {word}\n", task.id, task.title));
        let entry = state.subtask_status.get(&task.id);
        for evidence in entry.into_iter().flat_map(|entry| &entry.evidence) {
            let line: Vec<&str> = evidence.split_whitespace().collect();
            text.push_str(&format!("  - {}\n", line.join(" ")));
        }
    }
    if !report.trim().is_empty() {
        text.push_str("\n## The report so far\n\n");
        text.push_str(report.trim());
        text.push('\n');
    }
    if !memory.errors.is_empty() {
        // Its headings stand below the report's own.
        let summary = memory.error_summary().replace("\n## ", "\n### ");
        text.push_str("\n#");
        text.push_str(&summary);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memo::ErrorEntry;
    use crate::rules::initial_state;

    #[test]
    fn it_says_where_every_task_stands() {
        let tasks = [Task {
            id: "a".into(),
            title: "do a".into(),
        }];
        let mut state = initial_state("s", "c", &tasks);
        state.subtask_status.entry("a").status = TaskStatus::Completed;
        state.subtask_status.entry("a").evidence = vec!["ran\nit".into()];
        let mut memory = MemoryState::default();
        memory.errors.push(ErrorEntry {
            description: "typo".into(),
            ..ErrorEntry::default()
        });
        let text = final_report("Lists", &state, &tasks, "# Mine\n", &memory);
        assert_eq!(
            text,
            "# Learning report: Lists\n\n0 turns. 1 of 1 tasks completed, 0 skipped.\n\n## Tasks\n\n\
             - **a** do a: completed\n  - ran it\n\n## The report so far\n\n# Mine\n\n\
             ## Errors and what they were about\n\n### Ideas\n\n- turn 0: typo\n"
        );
        let empty = final_report(
            "L",
            &SessionState::default(),
            &[],
            "",
            &MemoryState::default(),
        );
        assert!(!empty.trim().is_empty());
    }
}

//! Answers to commands, as markdown.

use super::commands::{COMMANDS, CodeBlock};
use super::tutor::{FileInfo, Skipped, Stand, Turn};

/// Letters of a block's first line in the list to choose from.
const SHORT: usize = 60;

pub(super) fn help() -> String {
    let mut list = String::new();
    for (name, about) in COMMANDS {
        list += &format!("- **{name}**: {about}\n");
    }
    list + "\nEverything else is a message. Alt-Enter begins a new line."
}

/// The tasks by their titles, in the order of the chapter; the current one in bold.
pub(super) fn tasks(Stand { state, tasks }: &Stand) -> String {
    if tasks.is_empty() {
        return "The chapter has no tasks.".to_owned();
    }
    let mut list = format!("**{}**\n\n", state.chapter_id);
    for task in tasks {
        let stands = state.subtask_status.get(&task.id);
        let status = stands.map_or("not_started", |stands| stands.status.as_str());
        let mark = match status {
            "completed" => "☑",
            "skipped" => "⤼",
            "in_progress" => "◐",
            _ => "☐",
        };
        // A chapter that is gone leaves only the names of its tasks.
        let title = match task.title.trim() {
            "" => &task.id,
            title => title,
        };
        let title = match state.current_subtask_id.as_ref() == Some(&task.id) {
            true => format!("**{title}**"),
            false => title.to_owned(),
        };
        let evidence = match stands.map_or(0, |stands| stands.evidence.len()) {
            0 => String::new(),
            count => format!(" ({count} × seen)"),
        };
        let status = status.replace('_', " ");
        list += &format!("{mark} {title} · {status}{evidence}\n");
    }
    list
}

pub(super) fn skip_text(skipped: &Skipped) -> String {
    let name = |title: &Option<String>, id: &Option<String>| {
        let title = title.clone().filter(|title| !title.is_empty());
        title.or_else(|| id.clone()).unwrap_or_default()
    };
    let gone = name(&skipped.skipped_task_title, &skipped.skipped_task_id);
    match skipped.all_tasks_done {
        true => format!("Skipped **{gone}**. That was the last task; `/end` ends the session."),
        false => {
            let next = name(&skipped.next_task_focus, &skipped.next_task_id);
            format!("Skipped **{gone}**. Next: {next}")
        }
    }
}

pub(super) fn file_table(files: &[FileInfo]) -> String {
    if files.is_empty() {
        return "The session has no files; `/upload FILE` gives it one.".to_owned();
    }
    let mut table = String::from("| file | bytes | from |\n|---|---|---|\n");
    for file in files {
        let size = file.size_bytes.map(|size| size.to_string());
        let source = file.source.as_deref().unwrap_or_default();
        let size = size.unwrap_or_default();
        table += &format!("| {} | {size} | {source} |\n", file.name.replace('|', " "));
    }
    table
}

pub(super) fn block_list(blocks: &[CodeBlock]) -> String {
    let mut list = String::from("Which one? `/run N` runs it.\n\n");
    for (at, block) in blocks.iter().enumerate() {
        let line: String = block.first_line().chars().take(SHORT).collect();
        let rest = block.code.lines().count();
        list += &format!("{}. `{}` ({rest} lines)\n", at + 1, line.replace('`', "'"));
    }
    list
}

pub(super) fn said(turns: &[Turn]) -> String {
    let mut text = String::new();
    for turn in turns {
        let message = turn.user_message.trim().replace('\n', "\n> ");
        let reply = turn.companion_response.trim();
        text += &format!("> {message}\n\n{reply}\n\n");
    }
    text
}

//! The tasks of a chapter: lines `- **id** title` of `task_list.md`.

use std::collections::HashSet;

use crate::ChapterTask;

/// Tasks of one chapter.
pub(crate) const MOST_TASKS: usize = 500;
/// The longest id of a task.
const MOST_ID_BYTES: usize = 200;

/// The tasks of a list in their order. Of tasks with the same id the first is kept, and the
/// others are given apart.
pub(crate) fn parse(text: &str) -> (Vec<ChapterTask>, Vec<ChapterTask>) {
    let (mut tasks, mut again) = (Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    for (number, line) in outside_of_code(text) {
        if let Some((id, title)) = task(line) {
            let first = seen.insert(id.to_owned());
            let list = if first { &mut tasks } else { &mut again };
            if list.len() < MOST_TASKS {
                list.push(ChapterTask {
                    id: id.to_owned(),
                    title: title.to_owned(),
                    line: number,
                });
            }
        }
    }
    (tasks, again)
}

/// The lines that were probably meant as tasks and are none.
pub(crate) fn almost(text: &str) -> Vec<usize> {
    outside_of_code(text)
        .filter(|(_, line)| task(line).is_none() && looks_like_one(line))
        .map(|(number, _)| number)
        .collect()
}

/// The lines with their numbers. What is an example in a block of code is no task.
fn outside_of_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    let lines = text.lines().map(str::trim).enumerate();
    lines.filter_map(move |(number, line)| {
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| line.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        (fence.is_none() && mark.is_none()).then_some((number + 1, line))
    })
}

/// Whether a line is an item of a list, of whatever kind, that begins in bold.
fn looks_like_one(line: &str) -> bool {
    let numbered = || {
        let behind = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let item = behind.strip_prefix(['.', ')']);
        item.filter(|_| behind.len() < line.len())
    };
    // `**bold**` is no item, but `-**id**` is nearly one.
    let item = line
        .strip_prefix(['-', '+'])
        .or_else(|| line.strip_prefix("* "))
        .or_else(numbered);
    let item = item.map(without_box);
    item.is_some_and(|item| item.starts_with("**") || item.starts_with("__"))
}

/// What an item of a list says, without the box that can be ticked.
fn without_box(item: &str) -> &str {
    let mut item = item.trim_start();
    for open in ["[ ]", "[x]", "[X]"] {
        item = item.strip_prefix(open).map_or(item, str::trim_start);
    }
    item
}

/// Id and title of a line, if it is a task's.
fn task(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix(['-', '*'])?.strip_prefix([' ', '\t'])?;
    let (id, rest) = without_box(line).strip_prefix("**")?.split_once("**")?;
    let id = id.trim().trim_end_matches([':', '：']).trim_end();
    if id.is_empty() || id.len() > MOST_ID_BYTES {
        return None;
    }
    let between = |c: char| c.is_whitespace() || [':', '：', '-', '–', '—'].contains(&c);
    let title = rest.trim_start_matches(between).trim_end();
    Some((id, if title.is_empty() { id } else { title }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_with_an_id_in_bold_are_tasks() {
        let text = "# Tasks\r\n- **t1** Make a list\r\n  - **t1.a**: Add to it\r\n\
                    - plain **bold** text\n* [ ] **t2:** — Sum it\n- **t3**\n- **  ** no\n\
                    ```\n- **example** no\n```\n- **t1** again\n";
        let (tasks, again) = parse(text);
        let shown: Vec<_> = tasks
            .iter()
            .map(|task| (task.id.as_str(), task.title.as_str(), task.line))
            .collect();
        assert_eq!(
            shown,
            [
                ("t1", "Make a list", 2),
                ("t1.a", "Add to it", 3),
                ("t2", "Sum it", 5),
                ("t3", "t3", 6),
            ]
        );
        assert_eq!((again.len(), again[0].line), (1, 11));
        assert_eq!(almost(text), [7]);
    }

    #[test]
    fn what_is_nearly_a_task_is_told_from_prose() {
        for line in [
            "1. **a** x",
            "2) **a**",
            "+ **a** x",
            "-**a** x",
            "- __a__ x",
            "- **** x",
            "- **a x",
            "- [ ] __a__",
        ] {
            assert_eq!(almost(line), [1], "{line}");
        }
        for line in [
            "- **a** x",
            "* **a** x",
            "- plain",
            "- plain **bold**",
            "**bold** text",
            "***both***",
            "---",
            "1. plain",
            "2024 **was** a year",
            "```\n1. **a**\n```",
        ] {
            assert_eq!(almost(line), [0; 0], "{line}");
        }
    }

    proptest! {
        #[test]
        fn ids_are_unique_and_lines_are_theirs(text in "([-*] |\\*\\*|[a-c]|: |```|\n){0,80}") {
            let (tasks, _) = parse(&text);
            let ids: HashSet<_> = tasks.iter().map(|task| &task.id).collect();
            prop_assert_eq!(ids.len(), tasks.len());
            for task in &tasks {
                let line = text.lines().nth(task.line - 1).unwrap();
                prop_assert!(line.contains(&task.id) && !task.title.is_empty());
            }
        }
    }
}

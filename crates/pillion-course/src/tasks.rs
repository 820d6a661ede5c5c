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
    let mut fence: Option<&str> = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| line.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        // What is an example in a block of code is no task.
        if fence.is_some() || mark.is_some() {
            continue;
        }
        if let Some((id, title)) = task(line) {
            let first = seen.insert(id.to_owned());
            let list = if first { &mut tasks } else { &mut again };
            if list.len() < MOST_TASKS {
                list.push(ChapterTask {
                    id: id.to_owned(),
                    title: title.to_owned(),
                    line: number + 1,
                });
            }
        }
    }
    (tasks, again)
}

/// Id and title of a line, if it is a task's.
fn task(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix(['-', '*'])?.strip_prefix([' ', '\t'])?;
    let mut line = line.trim_start();
    for open in ["[ ]", "[x]", "[X]"] {
        line = line.strip_prefix(open).map_or(line, str::trim_start);
    }
    let (id, rest) = line.strip_prefix("**")?.split_once("**")?;
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

//! A new course: one chapter that can be tried at once, and that explains itself.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::Error;

/// The longest name that is made of a title.
const MOST_NAME: usize = 48;
/// The longest title.
const MOST_TITLE: usize = 200;

const CONTEXT: &str = "\
# First chapter

Say here what the learner will understand at the end, what they know already, and which words,
examples and mistakes matter. The companion reads this before every reply.

This sample is about greeting people with a Python function.

- The learner can run a Python file and knows what a string is.
- New in this chapter: functions with a parameter, `return`, f-strings.
- A frequent mistake: printing inside of the function instead of returning a value.
";
const TASKS: &str = "\
# Tasks

Each line with an id in bold is a task. Ids stay the same once learners have begun.

- **call_function** Run `greet.py`, and tell what the call of `greet` does
- **add_parameter** Give `greet` a parameter, so that it can greet anybody
- **return_value** Let `greet` return the text instead of printing it, and explain why
";
const PRINCIPLES: &str = "\
# When a task counts as done

- The learner has done it in their own words or code. Repeating a solution is not enough.
- `call_function`: they ran the file and told what was printed, and by which line.
- `add_parameter`: two calls with different names print two different greetings.
- `return_value`: the function has no `print`, and they can say what this makes possible.
";
const SCRIPT: &str = "\
def greet():
    print(\"Hello, world!\")


greet()
";

/// Make a course with one chapter in a folder that is empty or not there yet. Gives the files
/// that were written.
pub fn new(path: &Path, title: &str) -> Result<Vec<PathBuf>, Error> {
    let failed = |path: &Path, error| Error::unreadable(path, error);
    match path.read_dir().map(|mut entries| entries.next().is_none()) {
        Ok(true) => {}
        Ok(false) => {
            let path = path.to_owned();
            return Err(Error::NotEmpty { path });
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(failed(path, error)),
    }
    let title: String = title
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MOST_TITLE)
        .collect();
    let title = match title.trim() {
        "" => "New course",
        title => title,
    };
    let course = Path::new("courses").join(name(title));
    let chapter = course.join("chapters/first");
    // A string of JSON is one of YAML, whatever is in it.
    let quoted = serde_json::Value::from(title).to_string();
    let about = format!("title: {quoted}\ndescription: \"\"\nchapters:\n  - first\n");
    let files = [
        (course.join("course.yaml"), about.as_str()),
        (chapter.join("chapter_context.md"), CONTEXT),
        (chapter.join("task_list.md"), TASKS),
        (chapter.join("task_completion_principles.md"), PRINCIPLES),
        (chapter.join("scripts/greet.py"), SCRIPT),
    ];
    let mut written = Vec::new();
    for (name, text) in files {
        let file = path.join(name);
        let folder = file.parent().unwrap_or(path);
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        // Nothing that somebody else put there meanwhile is overwritten.
        fs::File::create_new(&file)
            .and_then(|mut open| open.write_all(text.as_bytes()))
            .map_err(|error| failed(&file, error))?;
        written.push(file);
    }
    Ok(written)
}

/// An id that looks like a title.
fn name(title: &str) -> String {
    let mut name = String::new();
    for c in title.chars().map(|c| c.to_ascii_lowercase()) {
        if name.len() >= MOST_NAME {
            break;
        }
        if c.is_ascii_alphanumeric() {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    match name.trim_end_matches('-') {
        "" => "course".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Bundles, ContentReport, Roots, check, resolve};

    #[test]
    fn a_new_course_passes_the_check_and_can_be_taken() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("my course");
        let written = new(&path, "Hello, Python: \"easy\"").unwrap();
        assert_eq!(written.len(), 5);
        let expected = ContentReport {
            courses: 1,
            chapters: 1,
            ..ContentReport::default()
        };
        assert_eq!(check(&path), expected);
        let roots = Roots {
            curriculum: Some(path.clone()),
            ..Roots::default()
        };
        let listed = crate::courses(&roots).unwrap();
        assert_eq!(listed[0].title, "Hello, Python: \"easy\"");
        let id = "hello-python-easy/first".parse().unwrap();
        let chapter = resolve(&roots, &id, &Bundles::default()).unwrap();
        assert_eq!((chapter.tasks.len(), chapter.scripts.len()), (3, 1));
        assert!(chapter.warnings.is_empty());
        let error = new(&path, "again").unwrap_err();
        assert!(matches!(error, Error::NotEmpty { .. }));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_title_makes_a_course_that_passes(title in "\\PC{0,60}|[\u{0}-\u{7f}]{0,20}") {
            prop_assert!(crate::is_plain(&name(&title)));
            let temp = tempfile::tempdir().unwrap();
            new(temp.path(), &title).unwrap();
            let report = check(temp.path());
            prop_assert_eq!(report.problems, vec![]);
        }
    }
}

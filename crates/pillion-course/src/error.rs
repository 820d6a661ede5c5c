//! Why content could not be had, and what to do next.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// What is wrong with a file, line by line.
pub(crate) type Flaws = Vec<(Option<usize>, String)>;

/// Places that an error lists; there are rarely more.
const MOST_PLACES: usize = 16;

/// Why content could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This cannot be the id of anything.
    #[error("`{}` is no {what}", id.escape_debug())]
    BadId {
        /// What it should have been the id of.
        what: &'static str,
        /// What was given, shortened.
        id: String,
    },
    /// It is nowhere.
    #[error("{what} was not found{}", places(looked))]
    NotFound {
        /// What was looked for.
        what: String,
        /// Where it was looked for, in that order.
        looked: Vec<PathBuf>,
    },
    /// More than one course has a chapter of this name.
    #[error("several courses have a chapter `{name}`: {}", courses.join(", "))]
    Ambiguous {
        /// The name.
        name: String,
        /// The courses.
        courses: Vec<String>,
    },
    /// The system refused.
    #[error("cannot use `{path}`: {source}")]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is there, but not as it must be.
    #[error("`{}{}`: {message}", path.display(), at(*line))]
    Invalid {
        /// The file or folder.
        path: PathBuf,
        /// The line, counted from 1, if it is one line's fault.
        line: Option<usize>,
        /// What is wrong.
        message: String,
    },
    /// It is larger than what is read.
    #[error("`{path}` is too large: at most {limit} {unit} are read")]
    TooLarge {
        /// The file or folder.
        path: PathBuf,
        /// How much is read.
        limit: u64,
        /// Of what: `bytes`, `files`.
        unit: &'static str,
    },
    /// A link leads to a place that is not part of the bundle.
    #[error("`{path}` leads out of `{root}`")]
    Outside {
        /// The link, or what is reached by one.
        path: PathBuf,
        /// What it must stay in.
        root: PathBuf,
    },
    /// A kept copy is not what it was.
    #[error("the kept content `{path}` is damaged: {message}")]
    Damaged {
        /// The folder.
        path: PathBuf,
        /// What is different.
        message: String,
    },
    /// Files changed while they were copied, more than once.
    #[error("`{path}` changes while it is read")]
    Changing {
        /// The file.
        path: PathBuf,
    },
    /// A new course is made in an empty folder only.
    #[error("`{path}` is not empty")]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
}

impl Error {
    /// The stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadId { .. } => "bad_id",
            Self::NotFound { .. } => "not_found",
            Self::Ambiguous { .. } => "ambiguous_chapter",
            Self::Unreadable { .. } => "content_unreadable",
            Self::Invalid { .. } => "content_invalid",
            Self::TooLarge { .. } => "content_too_large",
            Self::Outside { .. } => "content_outside",
            Self::Damaged { .. } => "content_damaged",
            Self::Changing { .. } => "content_changing",
            Self::NotEmpty { .. } => "not_empty",
        }
    }

    /// The status by which HTTP tells it.
    pub fn status(&self) -> u16 {
        match self {
            Self::BadId { .. } | Self::Ambiguous { .. } => 400,
            Self::NotFound { .. } => 404,
            Self::NotEmpty { .. } | Self::Changing { .. } => 409,
            Self::Invalid { .. } | Self::TooLarge { .. } | Self::Outside { .. } => 422,
            Self::Unreadable { .. } | Self::Damaged { .. } => 500,
        }
    }

    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::BadId { what, .. } => format!(
                "a {what} has letters, digits, `_`, `-` and `.`, at most 128 of them; a chapter \
                 of a course is `course/chapter`"
            ),
            Self::NotFound { .. } => {
                "list the courses and chapters, or set `CURRICULUM_DIR` to the folder that has it"
                    .into()
            }
            Self::Ambiguous { name, courses } => {
                let course = courses.first().map_or("course", String::as_str);
                format!("name the course, too: `{course}/{name}`")
            }
            Self::Unreadable { .. } => "look at the file's permissions and its disk".into(),
            Self::Invalid { .. } | Self::TooLarge { .. } => {
                "`pillion course check` on its folder tells all that is wrong".into()
            }
            Self::Outside { .. } => "put the file itself where the link is".into(),
            Self::Damaged { .. } => {
                "begin a new session: content is kept anew from its bundle".into()
            }
            Self::Changing { .. } => "try again when the bundle has been written".into(),
            Self::NotEmpty { .. } => "name a folder that does not exist yet".into(),
        }
    }

    /// The file or folder that it is about, if it is about one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Unreadable { path, .. }
            | Self::Invalid { path, .. }
            | Self::TooLarge { path, .. }
            | Self::Outside { path, .. }
            | Self::Damaged { path, .. }
            | Self::Changing { path }
            | Self::NotEmpty { path } => Some(path),
            Self::BadId { .. } | Self::NotFound { .. } | Self::Ambiguous { .. } => None,
        }
    }

    pub(crate) fn unreadable(path: &Path, source: io::Error) -> Self {
        Self::Unreadable {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn invalid(path: &Path, line: Option<usize>, message: impl Into<String>) -> Self {
        Self::Invalid {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

fn at(line: Option<usize>) -> String {
    line.map_or(String::new(), |line| format!(":{line}"))
}

fn places(looked: &[PathBuf]) -> String {
    let mut text = String::new();
    for (number, place) in looked.iter().take(MOST_PLACES).enumerate() {
        let word = if number == 0 { " in" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(text, "{word} `{}`", place.display());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_was_looked_for_where_and_what_to_do() {
        let error = Error::NotFound {
            what: "chapter `a/b`".into(),
            looked: vec!["/x/a".into(), "/x/b".into()],
        };
        assert_eq!(
            error.to_string(),
            "chapter `a/b` was not found in `/x/a`, `/x/b`"
        );
        assert_eq!((error.status(), error.code()), (404, "not_found"));
        assert!(error.hint().contains("CURRICULUM_DIR"));
        let error = Error::invalid(Path::new("a.yaml"), Some(3), "bad");
        assert_eq!(error.to_string(), "`a.yaml:3`: bad");
        assert_eq!(error.path(), Some(Path::new("a.yaml")));
    }

    #[test]
    fn an_id_is_shown_without_its_control_characters() {
        let error = Error::BadId {
            what: "chapter",
            id: "a\u{1b}[2J".into(),
        };
        assert_eq!(error.to_string(), "`a\\u{1b}[2J` is no chapter");
    }
}

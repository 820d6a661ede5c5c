//! Ids of chapters, courses and experts: plain names that lead nowhere else.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Error;

/// The longest name.
const MOST_BYTES: usize = 128;
/// How much of a bad id an error repeats.
const MOST_SHOWN: usize = 80;

/// Whether a name is letters, digits, `_`, `-` and `.`, and neither `.` nor `..`. Joined to a
/// folder, such a name is one thing in that folder.
pub fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || ['_', '-', '.'].contains(&c);
    !name.is_empty()
        && name.len() <= MOST_BYTES
        && name.chars().all(plain)
        && ![".", ".."].contains(&name)
}

/// The error for a name that is not plain.
pub(crate) fn check(what: &'static str, id: &str) -> Result<(), Error> {
    if is_plain(id) {
        return Ok(());
    }
    let id = id.chars().take(MOST_SHOWN).collect();
    Err(Error::BadId { what, id })
}

/// The id of a chapter: `name` or `course/name`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ChapterId {
    course: Option<String>,
    name: String,
}

impl ChapterId {
    /// The id from its parts, if both are plain names.
    pub fn new(course: Option<&str>, name: &str) -> Result<Self, Error> {
        if let Some(course) = course {
            check("course", course)?;
        }
        check("chapter", name)?;
        Ok(Self {
            course: course.map(str::to_owned),
            name: name.to_owned(),
        })
    }

    /// The course, if the id says it.
    pub fn course(&self) -> Option<&str> {
        self.course.as_deref()
    }

    /// The chapter's own name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl FromStr for ChapterId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.split_once('/') {
            Some((course, name)) => Self::new(Some(course), name),
            None => Self::new(None, text),
        }
    }
}

impl TryFrom<String> for ChapterId {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<ChapterId> for String {
    fn from(id: ChapterId) -> Self {
        id.to_string()
    }
}

impl fmt::Display for ChapterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(course) = &self.course {
            write!(f, "{course}/")?;
        }
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_is_a_name_or_a_course_and_a_name() {
        let id: ChapterId = "ch1".parse().unwrap();
        assert_eq!((id.course(), id.name()), (None, "ch1"));
        let id: ChapterId = "python-basics/ch_1.2".parse().unwrap();
        assert_eq!((id.course(), id.name()), (Some("python-basics"), "ch_1.2"));
        assert_eq!(id.to_string(), "python-basics/ch_1.2");
        for bad in [
            "", "/", "a/", "/a", "a/b/c", ".", "..", "a/..", "../a", "a b", "a\\b", "é", "a\0",
            "a\n",
        ] {
            let error = bad.parse::<ChapterId>().unwrap_err();
            assert_eq!(error.status(), 400, "{bad:?}");
        }
        assert!("a".repeat(129).parse::<ChapterId>().is_err());
    }

    proptest! {
        #[test]
        fn no_id_leads_out_of_its_folder(text in "(\\PC|[./\\\\a-c]){0,12}") {
            if let Ok(id) = text.parse::<ChapterId>() {
                let path = Path::new("root").join(id.course().unwrap_or("x")).join(id.name());
                prop_assert_eq!(path.components().count(), 3);
                let normal = path.components().all(|part| matches!(part, Component::Normal(_)));
                prop_assert!(normal);
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }
}

//! Which courses and chapters there are.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::chapter::ChapterFolder;
use crate::files::Bundle;
use crate::resolve::{COURSES, LOOSE};
use crate::title::title;
use crate::{Error, Roots, id, is_plain, tasks, yaml};

/// Chapters of a listing.
const MOST_CHAPTERS: usize = 5000;

/// A course of the curriculum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CourseInfo {
    /// Its id: the name of its folder.
    pub course_id: String,
    /// Its title, else its id.
    pub title: String,
    /// What it is about, if it says so.
    pub description: String,
    /// Its chapters, in the order that it gives, else by name.
    pub chapters: Vec<ChapterInfo>,
}

/// A chapter of the curriculum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChapterInfo {
    /// What a session is begun with: `course/name`, or `name`.
    pub chapter_id: String,
    /// The chapter's own name.
    pub name: String,
    /// Its course.
    pub course_id: Option<String>,
    /// Its title, else its name.
    pub title: String,
    /// How many tasks it has.
    pub tasks: usize,
}

/// The courses of the curriculum, by their ids.
pub fn courses(roots: &Roots) -> Result<Vec<CourseInfo>, Error> {
    let Some(bundle) = curriculum(roots)? else {
        return Ok(Vec::new());
    };
    let mut found: Vec<CourseInfo> = Vec::new();
    for courses in COURSES {
        for item in bundle.list(Path::new(courses))? {
            let known = found.iter().any(|course| course.course_id == item.name);
            if item.is_folder && is_plain(&item.name) && !known {
                found.push(course(
                    &bundle,
                    &Path::new(courses).join(&item.name),
                    &item.name,
                )?);
            }
        }
    }
    found.sort_by(|a, b| a.course_id.cmp(&b.course_id));
    Ok(found)
}

/// The chapters of one course, or all: those of courses, and those of none.
pub fn chapters(roots: &Roots, course: Option<&str>) -> Result<Vec<ChapterInfo>, Error> {
    if let Some(course) = course {
        id::check("course", course)?;
    }
    let all = courses(roots)?;
    if let Some(wanted) = course {
        let found = all.into_iter().find(|course| course.course_id == wanted);
        return found
            .map(|course| course.chapters)
            .ok_or_else(|| Error::NotFound {
                what: format!("course `{wanted}`"),
                looked: roots.curriculum.iter().cloned().collect(),
            });
    }
    let mut found: Vec<ChapterInfo> = all.into_iter().flat_map(|course| course.chapters).collect();
    if let Some(bundle) = curriculum(roots)? {
        for folder in LOOSE.map(Path::new) {
            for loose in in_folder(&bundle, folder, None)? {
                if !found
                    .iter()
                    .any(|known| known.chapter_id == loose.chapter_id)
                {
                    found.push(loose);
                }
            }
        }
    }
    found.truncate(MOST_CHAPTERS);
    Ok(found)
}

fn curriculum(roots: &Roots) -> Result<Option<Bundle>, Error> {
    let root = roots.curriculum.as_ref();
    Ok(root.map(|root| Bundle::open(root)).transpose()?.flatten())
}

fn course(bundle: &Bundle, folder: &Path, name: &str) -> Result<CourseInfo, Error> {
    // A course with a broken description is still a course.
    let about = about(bundle, folder).unwrap_or_default();
    let mut chapters = in_folder(bundle, &folder.join("chapters"), Some(name))?;
    let order = yaml::texts(&about, &["chapters"]);
    let rank = |chapter: &ChapterInfo| {
        let given = order.iter().position(|name| *name == chapter.name);
        given.unwrap_or(order.len())
    };
    chapters.sort_by_key(rank);
    Ok(CourseInfo {
        course_id: name.to_owned(),
        title: yaml::text(&about, &["title", "name"]).unwrap_or_else(|| name.to_owned()),
        description: yaml::text(&about, &["description", "summary"]).unwrap_or_default(),
        chapters,
    })
}

/// What a course says of itself in `course.yaml` or `course.json`.
pub(crate) fn about(bundle: &Bundle, folder: &Path) -> Result<Map<String, Value>, Error> {
    for name in ["course.yaml", "course.json"] {
        let Some(found) = bundle.text(&folder.join(name))? else {
            continue;
        };
        // JSON is YAML, too.
        return match yaml::parse(&found.path, &found.text, 1)? {
            Value::Object(fields) => Ok(fields),
            Value::Null => Ok(Map::new()),
            _ => {
                let message = "this is a map with `title`, `description` and `chapters`";
                Err(Error::invalid(&found.path, Some(1), message))
            }
        };
    }
    Ok(Map::new())
}

fn in_folder(
    bundle: &Bundle,
    folder: &Path,
    course: Option<&str>,
) -> Result<Vec<ChapterInfo>, Error> {
    let mut found = Vec::new();
    for item in bundle.list(folder)? {
        let place = ChapterFolder {
            bundle: bundle.clone(),
            folder: folder.join(&item.name),
        };
        if item.is_folder && is_plain(&item.name) && place.has_chapter()? {
            found.push(info(&place, &item.name, course));
        }
    }
    Ok(found)
}

/// What a list says of a chapter. One that cannot be read is listed, too: whoever begins a
/// session on it learns why.
fn info(place: &ChapterFolder, name: &str, course: Option<&str>) -> ChapterInfo {
    let text = |file: &str| place.text(file).ok().flatten().map(|found| found.text);
    let title = text("chapter_context.md").and_then(|text| title(&text));
    let id = course.map_or_else(
        || PathBuf::from(name),
        |course| Path::new(course).join(name),
    );
    ChapterInfo {
        chapter_id: id.to_string_lossy().into_owned(),
        name: name.to_owned(),
        course_id: course.map(str::to_owned),
        title: title.unwrap_or_else(|| name.to_owned()),
        tasks: text("task_list.md").map_or(0, |text| tasks::parse(&text).0.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Tree, chapter};

    fn roots(tree: &Tree) -> Roots {
        Roots {
            curriculum: Some(tree.path("")),
            ..Roots::default()
        }
    }

    #[test]
    fn courses_and_chapters_are_listed_with_their_titles() {
        let tree = Tree::new();
        chapter(&tree, "courses/py/chapters/b", "B");
        chapter(&tree, "courses/py/chapters/a", "A");
        chapter(&tree, "content/curriculum/courses/zoo/chapters/x", "X");
        chapter(&tree, "content/curriculum/courses/py/chapters/hidden", "no");
        chapter(&tree, "loose", "Loose");
        chapter(&tree, "content/more", "More");
        tree.write("courses/py/course.yaml", "title: Python\nchapters: [b]\n");
        tree.write("courses/odd name/chapters/x/task_list.md", "");
        tree.write("courses/bad/course.json", "{");
        let found = courses(&roots(&tree)).unwrap();
        let shown: Vec<_> = found
            .iter()
            .map(|course| (course.course_id.as_str(), course.title.as_str()))
            .collect();
        assert_eq!(shown, [("bad", "bad"), ("py", "Python"), ("zoo", "zoo")]);
        let all = chapters(&roots(&tree), None).unwrap();
        let shown: Vec<_> = all
            .iter()
            .map(|chapter| (chapter.chapter_id.as_str(), chapter.title.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                ("py/b", "B"),
                ("py/a", "A"),
                ("zoo/x", "X"),
                ("loose", "Loose"),
                ("more", "More")
            ]
        );
        assert_eq!((all[0].tasks, all[0].course_id.as_deref()), (2, Some("py")));
        assert_eq!(chapters(&roots(&tree), Some("py")).unwrap().len(), 2);
        let error = chapters(&roots(&tree), Some("none")).unwrap_err();
        assert_eq!(error.status(), 404);
        assert_eq!(
            chapters(&roots(&tree), Some("..")).unwrap_err().status(),
            400
        );
        assert_eq!(courses(&Roots::default()).unwrap(), []);
    }
}

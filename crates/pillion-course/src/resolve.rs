//! Finding a chapter by its id.

use std::path::{Path, PathBuf};

use crate::chapter::{self, ChapterFolder, ChapterFolders};
use crate::files::Bundle;
use crate::{Bundles, Chapter, ChapterId, Error, Roots, id, registry};

/// Where a folder may keep its courses.
pub(crate) const COURSES: [&str; 2] = ["courses", "content/curriculum/courses"];
/// Where a folder may keep chapters that belong to no course.
pub(crate) const LOOSE: [&str; 2] = ["", "content"];

/// Find a chapter and read all of it.
///
/// With a chapter bundle it is looked for there and nowhere else: a bundle that does not have
/// it is an error, not a reason to teach something else. Without one it is looked for in the
/// curriculum.
pub fn resolve(roots: &Roots, id: &ChapterId, bundles: &Bundles) -> Result<Chapter, Error> {
    let scope = bundles
        .course_id
        .as_deref()
        .filter(|course| !course.is_empty());
    if let Some(course) = scope {
        id::check("course", course)?;
    }
    let course = id.course().or(scope);
    let (root, whole) = match (&bundles.chapter, &roots.curriculum) {
        (Some(bundle), _) => (bundle, true),
        (None, Some(curriculum)) => (curriculum, false),
        (None, None) => return Err(unknown(id, Vec::new())),
    };
    let Some(bundle) = Bundle::open(root)? else {
        return Err(unknown(id, vec![root.clone()]));
    };
    let chapter = own_places(&bundle, id, course, whole)?;
    let registry = registry(roots, bundles)?;
    let mut warnings = registry.warnings.clone();
    let mut shared = |path: &Option<PathBuf>| -> Result<Option<ChapterFolder>, Error> {
        let Some(path) = path else { return Ok(None) };
        let bundle = Bundle::open(path)?;
        if bundle.is_none() {
            warnings.push(format!("the folder `{}` does not exist", path.display()));
        }
        let folder = PathBuf::new();
        Ok(bundle.map(|bundle| ChapterFolder { bundle, folder }))
    };
    let places = ChapterFolders {
        chapter,
        agents: [shared(&bundles.app_agents)?, shared(&roots.agents)?]
            .into_iter()
            .flatten()
            .collect(),
        templates: shared(&roots.templates)?.into_iter().collect(),
    };
    let mut chapter = chapter::read(id, &places, &registry)?;
    warnings.append(&mut chapter.warnings);
    chapter.warnings = warnings;
    Ok(chapter)
}

fn unknown(id: &ChapterId, looked: Vec<PathBuf>) -> Error {
    Error::NotFound {
        what: format!("chapter `{id}`"),
        looked,
    }
}

/// The places for the chapter's own files. At least one of them has a chapter.
fn own_places(
    bundle: &Bundle,
    id: &ChapterId,
    course: Option<&str>,
    whole: bool,
) -> Result<Vec<ChapterFolder>, Error> {
    let place = |folder: PathBuf| ChapterFolder {
        bundle: bundle.clone(),
        folder,
    };
    let mut places: Vec<ChapterFolder> = Vec::new();
    if let Some(course) = course {
        let folders = COURSES
            .iter()
            .map(|courses| in_course(courses, course, id.name()));
        places.extend(folders.map(place));
    }
    let loose = LOOSE.iter().map(|folder| Path::new(folder).join(id.name()));
    places.extend(loose.map(place));
    if course.is_none() && !any(&places)? {
        places.extend(only_course(bundle, id.name())?);
    }
    // A bundle can be the chapter itself; the whole curriculum is none.
    if whole {
        places.push(place(PathBuf::new()));
    }
    match any(&places)? {
        true => Ok(places),
        false => Err(unknown(
            id,
            places.iter().map(ChapterFolder::shown).collect(),
        )),
    }
}

fn any(places: &[ChapterFolder]) -> Result<bool, Error> {
    for place in places {
        if place.has_chapter()? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn in_course(courses: &str, course: &str, name: &str) -> PathBuf {
    Path::new(courses).join(course).join("chapters").join(name)
}

/// The place of a chapter whose course was not named, if only one course has it.
fn only_course(bundle: &Bundle, name: &str) -> Result<Option<ChapterFolder>, Error> {
    let mut found: Vec<(String, ChapterFolder)> = Vec::new();
    for courses in COURSES {
        for course in bundle.list(Path::new(courses))? {
            let place = ChapterFolder {
                bundle: bundle.clone(),
                folder: in_course(courses, &course.name, name),
            };
            let new = !found.iter().any(|(known, _)| *known == course.name);
            if new && place.has_chapter()? {
                found.push((course.name, place));
            }
        }
    }
    if found.len() > 1 {
        return Err(Error::Ambiguous {
            name: name.to_owned(),
            courses: found.into_iter().map(|(course, _)| course).collect(),
        });
    }
    Ok(found.pop().map(|(_, place)| place))
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;

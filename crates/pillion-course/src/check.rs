//! Telling authors what is wrong with a course, a chapter or an expert, by file and line.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::chapter::{
    self, ChapterFolder, NO_TASKS, OPTIONAL, PLACEHOLDERS, PROMPTS, REQUIRED, is_solution,
    placeholders,
};
use crate::experts::{self, FOLDERS, PAGE, PRINCIPLES};
use crate::files::{Bundle, DATASET_BYTES, Item, SCRIPT_BYTES, Text};
use crate::resolve::{COURSES, LOOSE};
use crate::title::title;
use crate::{CopiedFile, Error, ExpertRegistry, is_plain, listing, tasks, yaml};

/// Problems of one report.
const MOST_PROBLEMS: usize = 1000;
/// What a learner can open and save in a workspace.
const EDITABLE: [&str; 4] = ["py", "ipynb", "txt", "md"];

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentSeverity {
    /// A session cannot begin, or does something else than is written.
    Error,
    /// A session goes on without what is written here.
    Warning,
    /// Something to know.
    Note,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContentProblem {
    /// The file or folder.
    pub path: PathBuf,
    /// Its line, counted from 1, if it is one line's fault.
    pub line: Option<usize>,
    /// How bad it is.
    pub severity: ContentSeverity,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ContentReport {
    /// What is wrong, by file and line.
    pub problems: Vec<ContentProblem>,
    /// Courses that were looked at.
    pub courses: usize,
    /// Chapters that were looked at.
    pub chapters: usize,
    /// Experts that were looked at.
    pub experts: usize,
}

impl ContentReport {
    /// How many problems are of this kind.
    pub fn count(&self, severity: ContentSeverity) -> usize {
        let same = |problem: &&ContentProblem| problem.severity == severity;
        self.problems.iter().filter(same).count()
    }
}

/// Look at all of a course folder, a single course, a chapter or an expert.
///
/// Which one it is follows from what is in it: `principles.md` makes an expert, one of the
/// required files a chapter, `chapters/` a course, and `courses/` or `experts/` a folder of
/// them. The experts that a chapter names are looked for beside its course.
pub fn check(path: &Path) -> ContentReport {
    let mut check = Check::default();
    if let Err(error) = check.folder(path) {
        check.error(path, &error);
    }
    let mut report = check.report;
    report.problems.sort_by(|a, b| {
        let key = |problem: &ContentProblem| (problem.path.clone(), problem.line, problem.severity);
        key(a).cmp(&key(b))
    });
    report.problems.dedup();
    report
}

#[derive(Default)]
struct Check {
    report: ContentReport,
    /// The experts beside the course; `None` if there is no such folder.
    experts: Option<ExpertRegistry>,
}

impl Check {
    fn tell(
        &mut self,
        severity: ContentSeverity,
        path: &Path,
        line: Option<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        if self.report.problems.len() < MOST_PROBLEMS {
            self.report.problems.push(ContentProblem {
                path: path.to_owned(),
                line,
                severity,
                message: message.into(),
                hint: hint.into(),
            });
        }
    }

    fn error(&mut self, path: &Path, error: &Error) {
        let (path, line, message, hint) = match error {
            Error::Invalid {
                path,
                line,
                message,
            } => (path.as_path(), *line, message.clone(), String::new()),
            Error::TooLarge { limit, unit, .. } => (
                error.path().unwrap_or(path),
                None,
                format!("this is too large: at most {limit} {unit} are read"),
                "make it smaller, or split it".into(),
            ),
            other => (
                other.path().unwrap_or(path),
                None,
                other.to_string(),
                other.hint(),
            ),
        };
        self.tell(ContentSeverity::Error, path, line, message, hint);
    }

    /// The value, or nothing and a problem.
    fn get<T>(&mut self, path: &Path, result: Result<T, Error>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.error(path, &error);
                None
            }
        }
    }

    fn folder(&mut self, path: &Path) -> Result<(), Error> {
        if Bundle::open(path)?.is_none() {
            let hint = "`pillion course new` makes a course";
            self.tell(
                ContentSeverity::Error,
                path,
                None,
                "there is no such folder",
                hint,
            );
            return Ok(());
        }
        // Links may lead to anywhere in the course that the folder is part of.
        let (root, below) = surroundings(path);
        let Some(bundle) = Bundle::open(&root)? else {
            return Ok(());
        };
        self.find_experts(&bundle)?;
        let place = ChapterFolder {
            bundle: bundle.clone(),
            folder: below.clone(),
        };
        if bundle.find(&below.join(PRINCIPLES))?.is_some() {
            self.expert(&bundle, &below);
        } else if place.has_chapter()? {
            self.chapter(&place);
        } else if bundle.has_folder(&below.join("chapters"))? {
            self.course(&bundle, &below)?;
        } else {
            self.all(&bundle, &below)?;
        }
        Ok(())
    }

    fn find_experts(&mut self, bundle: &Bundle) -> Result<(), Error> {
        for folder in &FOLDERS[1..] {
            if bundle.has_folder(Path::new(folder))? {
                let registry = self.experts.get_or_insert_default();
                // What is wrong with an expert is told where the expert is looked at.
                let _ = registry.add_entries(bundle, Path::new(folder));
            }
        }
        Ok(())
    }

    /// A folder of courses, loose chapters and experts.
    fn all(&mut self, bundle: &Bundle, below: &Path) -> Result<(), Error> {
        for courses in COURSES {
            let folder = below.join(courses);
            for item in folders(bundle, &folder)? {
                self.plain(bundle, &folder, &item, "course");
                self.course(bundle, &folder.join(&item.name))?;
            }
        }
        for loose in LOOSE {
            let folder = below.join(loose);
            for item in folders(bundle, &folder)? {
                let place = ChapterFolder {
                    bundle: bundle.clone(),
                    folder: folder.join(&item.name),
                };
                if place.has_chapter()? {
                    self.plain(bundle, &folder, &item, "chapter");
                    self.chapter(&place);
                }
            }
        }
        for name in FOLDERS {
            let folder = below.join(name);
            if let Some(page) = bundle.text(&folder.join(PAGE))? {
                let read = experts::page(&page);
                if let Some((_, flaws)) = self.get(&page.path, read) {
                    for flaw in flaws {
                        self.tell(ContentSeverity::Error, &page.path, None, flaw, "");
                    }
                }
            }
            for item in folders(bundle, &folder)? {
                let own = folder.join(&item.name);
                // In a folder for experts everything should be one.
                let is_expert = bundle.find(&own.join(PRINCIPLES))?.is_some();
                if is_expert || !name.is_empty() {
                    self.expert(bundle, &own);
                }
            }
        }
        let report = &self.report;
        if report.courses + report.chapters + report.experts == 0 {
            let path = bundle.shown(below);
            let message = "there is neither a course, nor a chapter, nor an expert";
            let hint = "a chapter is in `courses/COURSE/chapters/CHAPTER`, and has \
                        `chapter_context.md`, `task_list.md` and `task_completion_principles.md`";
            self.tell(ContentSeverity::Error, &path, None, message, hint);
        }
        Ok(())
    }

    /// Names of folders are ids.
    fn plain(&mut self, bundle: &Bundle, folder: &Path, item: &Item, what: &str) {
        if !is_plain(&item.name) {
            let path = bundle.shown(&folder.join(&item.name));
            let message = format!("`{}` cannot be the id of a {what}", item.name);
            let hint = "name it with letters, digits, `_`, `-` and `.`";
            self.tell(ContentSeverity::Error, &path, None, message, hint);
        }
    }

    fn course(&mut self, bundle: &Bundle, folder: &Path) -> Result<(), Error> {
        self.report.courses += 1;
        let path = bundle.shown(folder);
        let chapters = folder.join("chapters");
        let found = folders(bundle, &chapters)?;
        if found.is_empty() {
            let hint = "make one in `chapters/`";
            self.tell(
                ContentSeverity::Error,
                &path,
                None,
                "the course has no chapter",
                hint,
            );
        }
        let read = listing::about(bundle, folder);
        if let Some(about) = self.get(&path, read) {
            for name in yaml::texts(&about, &["chapters"]) {
                if !found.iter().any(|item| item.name == name) {
                    let file = ["course.yaml", "course.json"]
                        .into_iter()
                        .find_map(|file| bundle.text(&folder.join(file)).ok().flatten());
                    let line = file
                        .as_ref()
                        .and_then(|file| yaml::line_of(&file.text, &name));
                    let path = file.map_or_else(|| path.clone(), |file| file.path);
                    let message = format!("the course has no chapter `{name}`");
                    let hint = "`chapters` is the order of the folders in `chapters/`";
                    self.tell(ContentSeverity::Error, &path, line, message, hint);
                }
            }
        }
        for item in found {
            self.plain(bundle, &chapters, &item, "chapter");
            self.chapter(&ChapterFolder {
                bundle: bundle.clone(),
                folder: chapters.join(&item.name),
            });
        }
        Ok(())
    }

    fn chapter(&mut self, place: &ChapterFolder) {
        self.report.chapters += 1;
        let folder = place.shown();
        for name in REQUIRED {
            let path = folder.join(name);
            let read = place.text(name);
            let Some(found) = self.get(&path, read) else {
                continue;
            };
            match found {
                None => {
                    let message = format!("`{name}` is missing");
                    self.tell(ContentSeverity::Error, &path, None, message, purpose(name));
                }
                Some(found) if found.text.trim().is_empty() => {
                    let message = "this is empty";
                    self.tell(
                        ContentSeverity::Error,
                        &found.path,
                        None,
                        message,
                        purpose(name),
                    );
                }
                Some(found) if name == "task_list.md" => self.tasks(&found),
                Some(found) if name == "chapter_context.md" => {
                    if title(&found.text).is_none() {
                        let hint = "begin with `# Title`";
                        let message = "there is no heading to take the title from";
                        self.tell(ContentSeverity::Warning, &found.path, None, message, hint);
                    }
                }
                Some(_) => {}
            }
        }
        for name in OPTIONAL {
            let path = folder.join(name);
            let read = place.text(name);
            let found = self.get(&path, read).flatten();
            if let Some(found) = found.filter(|_| name == "consultation_config.yaml") {
                self.consultation(&found);
            }
        }
        for name in PROMPTS {
            let path = folder.join(name);
            let read = place.text(name);
            if let Some(Some(found)) = self.get(&path, read) {
                self.prompt(&found);
            }
        }
        self.names(place);
        self.sources(place, "scripts", SCRIPT_BYTES);
        self.sources(place, "datasets", DATASET_BYTES);
    }

    fn tasks(&mut self, list: &Text) {
        let (found, again) = tasks::parse(&list.text);
        if found.is_empty() {
            let hint = "a task is a line like `- **read_file** Read the table from its file`";
            self.tell(ContentSeverity::Error, &list.path, None, NO_TASKS, hint);
        }
        for line in tasks::almost(&list.text) {
            let (line, message) = (Some(line), "this looks like a task, and is none");
            let hint = "a task is a line like `- **read_file** Read the table from its file`";
            self.tell(ContentSeverity::Warning, &list.path, line, message, hint);
        }
        for task in again {
            let (line, message) = (Some(task.line), chapter::twice(&task.id));
            let hint = "ids are unique in a chapter: rename one";
            self.tell(ContentSeverity::Error, &list.path, line, message, hint);
        }
    }

    fn consultation(&mut self, source: &Text) {
        let read = chapter::consultation_config(source);
        let Some((found, flaws)) = self.get(&source.path, read) else {
            return;
        };
        for (line, message) in flaws {
            let hint = "`pillion course new DIR` makes a course that is right, to compare with";
            self.tell(ContentSeverity::Error, &source.path, line, message, hint);
        }
        for id in &found.available_experts {
            let line = yaml::line_of(&source.text, id);
            let message = format!("there is no expert `{id}`");
            match &self.experts {
                Some(known) if known.get(id).is_some() => {}
                Some(known) => {
                    let ids: Vec<String> = known
                        .entries()
                        .map(|entry| format!("`{}`", entry.id))
                        .collect();
                    let hint = format!("the experts beside the course are {}", ids.join(", "));
                    self.tell(ContentSeverity::Error, &source.path, line, message, hint);
                }
                None => {
                    let message = format!("{message} beside the course");
                    let hint = "whoever starts sessions must bring it: `EXPERTS_DIR`";
                    self.tell(ContentSeverity::Warning, &source.path, line, message, hint);
                }
            }
        }
        for rule in &found.binding_rules {
            if !found.available_experts.contains(&rule.expert_id) {
                let id = &rule.expert_id;
                let line = yaml::line_of(&source.text, id);
                let message = format!("the rule's expert `{id}` is not available");
                let hint = "add it to `available_experts`";
                self.tell(ContentSeverity::Error, &source.path, line, message, hint);
            }
        }
    }

    fn prompt(&mut self, found: &Text) {
        for (line, name) in placeholders(&found.text) {
            if !PLACEHOLDERS.contains(&name) {
                let message = format!("there is no placeholder `{{{{{name}}}}}`");
                let hint = format!("known are: {}", PLACEHOLDERS.join(", "));
                self.tell(
                    ContentSeverity::Error,
                    &found.path,
                    Some(line),
                    message,
                    hint,
                );
            }
        }
    }

    /// Files that nobody reads are most likely misspelt.
    fn names(&mut self, place: &ChapterFolder) {
        let known = |name: &str| {
            let mut all = REQUIRED.iter().chain(&OPTIONAL).chain(&PROMPTS);
            all.any(|known| *known == name)
        };
        let folder = place.folder.join("prompts");
        let shown = place.bundle.shown(&folder);
        let read = place.bundle.each(&folder);
        for item in self.get(&shown, read).unwrap_or_default() {
            let Some(item) = self.get(&shown, item) else {
                continue;
            };
            let path = shown.join(&item.name);
            if !known(&item.name) {
                let message = "nothing reads a file of this name";
                let hint = format!("prompts are {}", PROMPTS.join(", "));
                self.tell(ContentSeverity::Warning, &path, None, message, hint);
            }
            let other = place.folder.join(&item.name);
            if known(&item.name) && place.bundle.find(&other).is_ok_and(|found| found.is_some()) {
                let path = place.bundle.shown(&other);
                let message = format!("this is never read: `prompts/{}` is", item.name);
                self.tell(
                    ContentSeverity::Warning,
                    &path,
                    None,
                    message,
                    "remove one of them",
                );
            }
        }
    }

    fn sources(&mut self, place: &ChapterFolder, name: &str, limit: u64) {
        let folder = place.folder.join(name);
        let shown = place.bundle.shown(&folder);
        let read = place.bundle.each(&folder);
        for item in self.get(&shown, read).unwrap_or_default() {
            let Some(item) = self.get(&shown, item) else {
                continue;
            };
            let path = shown.join(&item.name);
            if item.is_folder {
                let hint = format!("put its files into `{name}/` itself");
                let message = "this folder is left out";
                self.tell(ContentSeverity::Warning, &path, None, message, hint);
                continue;
            }
            if is_solution(&item.name) {
                let message = "this is kept from learners";
                self.tell(ContentSeverity::Note, &path, None, message, "");
                continue;
            }
            let ending = Path::new(&item.name)
                .extension()
                .and_then(|ending| ending.to_str());
            if name == "scripts" && !ending.is_some_and(|ending| EDITABLE.contains(&ending)) {
                let message = "learners cannot open a file of this kind in their workspace";
                let hint = "they can open .py, .ipynb, .txt and .md; data go to `datasets/`";
                self.tell(ContentSeverity::Warning, &path, None, message, hint);
            }
            let read = CopiedFile::of(&shown, item, limit);
            self.get(&path, read);
        }
    }

    fn expert(&mut self, bundle: &Bundle, folder: &Path) {
        self.report.experts += 1;
        let path = bundle.shown(folder);
        let file = path.join(PRINCIPLES);
        let read = experts::principles(bundle, folder);
        if let Some(found) = self.get(&file, read) {
            if found.body.is_empty() {
                let hint = "say how the expert works, and what it never does";
                self.tell(
                    ContentSeverity::Error,
                    &file,
                    None,
                    "there are no principles",
                    hint,
                );
            }
            let hint = "begin with `---`, lines `expert_id`, `title` and `description`, and `---`";
            if !found.present {
                let message = "there are no metadata";
                self.tell(ContentSeverity::Warning, &file, Some(1), message, hint);
            } else if yaml::text(&found.fields, &["description", "summary"]).is_none() {
                let message = "the metadata have no `description`, by which experts are chosen";
                self.tell(
                    ContentSeverity::Warning,
                    &file,
                    Some(found.line),
                    message,
                    hint,
                );
            }
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            let id = yaml::text(&found.fields, &["expert_id", "id"]);
            if let Some(id) = id.filter(|id| id != name || !is_plain(id)) {
                let severity = match is_plain(&id) {
                    true => ContentSeverity::Warning,
                    false => ContentSeverity::Error,
                };
                let message = format!("the id `{id}` is not the name of the folder, `{name}`");
                let hint = "they should be the same: letters, digits, `_`, `-` and `.`";
                self.tell(severity, &file, Some(found.line), message, hint);
            }
        }
        let read = experts::sources(bundle, folder, "knowledge", usize::MAX);
        for source in self.get(&path, read).unwrap_or_default() {
            let read = experts::markdown(bundle, folder, &source);
            self.get(&path.join(&source.name), read);
        }
        let read = experts::sources(bundle, folder, "skills", usize::MAX);
        for source in self.get(&path, read).unwrap_or_default() {
            let file = path.join(&source.name);
            let read = experts::markdown(bundle, folder, &source);
            let Some(Some(text)) = self.get(&file, read) else {
                continue;
            };
            let read = experts::skill(bundle, folder, &text);
            let Some((skill, flaws)) = self.get(&file, read) else {
                continue;
            };
            for (line, message) in flaws {
                let hint =
                    "a skill has `name`, `description`, `python`, `auto`, `tools`, `parameters`";
                self.tell(ContentSeverity::Error, &file, line, message, hint);
            }
            if let Some(python) = skill.python {
                self.program(&path.join("skills"), &python);
            }
        }
    }

    /// A skill's program has a function `run`.
    fn program(&mut self, folder: &Path, python: &Path) {
        let path = folder.join(python.file_name().unwrap_or_default());
        let read = crate::files::read_bytes(python, SCRIPT_BYTES)
            .and_then(|bytes| crate::files::decode(&path, bytes));
        let Some(text) = self.get(&path, read) else {
            return;
        };
        let defines = |line: &str| {
            let name = line
                .strip_prefix("def ")
                .or_else(|| line.strip_prefix("async def "));
            name.is_some_and(|name| name.trim_start().starts_with("run("))
        };
        if !text.lines().any(defines) {
            let message = "there is no function `run`, which a skill is called by";
            let hint = "write `def run(**arguments):`";
            self.tell(ContentSeverity::Error, &path, None, message, hint);
        }
    }
}

/// What a required file is for.
fn purpose(name: &str) -> &'static str {
    match name {
        "chapter_context.md" => "it says what the chapter teaches, and begins with `# Title`",
        "task_list.md" => "it lists the tasks: lines like `- **id** what to do`",
        _ => "it says when a task counts as done",
    }
}

fn folders(bundle: &Bundle, folder: &Path) -> Result<Vec<Item>, Error> {
    let mut items = bundle.list(folder)?;
    items.retain(|item| item.is_folder);
    Ok(items)
}

/// The course folder that a folder is part of, and the way to the folder in it. What is part
/// of none is its own.
fn surroundings(path: &Path) -> (PathBuf, PathBuf) {
    let parts = |path: &Path| -> Option<(PathBuf, PathBuf)> {
        let named = |path: &Path, name: &str| path.file_name().is_some_and(|found| found == name);
        let above = |levels: usize| {
            path.ancestors().nth(levels).filter(|root| {
                // The empty path is no folder.
                !root.as_os_str().is_empty()
            })
        };
        let parent = path.parent()?;
        let root = if named(parent, "chapters") && named(above(3)?, "courses") {
            above(4)?
        } else if named(parent, "courses") || named(parent, "experts") {
            above(2)?
        } else {
            return None;
        };
        Some((root.to_owned(), path.strip_prefix(root).ok()?.to_owned()))
    };
    parts(path)
        .or_else(|| parts(&path.canonicalize().ok()?))
        .unwrap_or_else(|| (path.to_owned(), PathBuf::new()))
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;

//! `course.*`: what there is to learn, and help for those who write it.

use std::path::{Path, PathBuf};

use pillion_catalogue::{
    Code, Context, Error, Method, Offer, Operation, Result, Safety, Scope, commit, work,
};
use pillion_course::ContentSeverity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stable;
use crate::SessionService;

/// The title of a course that is given none.
const UNTITLED: &str = "A new course";

/// List the courses of the curriculum, with their chapters.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Courses {}

/// A course.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Course {
    /// Its id.
    pub course_id: String,
    /// Its title.
    pub title: String,
    /// What it is about.
    pub description: String,
    /// Its chapters, in their order.
    pub chapters: Vec<CourseChapter>,
}

/// A chapter of a course.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CourseChapter {
    /// What a session is begun with: `course/name`, or `name`.
    pub chapter_id: String,
    /// Its own name.
    pub name: String,
    /// Its course.
    pub course_id: Option<String>,
    /// Its title.
    pub title: String,
    /// How many tasks it has.
    pub tasks: usize,
}

/// The courses there are.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CourseList {
    /// All of them, by id.
    pub courses: Vec<Course>,
}

/// List the chapters of a course, or of all.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Chapters {
    /// Only those of this course.
    #[arg(value_name = "COURSE")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub course_id: Option<String>,
}

/// The chapters there are.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ChapterList {
    /// All of them, in the order of their courses.
    pub chapters: Vec<CourseChapter>,
}

/// Tell what is missing or wrong in a course, a chapter or an expert. Changes nothing.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct CheckCourse {
    /// Its folder.
    #[arg(value_name = "DIR")]
    pub path: PathBuf,
}

/// What a check found.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CourseReport {
    /// What is wrong, by file and line.
    pub problems: Vec<CourseProblem>,
    /// How many problems keep a session from going as it is written.
    pub errors: usize,
    /// Courses that were looked at.
    pub courses: usize,
    /// Chapters that were looked at.
    pub chapters: usize,
    /// Experts that were looked at.
    pub experts: usize,
}

/// Something that is wrong.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CourseProblem {
    /// The file or folder, from the folder that was checked.
    pub path: String,
    /// Its line, counted from 1, if it is one line's fault.
    pub line: Option<usize>,
    /// How bad it is: `error`, `warning` or `note`.
    pub severity: ProblemSeverity,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProblemSeverity {
    /// A session cannot begin, or does something else than is written.
    Error,
    /// A session goes on without what is written here.
    Warning,
    /// Something to know.
    Note,
}

/// Make a course with one chapter that can be tried at once.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct NewCourse {
    /// Its folder, which is empty or not there yet.
    #[arg(value_name = "DIR")]
    pub path: PathBuf,
    /// Its title.
    #[arg(long, value_name = "TITLE")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// A course that was made.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CourseMade {
    /// Its folder.
    pub path: String,
    /// The files in it, from there.
    pub files: Vec<String>,
}

impl Operation for Courses {
    const NAME: &'static str = "course.list";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.routes(&[stable(Method::Get, "/api/courses")]);
    type Service = SessionService;
    type Output = CourseList;

    fn text(result: &str) -> Option<String> {
        let list: CourseList = serde_json::from_str(result).ok()?;
        let courses = list.courses.iter().map(|course| {
            let mut text = format!("{}  {}", course.course_id, course.title);
            for chapter in &course.chapters {
                text += &format!("\n  {}  {}", chapter.chapter_id, chapter.title);
            }
            text
        });
        let text = courses.collect::<Vec<_>>().join("\n");
        Some(match text.is_empty() {
            true => "no courses; `CURRICULUM_DIR` names their folder".to_owned(),
            false => text,
        })
    }

    async fn run(self, cx: Context<SessionService>) -> Result<CourseList> {
        let roots = cx.service().roots(&cx);
        let found = work(move |_| pillion_course::courses(&roots)).await?;
        let courses = found.map_err(|error| refused(&error))?;
        let course = |course: pillion_course::CourseInfo| Course {
            course_id: course.course_id,
            title: course.title,
            description: course.description,
            chapters: course.chapters.into_iter().map(Into::into).collect(),
        };
        Ok(CourseList {
            courses: courses.into_iter().map(course).collect(),
        })
    }
}

impl Operation for Chapters {
    const NAME: &'static str = "course.chapters";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.routes(&[
        stable(Method::Get, "/api/chapters"),
        stable(Method::Get, "/api/courses/{course_id}/chapters"),
    ]);
    type Service = SessionService;
    type Output = ChapterList;

    fn text(result: &str) -> Option<String> {
        let list: ChapterList = serde_json::from_str(result).ok()?;
        let chapters = list.chapters.iter();
        let chapters =
            chapters.map(|c| format!("{}  {} ({} tasks)", c.chapter_id, c.title, c.tasks));
        let text = chapters.collect::<Vec<_>>().join("\n");
        Some(match text.is_empty() {
            true => "no chapters; `CURRICULUM_DIR` names the folder of courses".to_owned(),
            false => text,
        })
    }

    async fn run(self, cx: Context<SessionService>) -> Result<ChapterList> {
        let roots = cx.service().roots(&cx);
        let found = work(move |_| pillion_course::chapters(&roots, self.course_id.as_deref()));
        let chapters = found.await?.map_err(|error| refused(&error))?;
        Ok(ChapterList {
            chapters: chapters.into_iter().map(Into::into).collect(),
        })
    }
}

impl Operation for CheckCourse {
    const NAME: &'static str = "course.check";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Folder;
    type Service = SessionService;
    type Output = CourseReport;

    fn is_failure(result: &str) -> bool {
        serde_json::from_str::<CourseReport>(result).is_ok_and(|report| report.errors > 0)
    }

    fn text(result: &str) -> Option<String> {
        let report: CourseReport = serde_json::from_str(result).ok()?;
        Some(drawn(&report))
    }

    async fn run(self, cx: Context<SessionService>) -> Result<CourseReport> {
        let path = cx.folder()?.join(&self.path);
        if !path.is_dir() {
            let message = format!("`{}` is no folder", path.display());
            return Err(Error::new(Code::NotFound, message)
                .hint("name the folder of a course, a chapter or an expert"));
        }
        work(move |_| {
            let report = pillion_course::check(&path);
            CourseReport {
                errors: report.count(ContentSeverity::Error),
                courses: report.courses,
                chapters: report.chapters,
                experts: report.experts,
                problems: report
                    .problems
                    .into_iter()
                    .map(|problem| CourseProblem {
                        path: within(&problem.path, &path),
                        line: problem.line,
                        severity: problem.severity.into(),
                        message: problem.message,
                        hint: problem.hint,
                    })
                    .collect(),
            }
        })
        .await
    }
}

impl Operation for NewCourse {
    const NAME: &'static str = "course.new";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Folder;
    type Service = SessionService;
    type Output = CourseMade;

    fn text(result: &str) -> Option<String> {
        let made: CourseMade = serde_json::from_str(result).ok()?;
        let mut text = String::new();
        for file in &made.files {
            text += &format!("made {file}\n");
        }
        text += &format!("try it: pillion chat --course {}", typed(&made.path));
        Some(text)
    }

    async fn run(self, cx: Context<SessionService>) -> Result<CourseMade> {
        let path = cx.folder()?.join(&self.path);
        let title = self.title.unwrap_or_else(|| UNTITLED.to_owned());
        commit(move || {
            let files = pillion_course::new(&path, &title).map_err(|error| refused(&error))?;
            Ok(CourseMade {
                files: files.iter().map(|file| within(file, &path)).collect(),
                path: path.display().to_string(),
            })
        })
        .await?
    }
}

impl From<pillion_course::ChapterInfo> for CourseChapter {
    fn from(chapter: pillion_course::ChapterInfo) -> Self {
        Self {
            chapter_id: chapter.chapter_id,
            name: chapter.name,
            course_id: chapter.course_id,
            title: chapter.title,
            tasks: chapter.tasks,
        }
    }
}

impl From<ContentSeverity> for ProblemSeverity {
    fn from(severity: ContentSeverity) -> Self {
        match severity {
            ContentSeverity::Error => Self::Error,
            ContentSeverity::Warning => Self::Warning,
            ContentSeverity::Note => Self::Note,
        }
    }
}

impl ProblemSeverity {
    fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A path as its author knows it.
fn within(path: &Path, folder: &Path) -> String {
    match path.strip_prefix(folder) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
        Ok(rest) => rest.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

/// A report as compilers write theirs, so that editors find the lines.
fn drawn(report: &CourseReport) -> String {
    let mut text = String::new();
    for problem in &report.problems {
        let line = problem
            .line
            .map_or_else(String::new, |line| format!(":{line}"));
        let word = problem.severity.word();
        text += &format!("{}{line}: {word}: {}\n", problem.path, problem.message);
        if !problem.hint.is_empty() {
            text += &format!("  hint: {}\n", problem.hint);
        }
    }
    let count = |severity: ProblemSeverity| {
        let same = report.problems.iter().filter(|p| p.severity == severity);
        let count = same.count();
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} {}{plural}", severity.word())
    };
    let seen = [
        (report.courses, "course"),
        (report.chapters, "chapter"),
        (report.experts, "expert"),
    ];
    let seen: Vec<String> = seen
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}{}", if count == 1 { "" } else { "s" }))
        .collect();
    let seen = match seen.is_empty() {
        true => "nothing".to_owned(),
        false => seen.join(", "),
    };
    text + &format!(
        "checked {seen}: {}, {}",
        count(ProblemSeverity::Error),
        count(ProblemSeverity::Warning)
    )
}

/// A path as one types it in a shell.
fn typed(path: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-".contains(letter);
    match path.chars().all(is_plain) {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

/// An error of content as callers get it.
fn refused(error: &pillion_course::Error) -> Error {
    use pillion_course::Error as Course;
    let code = match error {
        Course::NotFound { .. } => Code::NotFound,
        Course::NotEmpty { .. } => Code::Conflict,
        _ => Code::InvalidRequest,
    };
    Error::new(code, error.to_string()).hint(error.hint())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_can_be_pasted_into_a_shell() {
        assert_eq!(typed("/home/me/my-course_1.0"), "/home/me/my-course_1.0");
        assert_eq!(
            typed("/home/me/Eve's course"),
            r"'/home/me/Eve'\''s course'"
        );
    }

    #[test]
    fn a_report_reads_as_those_of_compilers_do() {
        let problem = |line, severity, message: &str, hint: &str| CourseProblem {
            path: "chapters/one/task_list.md".to_owned(),
            line,
            severity,
            message: message.to_owned(),
            hint: hint.to_owned(),
        };
        let report = CourseReport {
            problems: vec![
                problem(
                    None,
                    ProblemSeverity::Error,
                    "no tasks",
                    "write `- **id** ...`",
                ),
                problem(Some(3), ProblemSeverity::Warning, "odd", ""),
            ],
            errors: 1,
            courses: 1,
            chapters: 2,
            experts: 0,
        };
        assert_eq!(
            drawn(&report),
            "chapters/one/task_list.md: error: no tasks\n  hint: write `- **id** ...`\n\
             chapters/one/task_list.md:3: warning: odd\n\
             checked 1 course, 2 chapters: 1 error, 1 warning"
        );
        let json = serde_json::to_string(&report).unwrap();
        assert!(CheckCourse::is_failure(&json));
    }
}

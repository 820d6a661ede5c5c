//! What a chapter and an expert are once they have been read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::files::{self, Item};
use crate::{BindingRule, ChapterId, Error};

/// Folders of this machine that content is looked for in. Each may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roots {
    /// Courses and chapters (`CURRICULUM_DIR`).
    pub curriculum: Option<PathBuf>,
    /// Expert folders (`EXPERTS_DIR`).
    pub experts: Option<PathBuf>,
    /// Prompts and texts for all chapters (`MAIN_AGENTS_DIR`).
    pub agents: Option<PathBuf>,
    /// Texts for chapters that have none of their own (`CURRICULUM_TEMPLATES_DIR`).
    pub templates: Option<PathBuf>,
}

/// Folders that an application hands over for one session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bundles {
    /// Has the chapter: it is the chapter's folder, or a course is in it.
    pub chapter: Option<PathBuf>,
    /// Prompts and texts of the application, for all chapters.
    pub app_agents: Option<PathBuf>,
    /// Expert folders that chapters share.
    pub experts_shared: Option<PathBuf>,
    /// Folders of single experts, by their ids.
    pub experts: BTreeMap<String, PathBuf>,
    /// The course, where the chapter's id does not say it.
    pub course_id: Option<String>,
    /// What the application calls the chapter. It is kept, and nothing is looked for by it.
    pub scope_id: Option<String>,
}

/// All that a session needs of its chapter.
#[derive(Debug, Clone, PartialEq)]
pub struct Chapter {
    /// Its id, as it was asked for.
    pub id: ChapterId,
    /// The first heading of its context, else its name.
    pub title: String,
    /// Its folder: the first place that has one of the required files.
    pub folder: PathBuf,
    /// `chapter_context.md`: what it is about.
    pub context: String,
    /// `task_list.md`.
    pub task_list: String,
    /// The tasks in that list: at least one, and none twice.
    pub tasks: Vec<ChapterTask>,
    /// `task_completion_principles.md`: when a task counts as done.
    pub completion_principles: String,
    /// `interaction_protocol.md`, the chapter's or the global one.
    pub interaction_protocol: Option<String>,
    /// `socratic_vs_direct.md`, the chapter's or the global one.
    pub socratic_vs_direct: Option<String>,
    /// `consultation_config.yaml`.
    pub consultation: ConsultationRules,
    /// `consultation_guide.md`.
    pub consultation_guide: Option<String>,
    /// Prompts that override the shipped ones, by file name (see [`PROMPTS`](crate::PROMPTS)).
    pub prompts: BTreeMap<String, String>,
    /// Starter files for the session's workspace. `solution.py` is never among them.
    pub scripts: Vec<CopiedFile>,
    /// Files for the session's working files.
    pub datasets: Vec<CopiedFile>,
    /// Those of the available experts that were found and read.
    pub experts: Vec<Expert>,
    /// What was left out, and why: the session can go on without it.
    pub warnings: Vec<String>,
}

/// One task of a chapter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChapterTask {
    /// Its id, unique in the chapter.
    pub id: String,
    /// What stands behind the id, else the id.
    pub title: String,
    /// Its line in `task_list.md`, counted from 1.
    pub line: usize,
}

/// Which experts a chapter may ask, and what follows from it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConsultationRules {
    /// Their ids, as the chapter lists them. None but these may be asked.
    pub available_experts: Vec<String>,
    /// What is set in the packet after a consultation, in this order.
    pub binding_rules: Vec<BindingRule>,
}

/// A file that is copied as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CopiedFile {
    /// Its name; for files of experts the path below the expert's folder.
    pub name: String,
    /// Where it is, links resolved.
    pub path: PathBuf,
    /// Its length when it was found.
    pub size: u64,
}

impl CopiedFile {
    /// A file of a listing, if it is not too large.
    pub(crate) fn of(folder: &Path, item: Item, limit: u64) -> Result<Self, Error> {
        if item.size > limit {
            return Err(Error::TooLarge {
                path: folder.join(&item.name),
                limit,
                unit: "bytes",
            });
        }
        Ok(Self {
            name: item.name,
            path: item.path,
            size: item.size,
        })
    }
}

impl CopiedFile {
    /// Its content: a regular file of at most the size that such a file may have.
    pub fn read(&self) -> Result<Vec<u8>, Error> {
        files::read_bytes(&self.path, files::DATASET_BYTES)
    }
}

/// A specialist that can be asked during a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Expert {
    /// Its id.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// What it can be asked about.
    pub description: String,
    /// Its folder, links resolved.
    pub folder: PathBuf,
    /// `principles.md` without its metadata.
    pub principles: String,
    /// `knowledge/*.md`.
    pub knowledge: Vec<Document>,
    /// `skills/*.md`.
    pub skills: Vec<Skill>,
    /// The kinds of answer that it gives.
    pub output_types: Vec<String>,
    /// Situations that it is made for, as its metadata tell them.
    pub scenarios: Vec<Value>,
    /// All its metadata, also what is not known here.
    pub metadata: Map<String, Value>,
    /// All its files, which are kept together.
    pub files: Vec<CopiedFile>,
}

/// A text that an expert knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The file's name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Something that an expert can do.
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    /// Its name: that of its metadata, else of its file.
    pub name: String,
    /// What it does.
    pub description: String,
    /// How it is done, for the model.
    pub text: String,
    /// The Python file whose `run(**arguments)` does it, if it is done by a program.
    pub python: Option<PathBuf>,
    /// Whether the program runs first in every consultation, without being asked for.
    pub auto: bool,
    /// Tools of the host that the program may call.
    pub tools: Vec<String>,
    /// The JSON schema of the arguments.
    pub parameters: Option<Value>,
}

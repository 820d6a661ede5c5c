//! Making a session: its folder is whole when it has its name.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use pillion_agents::{MemoryState, Task, initial_packet, initial_state};
use pillion_catalogue::{Code, Error, Result};
use pillion_course::{Chapter, CopiedFile, Overlay};
use pillion_lanes::session;
use rustix::fs::{CWD, RenameFlags};
use serde::Serialize;

use crate::content;
use crate::context::DesktopContext;
use crate::files;
use crate::folder::{journal, names};
use crate::load::{self, DATA, Paths, Sources};

/// What a session is made of.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) id: String,
    pub(crate) chapter: Chapter,
    /// Where content is kept for sessions.
    pub(crate) overlays: PathBuf,
    pub(crate) context: Option<DesktopContext>,
    pub(crate) curriculum: Option<PathBuf>,
    pub(crate) backend_url: Option<String>,
}

/// Tasks of a chapter, as agents know them.
pub(crate) fn tasks(chapter: &Chapter) -> Vec<Task> {
    let tasks = chapter.tasks.iter().map(|task| Task {
        id: task.id.clone(),
        title: task.title.clone(),
    });
    tasks.collect()
}

/// A name for a session that has none.
pub(crate) fn new_id() -> Result<String> {
    let mut random = [0; 5];
    pillion_process::fill_random(&mut random).map_err(Error::internal)?;
    let time = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S");
    Ok(format!("{time}-{}", hex::encode(random)))
}

/// Whether a session may be called so.
pub(crate) fn check_new_id(id: &str) -> Result<()> {
    match session::check_id(id).is_ok() {
        true => Ok(()),
        false => {
            let shown: String = id.chars().take(128).collect();
            let what = format!("`{}` is no name for a session", shown.escape_debug());
            Err(Error::new(Code::InvalidRequest, what)
                .hint("letters, digits, `_`, `-` and `.`, at most 128"))
        }
    }
}

/// Make a session below `root`; says which files came with its chapter. A session that is there
/// already is a conflict.
pub(crate) fn create(root: &Path, plan: &Plan) -> Result<Sources> {
    let failed = |error: io::Error| {
        Error::new(
            Code::WriteFailed,
            format!("cannot make session `{}`: {error}", plan.id),
        )
        .hint("set `SESSIONS_DIR` to a folder that you can write")
    };
    session::passage(root).map_err(|error| failed(io::Error::other(error)))?;
    let taken = || {
        let what = format!("there is a session `{}` already", plan.id);
        Error::new(Code::Conflict, what).hint("take it up by `session.reattach`")
    };
    if root.join(&plan.id).symlink_metadata().is_ok() {
        return Err(taken());
    }
    // Named like the folder of a run: what a killed process left is swept with those.
    let staged = root.join(session::name_of_run());
    let made = fill(&staged, plan).and_then(|(sources, _overlay)| {
        sync_all(&staged)?;
        rustix::fs::renameat_with(
            CWD,
            &staged,
            CWD,
            root.join(&plan.id),
            RenameFlags::NOREPLACE,
        )?;
        fs::File::open(root)?.sync_all()?;
        Ok(sources)
    });
    made.map_err(|error| {
        session::remove(&staged);
        match error.kind() {
            io::ErrorKind::AlreadyExists => taken(),
            _ => failed(error),
        }
    })
}

fn fill(folder: &Path, plan: &Plan) -> io::Result<(Sources, Overlay)> {
    session::passage(folder).map_err(io::Error::other)?;
    let workspace = folder.join(session::WORKSPACE);
    let data = folder.join(names::WORKING_FILES);
    let mut private = fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
    for made in [&workspace, &data, &folder.join(names::TURNS)] {
        private.create(made)?;
    }
    let sources = Sources {
        workspace: copy(&plan.chapter.scripts, &workspace)?,
        datasets: copy(&plan.chapter.datasets, &data)?,
        ..Sources::default()
    };
    if !sources.datasets.is_empty() {
        copy(&plan.chapter.datasets, &workspace.join(DATA))?;
    }
    let overlay = content::keep(&plan.chapter, &plan.overlays).map_err(io::Error::other)?;
    let tasks = tasks(&plan.chapter);
    let state = initial_state(&plan.id, &plan.chapter.id.to_string(), &tasks);
    let packet = initial_packet(&tasks);
    let paths = Paths {
        created_at: Some(load::now()),
        overlay: Some(overlay.id().to_owned()),
        desktop_context: plan.context.clone(),
        curriculum: plan.curriculum.clone(),
        backend_url: plan.backend_url.clone(),
        seen_uploads: files::times(&data).map_err(io::Error::other)?,
        ..Paths::default()
    };
    write(folder, names::SOURCES, &sources)?;
    write(folder, names::PATHS, &paths)?;
    write(folder, names::MEMORY, &MemoryState::default())?;
    write(folder, names::PACKET, &packet)?;
    for name in [names::REPORT, names::EVENTS] {
        journal::private(&folder.join(name))?;
    }
    write(folder, names::STATE, &state)?;
    Ok((sources, overlay))
}

/// Copy files of a chapter; the names that they have now.
fn copy(files: &[CopiedFile], to: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::with_capacity(files.len());
    for file in files {
        let path = to.join(&file.name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, file.read().map_err(io::Error::other)?)?;
        names.push(file.name.clone());
    }
    Ok(names)
}

fn write(folder: &Path, name: &str, value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    journal::private(&folder.join(name))?.write_all(&text)
}

/// What a session is made of is on the disk before it has its name.
fn sync_all(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => sync_all(&entry.path())?,
            false => fs::File::open(entry.path())?.sync_all()?,
        }
    }
    fs::File::open(folder)?.sync_all()
}

//! From file to file in C: which file an include means, and all that a file includes.

use std::collections::{BTreeSet, HashSet};

use super::super::modules::folder;
use super::codebase::{Codebase, FileId};
use super::paths::joined;

/// Files that a header may include, through others.
const MAX_INCLUDED: usize = 2_000;

/// What a file of C includes, through others.
#[derive(Debug)]
pub(super) struct Included {
    pub(super) files: BTreeSet<FileId>,
    /// The functions that are declared there.
    pub(super) declared: HashSet<Box<str>>,
}

impl Included {
    /// A file with all that it includes.
    pub(super) fn by(codebase: &Codebase, file: FileId) -> Self {
        let mut found = Self {
            files: BTreeSet::from([file]),
            declared: HashSet::new(),
        };
        let mut open = vec![file];
        while let Some(next) = open.pop().filter(|_| found.files.len() < MAX_INCLUDED) {
            let Some(outlined) = codebase.file(next) else {
                continue;
            };
            let names = outlined.outline.exports.iter();
            found
                .declared
                .extend(names.map(|export| export.name.clone()));
            for import in &outlined.outline.imports {
                let target = header(codebase, next, &import.module);
                open.extend(target.filter(|target| found.files.insert(*target)));
            }
        }
        found
    }
}

/// The file that an include means: beside the one who includes, or the only one whose
/// path ends so.
pub(super) fn header(codebase: &Codebase, file: FileId, module: &str) -> Option<FileId> {
    let module = module.trim_matches(['<', '>']);
    let from = codebase.file(file).map_or("", |outlined| outlined.path());
    let beside = joined(folder(from), module).and_then(|path| codebase.at(&path));
    if beside.is_some() {
        return beside;
    }
    let name = module.rsplit('/').next().unwrap_or(module);
    let ends = |id: &&FileId| {
        let path = codebase.file(**id).map_or("", |outlined| outlined.path());
        let before = path.strip_suffix(module);
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    let mut all = codebase.called(name).iter().filter(ends);
    match (all.next(), all.next()) {
        (Some(one), None) => Some(*one),
        _ => None,
    }
}

//! `map.structure`: what is in a project, file by file.

use std::path::PathBuf;

use pillion_catalogue::{
    Context, Error, Offer, Operation, Profile, Result, Safety, Scope, wanted, work_unless,
};
use pillion_index::answers::Answer;
use pillion_index::language::{Language, Precision};
use pillion_index::text::{Text, shown};
use pillion_index::{Facts, Import, Kind};
use pillion_map::{DefKind, Outline};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{below, is_below, opened};
use crate::CodeService;
use crate::params::MAX_LIMIT;

/// Files that are given unless a request says otherwise.
const FILES: usize = 100;

/// Show what is in a project: the functions, classes and imports of each file.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Structure {
    /// Only this file or folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// At most so many files.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_results: Option<usize>,
    /// The project: a folder.
    #[arg(long, value_name = "DIR")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// The language.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
}

/// What is in a project.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Structured {
    /// The project's folder.
    pub root: String,
    /// The language.
    pub language: Language,
    /// How its definitions are found, in languages other than Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// The files, sorted by path.
    pub files: Vec<StructuredFile>,
    /// How many files there are.
    pub total: usize,
    /// Whether `max_results` cut some off.
    pub truncated: bool,
    /// The moment this is true for.
    pub clock: String,
}

/// What is in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StructuredFile {
    /// The file, relative to the project.
    pub path: String,
    /// Its functions, without methods.
    pub functions: Vec<String>,
    /// Its classes; in other languages also structs, interfaces, traits and enums.
    pub classes: Vec<String>,
    /// The modules it imports; in other
    /// languages as they write it.
    pub imports: Vec<String>,
}

impl Operation for Structure {
    const NAME: &'static str = "map.structure";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .tool("code_structure", 4)
        .contract(Profile::Minimal)
        .old("structure", &[]);
    type Service = CodeService;
    type Output = Answer<Structured>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Structured>> {
        let (view, language) =
            opened(&cx, self.project.as_ref(), self.language, cx.caller()).await?;
        let only = below(&view, self.path.as_deref())?;
        let most = self.max_results.unwrap_or(FILES).min(MAX_LIMIT);
        let map = match language {
            Language::Python => None,
            other => Some(view.language_map(other).await?),
        };
        let index = view.index.clone();
        let list = work_unless(most <= FILES, move |token| {
            let mut listed = Listed {
                only: &only,
                most,
                files: Vec::new(),
                total: 0,
            };
            match map {
                None => {
                    for (path, facts) in index.iter() {
                        wanted(token)?;
                        listed.add(path, || structured(path, facts));
                    }
                }
                Some(map) => {
                    for (path, file) in map.files.iter() {
                        wanted(token)?;
                        listed.add(path, || outlined(path, &file.outline));
                    }
                }
            }
            Ok::<_, Error>((listed.files, listed.total))
        });
        let (files, total) = list.await??;
        let structure = Structured {
            root: view.root().display().to_string(),
            language,
            precision: language.precision(),
            truncated: files.len() < total,
            files,
            total,
            clock: view.clock(),
        };
        Ok(Answer::one(structure, view.unread()).in_format(cx.caller().format()))
    }
}

/// The files that are given, and how many there are.
struct Listed<'a> {
    only: &'a str,
    most: usize,
    files: Vec<StructuredFile>,
    total: usize,
}

impl Listed<'_> {
    fn add(&mut self, path: &str, make: impl FnOnce() -> StructuredFile) {
        if is_below(path, self.only) {
            self.total += 1;
            if self.files.len() < self.most {
                self.files.push(make());
            }
        }
    }
}

fn outlined(path: &str, outline: &Outline) -> StructuredFile {
    let named = |kind: DefKind| {
        let mut names: Vec<String> = Vec::new();
        for (id, def) in (0..).zip(&outline.defs) {
            let is_top = def.owner.is_none() && outline.is_top(id);
            // Overloads are one.
            if def.kind == kind && is_top && !names.iter().any(|name| **name == *def.name) {
                names.push(def.name.to_string());
            }
        }
        names
    };
    StructuredFile {
        path: path.to_owned(),
        functions: named(DefKind::Function),
        classes: named(DefKind::Class),
        imports: outline.imported(),
    }
}

fn structured(path: &str, facts: &Facts) -> StructuredFile {
    let named = |kind: Kind| {
        let all = facts.symbols.iter().filter(move |s| s.kind == kind);
        all.filter(|symbol| symbol.container.is_none())
            .map(|symbol| symbol.name.to_string())
            .collect()
    };
    let mut imports: Vec<String> = facts.imports.iter().map(imported).collect();
    imports.sort();
    imports.dedup();
    StructuredFile {
        path: path.to_owned(),
        functions: named(Kind::Function),
        classes: named(Kind::Class),
        imports,
    }
}

/// The module that an import is about: of `from . import name`, that is the name.
pub(super) fn imported(import: &Import) -> String {
    match &import.name {
        Some(name) if import.module.ends_with('.') => format!("{}{name}", import.module),
        _ => import.module.to_string(),
    }
}

impl Text for Structured {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        for file in &self.files {
            lines.push(file.path.clone());
            let rows = [("classes", &file.classes), ("functions", &file.functions)];
            for (what, names) in rows.into_iter().filter(|(_, names)| !names.is_empty()) {
                lines.push(format!("  {what}: {}", names.join(", ")));
            }
        }
        if self.truncated {
            let more = self.total - self.files.len();
            lines.push(format!("... and {more} more (raise `max_results`)"));
        }
        lines.push(format!("{} {} files", self.total, self.language.name()));
        lines.join("\n")
    }
}

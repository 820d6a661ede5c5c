//! `code.list`: what a file or folder defines.

use std::path::PathBuf;

use pillion_catalogue::{
    CancellationToken, Context, Method, Offer, Operation, Result, Route, Safety, Scope, wanted,
    work_unless,
};
use pillion_index::answers::{Answer, FileError, OutlinedSymbols};
use pillion_index::outline::outlined;
use pillion_index::place;
use pillion_index::text::shown;
use pillion_index::{extract_facts, is_python};
use pillion_symbols::project::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::CodeService;
use crate::params::limit;

/// List what a file or a folder defines.
///
/// Of a folder, the files in it are listed; those in folders below with `recursive`.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "List")]
#[serde(deny_unknown_fields)]
pub struct ListSymbols {
    /// The file or folder; the whole workspace if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Also the files of folders below.
    #[arg(long, short, hide = true)]
    #[serde(default)]
    pub recursive: bool,
    /// Only the files of the folder itself.
    #[arg(long, conflicts_with = "recursive")]
    #[serde(skip)]
    pub shallow: bool,
    /// How deep definitions may lie in others: 1 is the top level of each file.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<usize>,
    /// At most so many.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Printed as a flat list.
    #[arg(skip)]
    #[serde(skip)]
    pub flat: bool,
}

impl Operation for ListSymbols {
    const NAME: &'static str = "code.list";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .typed("list", 60)
        .everyday()
        .routes(&[Route::older(Method::Post, "/list")]);
    type Service = CodeService;
    type Output = Answer<OutlinedSymbols>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    /// A folder on the command line means all below it, too.
    ///
    /// A program that names no `--depth` gets a flat list, as it always did: it says what the top
    /// level of files is. It has no room to say that it was cut off, so it is not.
    fn typed(mut self, json: bool) -> Self {
        self.recursive = !self.shallow;
        self.flat = json && self.depth.is_none();
        if self.flat {
            self.depth = Some(1);
            self.limit.get_or_insert(usize::MAX);
        }
        self
    }

    fn printed(&self, result: &str) -> Option<String> {
        let outline: OutlinedSymbols = serde_json::from_str(result).ok().filter(|_| self.flat)?;
        let top = outline.symbols.iter().filter(|s| s.container.is_none());
        let flat = top.map(|symbol| {
            json!({
                "path": symbol.file, "kind": symbol.kind,
                "name": symbol.name, "line": symbol.line,
                "end_line": symbol.end_line, "signature": symbol.signature,
                "summary": symbol.summary,
            })
        });
        Some(Value::from_iter(flat).to_string())
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<OutlinedSymbols>> {
        let view = CodeService::view(&cx, cx.caller(), self.path.as_deref()).await?;
        let path = match &self.path {
            Some(path) => place::inside(view.root(), path)?,
            None => String::new(),
        };
        let format = cx.caller().format();
        // Of a single file that is known, nothing has to be read or searched.
        let is_short = view.index.get(&path).is_some();
        let left_out = view.unread();
        let outline = work_unless(is_short, move |token| self.list(&view, &path, token));
        Ok(Answer::one(outline.await??, left_out).in_format(format))
    }
}

impl ListSymbols {
    fn list(&self, view: &View, path: &str, token: &CancellationToken) -> Result<OutlinedSymbols> {
        let is_file = view.index.get(path).is_some();
        let is_meant = |file: &str| {
            if is_file || path.is_empty() {
                return path.is_empty() && (self.recursive || !file.contains('/')) || file == path;
            }
            let below = file.strip_prefix(path).and_then(|f| f.strip_prefix('/'));
            below.is_some_and(|below| self.recursive || !below.contains('/'))
        };
        let (depth, most) = (self.depth.unwrap_or(usize::MAX), limit(self.limit));
        let (mut symbols, mut total) = (Vec::new(), 0);
        let mut parse_errors = Vec::new();
        // Whoever names a file means it, also one that is ignored.
        let ignored = match view.source(path.as_ref()) {
            Some(source) if !is_file && is_python(path) => Some(extract_facts(&source, path)),
            _ => None,
        };
        let known = view.index.iter().map(|(file, facts)| (&**file, facts));
        let listed = known.filter(|(file, _)| is_meant(file));
        for (file, facts) in listed.chain(ignored.iter().map(|facts| (path, facts))) {
            wanted(token)?;
            for index in 0..facts.symbols.len() {
                if facts.name_path(index).matches('/').count() < depth {
                    total += 1;
                    if symbols.len() < most {
                        symbols.push(outlined(file, facts, index));
                    }
                }
            }
            parse_errors.extend(facts.parse_errors.iter().map(|error| FileError {
                file: file.to_owned(),
                error: error.clone(),
            }));
        }
        Ok(OutlinedSymbols {
            truncated: symbols.len() < total,
            symbols,
            total,
            clock: view.clock(),
            parse_errors,
        })
    }
}

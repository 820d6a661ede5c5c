//! Edits of whole definitions by name path: `code.replace_body`, `code.insert_before`,
//! `code.insert_after` and `code.safe_delete`.

use std::path::PathBuf;
use std::sync::Arc;

use pillion_catalogue::{Caller, Code, Context, Error, Operation, Result, Safety, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::diagnostics::{self, Finding};
use super::read_symbol;
use super::refactored::Writing;
use crate::CodeService;
use crate::answers::Answer;
use crate::changes::{ChangeSet, Patched, TextEdit, deliver};
use crate::operations::Spotted;
use crate::outline::last_line;
use crate::place;
use crate::project::View;
use crate::references;
use crate::source::{Position, Source, Span};
use crate::syntax::Syntax;
use crate::text::{Text, shown};

/// A change of a definition, and what became of the file's diagnostics.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Edited {
    /// The change.
    #[serde(flatten)]
    pub change: Patched,
    /// What ty and ruff find now and did not before; only after the change was applied.
    pub caused: Vec<Finding>,
    /// What they found before and do not now.
    pub cured: Vec<Finding>,
}

impl Text for Edited {
    fn text(&self) -> String {
        let line = |sign: &str, found: &Finding| {
            let place = format!("{}:{}:{}", found.file, found.line, found.column);
            format!("{sign} {place}  {}  [{}]", found.message, found.source)
        };
        let mut parts = vec![self.change.text()];
        parts.extend(self.caused.iter().map(|found| line("caused", found)));
        parts.extend(self.cured.iter().map(|found| line("cured", found)));
        parts.join("\n")
    }
}

/// Which definition.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
pub struct Which {
    /// `function`, `Class`, `Class/method` and so on; a `/` in front means the top level.
    pub name_path: String,
    /// Only in this file or folder: needed where the path fits several definitions.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
}

macro_rules! edit_operation {
    ($(#[$doc:meta])* $type:ident, $name:literal, $how:expr) => {
        $(#[$doc])*
        #[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
        #[serde(deny_unknown_fields)]
        pub struct $type {
            #[command(flatten)]
            #[serde(flatten)]
            #[expect(missing_docs, reason = "it has no name outside")]
            pub which: Which,
            /// The new source, indented as if it stood at the margin.
            pub source: String,
            #[command(flatten)]
            #[serde(flatten)]
            #[expect(missing_docs, reason = "it has no name outside")]
            pub writing: Writing,
        }

        impl Operation for $type {
            const NAME: &'static str = $name;
            const SAFETY: Safety = Safety::Write;
            const SCOPE: Scope = Scope::Project;
            const FORMATS: bool = true;
            type Service = CodeService;
            type Output = Answer<Edited>;

            fn text(result: &str) -> Option<String> {
                shown::<Self>(result)
            }

            async fn run(self, cx: Context<CodeService>) -> Result<Answer<Edited>> {
                let view = CodeService::view(&cx, cx.caller(), self.which.path.as_deref()).await?;
                let target = Target::find(&view, &self.which)?;
                let edit = target.edit($how, &self.source)?;
                let title = format!("{} {}", $name, self.which.name_path);
                let edited = carry_out(&view, &target, edit, &self.writing, cx.caller(), title);
                Ok(Answer::one(edited.await?, view.unread()).in_format(cx.caller().format()))
            }
        }
    };
}

edit_operation! {
    /// Replace a whole definition, named by its path, by new source.
    ///
    /// Decorators, head and body are replaced. Answers with the diagnostics that the change
    /// caused and cured, once it is applied.
    ReplaceBody, "code.replace_body", How::Replace
}
edit_operation! {
    /// Insert source before a definition, named by its path.
    InsertBefore, "code.insert_before", How::Before
}
edit_operation! {
    /// Insert source after a definition, named by its path.
    InsertAfter, "code.insert_after", How::After
}

/// Delete a definition that nobody uses; refuse with the list of users otherwise.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct SafeDelete {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub which: Which,
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub writing: Writing,
}

impl Operation for SafeDelete {
    const NAME: &'static str = "code.safe_delete";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    type Service = CodeService;
    type Output = Answer<Edited>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Edited>> {
        let view = CodeService::view(&cx, cx.caller(), self.which.path.as_deref()).await?;
        let target = Target::find(&view, &self.which)?;
        let engine = view.engine(None, cx.caller()).await?;
        let spot = target.spot();
        let uses = references::find(&engine, &spot, true).await?;
        let users: Vec<_> = uses
            .references
            .into_iter()
            .filter(|use_| !use_.in_definition)
            .collect();
        if !users.is_empty() {
            let what = format!("`{}` is used {} times", self.which.name_path, users.len());
            return Err(Error::new(Code::Conflict, what)
                .hint("remove these uses first; possible ones may mean something else")
                .data(json!({ "users": users.iter().take(100).collect::<Vec<_>>() })));
        }
        let edit = target.edit(How::Delete, "")?;
        let title = format!("delete {}", self.which.name_path);
        let edited = carry_out(&view, &target, edit, &self.writing, cx.caller(), title).await?;
        Ok(Answer::one(edited, view.unread()).in_format(cx.caller().format()))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Replace,
    Before,
    After,
    Delete,
}

/// A definition that is edited.
struct Target {
    file: String,
    source: Source,
    name_at: Position,
    first: u32,
    last: u32,
}

/// The definition that is meant, as a place.
pub(super) fn definition(view: &View, which: &Which) -> Result<Spotted> {
    Ok(Target::find(view, which)?.spot())
}

impl Target {
    fn spot(&self) -> Spotted {
        Spotted {
            path: self.file.clone(),
            at: self.name_at,
            source: Arc::new(self.source.clone()),
        }
    }

    fn find(view: &View, which: &Which) -> Result<Self> {
        let within = match &which.path {
            Some(path) => Some(place::inside(view.root(), path)?),
            None => None,
        };
        let found = read_symbol::find(view, &which.name_path, within.as_deref());
        let (file, index) = match &found[..] {
            [one] => one,
            [] => {
                return Err(Error::new(
                    Code::NotFound,
                    format!("no definition `{}`", which.name_path),
                )
                .hint("`code.symbols` finds definitions by a part of their name"));
            }
            several => {
                let files: Vec<&String> = several.iter().take(20).map(|(file, _)| file).collect();
                return Err(Error::new(
                    Code::Conflict,
                    format!("`{}` fits {} definitions", which.name_path, several.len()),
                )
                .hint("name the file with `path`, or the whole name path with a `/` in front")
                .data(json!({ "files": files })));
            }
        };
        let source = place::readable(view, file)?;
        let symbol = view.index.get(file).map(|facts| &facts.symbols[*index]);
        let symbol = symbol.ok_or_else(|| Error::internal("a definition that vanished"))?;
        Ok(Self {
            file: file.clone(),
            source,
            name_at: symbol.name_span.start,
            first: symbol.span.start.line,
            last: last_line(symbol.span),
        })
    }

    /// The edit of whole lines; new source gets the indentation of the definition.
    fn edit(&self, how: How, source: &str) -> Result<TextEdit> {
        let head = self.source.line(self.first).unwrap_or_default();
        let indent = &head[..head.len() - head.trim_start().len()];
        let mut text = String::new();
        for line in source.trim_end().lines() {
            if !line.trim().is_empty() {
                text.push_str(indent);
                text.push_str(line);
            }
            text.push('\n');
        }
        if how != How::Delete && text.trim().is_empty() {
            return Err(Error::new(Code::InvalidParams, "the new source is empty"));
        }
        let start = |line: u32| Position { line, column: 0 };
        // The last line of a file may have no line end: then the edit ends in it.
        let after = match self.source.line(self.last + 1) {
            Some(_) => start(self.last + 1),
            None => {
                let width = self
                    .source
                    .line(self.last)
                    .unwrap_or_default()
                    .chars()
                    .count();
                text.insert(0, '\n');
                text.pop();
                Position {
                    line: self.last,
                    column: u32::try_from(width).unwrap_or(u32::MAX),
                }
            }
        };
        let at_end = after.line == self.last;
        // As much room as Python's style leaves between definitions.
        let line = self.source.line(self.first).unwrap_or_default();
        let gap = if line.starts_with([' ', '\t']) {
            "\n"
        } else {
            "\n\n"
        };
        let span = match how {
            How::Replace | How::Delete => Span {
                start: start(self.first),
                end: after,
            },
            How::Before => Span {
                start: start(self.first),
                end: start(self.first),
            },
            How::After => Span {
                start: after,
                end: after,
            },
        };
        let text = match how {
            How::Replace | How::Delete if at_end => text.trim_start_matches('\n').to_owned(),
            How::Before => format!("{}\n{gap}", text.trim_matches('\n')),
            How::After => format!("{gap}{text}"),
            How::Replace | How::Delete => text,
        };
        Ok(TextEdit { span, text })
    }
}

/// Show or write the change, and compare the diagnostics before and after.
async fn carry_out(
    view: &View,
    target: &Target,
    edit: TextEdit,
    writing: &Writing,
    caller: &Caller,
    title: String,
) -> Result<Edited> {
    let file: Arc<str> = target.file.as_str().into();
    let mut set = ChangeSet::new(view.root().to_owned());
    set.edit(&file, vec![edit])?;
    let errors = Syntax::errors(target.source.text(), &file).len();
    if let Some(after) = set.text_after(&file)
        && Syntax::errors(&after, &file).len() > errors
    {
        return Err(Error::new(
            Code::ParseError,
            "with this change the file could not be parsed any more",
        )
        .hint("check the indentation: source is given as if it stood at the margin"));
    }
    let before = match writing.apply {
        true => diagnostics::of_files(view, caller, std::slice::from_ref(&file)).await?,
        false => Vec::new(),
    };
    let change = deliver(view, set, writing.output_format, writing.apply, title).await?;
    let after = match writing.apply {
        true => {
            let now = view.project.view().await?;
            diagnostics::of_files(&now, caller, &[file]).await?
        }
        false => Vec::new(),
    };
    // The same finding on another line is the same finding.
    let same = |a: &Finding, b: &Finding| (&a.message, &a.code) == (&b.message, &b.code);
    let only = |these: &[Finding], those: &[Finding]| {
        let new = these.iter().filter(|a| !those.iter().any(|b| same(a, b)));
        new.cloned().collect::<Vec<_>>()
    };
    Ok(Edited {
        change,
        caused: only(&after, &before),
        cured: only(&before, &after),
    })
}

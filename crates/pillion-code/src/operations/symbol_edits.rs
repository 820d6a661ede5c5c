//! Edits of whole definitions by name path: `code.replace_body`, `code.insert_before`,
//! `code.insert_after` and `code.safe_delete`.

use std::path::PathBuf;
use std::sync::Arc;

use pillion_catalogue::{Caller, Code, Context, Error, Offer, Operation, Result, Safety, Scope};
use pillion_changes::{ChangeSet, Patched, TextEdit};
use pillion_engines::finding::Finding;
use pillion_index::answers::{Answer, Location};
use pillion_index::keywords::may_be_keyword;
use pillion_index::outline::last_line;
use pillion_index::source::{Position, Source, Span};
use pillion_index::syntax::Syntax;
use pillion_index::text::{Text, shown};
use pillion_index::{Kind, Symbol, compiled, place};
use pillion_symbols::ask::EngineView;
use pillion_symbols::project::View;
use pillion_symbols::spotted::Spotted;
use pillion_symbols::{closure, fixtures, references};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::deliver::deliver;
use super::diagnostics;
use super::refactoring::Writing;
use super::symbol_source::{self, Given};
use crate::CodeService;
use crate::params::{Asked, Place, Spot};
use pillion_refactor::rename::{self, Embedded};
use pillion_refactor::{documents, moving, strings};
use pillion_symbols::named::{self, NameOrPlace};
use pillion_symbols::open_files::{FileSpan, OpenFiles};

/// Users that an error names.
const MAX_USERS: usize = 100;

/// A change of a definition, and what became of the file's diagnostics.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Edited")]
pub struct EditedSymbol {
    /// The change.
    #[serde(flatten)]
    pub change: Patched,
    /// What ty and ruff find now and did not before; only after the change was applied.
    pub caused: Vec<Finding>,
    /// What they found before and do not now.
    pub cured: Vec<Finding>,
}

impl Text for EditedSymbol {
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

macro_rules! edit_operation {
    ($(#[$doc:meta])* $type:ident, $name:literal, $how:expr, $offer:expr) => {
        $(#[$doc])*
        #[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
        #[serde(deny_unknown_fields)]
        pub struct $type {
            #[command(flatten)]
            #[serde(flatten)]
            #[expect(missing_docs, reason = "it has no name outside")]
            pub at: Place,
            /// Only in this file or folder.
            #[arg(long)]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub path: Option<PathBuf>,
            /// The new source, as if it stood at the margin.
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
            const OFFER: Offer = $offer;
            type Service = CodeService;
            type Output = Answer<EditedSymbol>;

            fn text(result: &str) -> Option<String> {
                shown::<Self>(result)
            }

            async fn run(self, cx: Context<CodeService>) -> Result<Answer<EditedSymbol>> {
                let which = Which::of(&self.at, self.path)?;
                let view = CodeService::view(&cx, cx.caller(), which.about().as_deref()).await?;
                let target = Target::find(&view, &which)?;
                let edit = target.edit($how, &self.source)?;
                target.check(&view, &edit, true)?;
                let title = format!("{} {}", $name, which.name_path);
                let title = (title, None);
                let edited = carry_out(&view, &target, edit, &self.writing, cx.caller(), title);
                Ok(Answer::one(edited.await?, view.unread()).in_format(cx.caller().format()))
            }
        }
    };
}

edit_operation! {
    /// Replace a definition, named by its path, or only its body by new source.
    ///
    /// Source that defines the name replaces decorators, head and body; other statements
    /// replace the body alone. What does not parse, or no longer defines the name, is refused.
    /// Answers with the diagnostics that the change caused and cured, once it is applied.
    ReplaceBody, "code.replace_body", How::Replace,
    Offer::PLAIN.typed("replace-body", 222).everyday()
}
edit_operation! {
    /// Insert source before a definition, named by its path.
    InsertBefore, "code.insert_before", How::Before,
    Offer::PLAIN.typed("insert-before", 224)
}
edit_operation! {
    /// Insert source after a definition, named by its path.
    InsertAfter, "code.insert_after", How::After,
    Offer::PLAIN.typed("insert-after", 226).everyday()
}

/// Delete a definition that nobody uses; refuse with the list of users otherwise.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct SafeDelete {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub at: Place,
    /// Only in this file or folder.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
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
    const OFFER: Offer = Offer::PLAIN.typed("safe-delete", 228);
    type Service = CodeService;
    type Output = Answer<EditedSymbol>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<EditedSymbol>> {
        let which = Which::of(&self.at, self.path)?;
        let view = CodeService::view(&cx, cx.caller(), which.about().as_deref()).await?;
        let target = Target::find(&view, &which)?;
        let engine = view.engine(None, cx.caller()).await?;
        let spot = target.spot();
        let uses = references::find(&engine, &spot, true).await?;
        let users: Vec<_> = uses
            .references
            .into_iter()
            .filter(|use_| !use_.in_definition)
            .collect();
        if let Some(first) = users.first() {
            let times = match users.len() {
                1 => "once".to_owned(),
                n => format!("{n} times"),
            };
            let Location {
                file, line, column, ..
            } = &first.location;
            let place = format!("{file}:{line}:{column}");
            let what = format!("`{}` is used {times}: {place}", which.name_path);
            return Err(Error::new(Code::Conflict, what)
                .hint("remove these uses first; possible ones may mean something else")
                .data(json!({ "users": users.iter().take(MAX_USERS).collect::<Vec<_>>() })));
        }
        target
            .check_family(&engine, &view, &which.name_path)
            .await?;
        target.check_lookups(&engine, &which.name_path).await?;
        target.check_field(&view, &which.name_path)?;
        let edit = target.deletion(&view)?;
        let computed = rename::computed(&engine, &spot).await?;
        let told = [target.no_longer_called(), computed];
        let told: Vec<String> = told.into_iter().flatten().collect();
        let told = (!told.is_empty()).then(|| told.join("; "));
        let title = (format!("delete {}", which.name_path), told);
        let edited = carry_out(&view, &target, edit, &self.writing, cx.caller(), title).await?;
        Ok(Answer::one(edited, view.unread()).in_format(cx.caller().format()))
    }
}

/// Which definition.
struct Which {
    /// A name or a place, as it is written.
    name_path: String,
    /// Only in this file or folder.
    path: Option<PathBuf>,
}

impl Which {
    fn of(place: &Place, path: Option<PathBuf>) -> Result<Self> {
        Ok(match place.asked()? {
            Asked::Written(name_path, file) => Self {
                name_path,
                path: path.or(file),
            },
            Asked::Spot(spot) => {
                spot.position()?;
                let Spot { file, line, col } = spot;
                Self {
                    name_path: format!("{}:{line}:{col}", file.display()),
                    path,
                }
            }
        })
    }

    /// The file or folder it names: that decides which workspace is meant.
    fn about(&self) -> Option<PathBuf> {
        let written = Asked::Written(self.name_path.clone(), self.path.clone());
        written.about()
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
    source: Arc<Source>,
    /// `Class/method` and so on.
    name_path: String,
    name_at: Position,
    first: u32,
    last: u32,
}

impl Target {
    fn spot(&self) -> Spotted {
        Spotted {
            path: self.file.clone(),
            at: self.name_at,
            source: Arc::clone(&self.source),
            is_module: false,
        }
    }

    fn find(view: &View, which: &Which) -> Result<Self> {
        let within = match &which.path {
            Some(path) => Some(place::inside(view.root(), path)?),
            None => None,
        };
        let found = named::definition(view, &which.name_path, within.as_deref())?;
        let file = found.file.to_string();
        let source = view.readable(&file)?;
        let facts = view.index.get(&file);
        let symbol = facts.and_then(|facts| Some((facts, facts.symbols.get(found.index)?)));
        let vanished = || Error::internal("a definition that vanished");
        let (facts, symbol) = symbol.ok_or_else(vanished)?;
        if let NameOrPlace::Place { col: Some(_), .. } = NameOrPlace::read(&which.name_path)?
            && let Some(at) = named::meant(view, &which.name_path, None)?.at
            && facts.named_at(at).is_none()
            && let Some((word, _)) = source.word_at(at)
            && !may_be_keyword(word)
        {
            // A use of one name within another definition: only one of them can be meant.
            let around = facts.name_path(found.index).replace('/', ".");
            let what = format!("`{word}` is not defined at this place, which lies in `{around}`");
            return Err(Error::new(Code::Conflict, what).hint(format!(
                "point at the name in its definition, or write `{file}::{around}`"
            )));
        }
        Ok(Self {
            file,
            source,
            name_path: facts.name_path(found.index),
            name_at: symbol.name_span.start,
            first: symbol.span.start.line,
            last: last_line(symbol.span),
        })
    }

    fn name(&self) -> &str {
        self.name_path.rsplit('/').next().unwrap_or_default()
    }

    /// Refuse an edit after which the file does not parse, or does not define all that it did.
    fn check(&self, view: &View, edit: &TextEdit, kept: bool) -> Result<()> {
        let mut set = ChangeSet::new(view.root().to_owned());
        set.edit(&self.file, vec![edit.clone()])?;
        let before = self.source.text();
        let after = set.text_after(&self.file).unwrap_or_default();
        let errors = |text: &str| Syntax::errors(text, &self.file);
        if let Some(why) = errors(&after).get(errors(before).len()) {
            return Err(Error::new(
                Code::ParseError,
                format!("with this change the file could not be parsed any more: {why}"),
            )
            .hint("check the indentation: source is given as if it stood at the margin"));
        }
        let refused = |text: &str| compiled::refused(text, &self.file);
        if let Some(why) = refused(&after).get(refused(before).len()) {
            return Err(Error::new(
                Code::ParseError,
                format!("with this change Python would refuse the file: {why}"),
            )
            .hint("give a whole definition, or statements that may stand where they go"));
        }
        symbol_source::still_defined(&self.file, before, &after, &self.name_path, kept)
    }

    /// Refuse to take away what stands for, or instead of, a definition of another class, and
    /// what Python itself asks for.
    async fn check_family(&self, engine: &EngineView, view: &View, shown: &str) -> Result<()> {
        let name = self.name();
        let in_class = self.name_path.contains('/');
        if in_class && name.starts_with("__") && name.ends_with("__") {
            let what = format!("Python itself asks for `{shown}`");
            return Err(Error::new(Code::Conflict, what).hint("edit its class instead"));
        }
        let facts = view.index.get(&self.file);
        let offered = facts.and_then(|facts| facts.all.as_ref());
        if !in_class && offered.is_some_and(|all| all.iter().any(|known| **known == *name)) {
            let what = format!("`{}` offers `{name}` by its `__all__`", self.file);
            return Err(Error::new(Code::Conflict, what).hint("take it out of there first"));
        }
        let entered = moving::entered(view, &self.file, &self.source, self.name_at);
        if let Some(span) = entered {
            let path = view.root().join(&self.file);
            let location = OpenFiles::new(view).location(&path, span);
            let what = format!(
                "`{shown}` may be entered somewhere by this: {}:{}:{}",
                location.file, location.line, location.column
            );
            return Err(Error::new(Code::Conflict, what)
                .hint("take that away first if nobody asks for it there")
                .data(json!({ "location": location })));
        }
        let span = Span {
            start: self.name_at,
            end: self.name_at,
        };
        let place = (view.root().join(&self.file), span);
        match closure::relative(engine, &place).await? {
            None => Ok(()),
            Some(other) => Err(Error::new(
                Code::Conflict,
                format!(
                    "`{shown}` belongs together with another definition: {}:{}:{}",
                    other.file, other.line, other.column
                ),
            )
            .hint("who calls one of them may mean the other")
            .data(json!({ "location": other }))),
        }
    }

    /// Refuse to take away what is asked for by its name: in strings that are looked up, and,
    /// of a fixture, by parameters.
    async fn check_lookups(&self, engine: &EngineView, shown: &str) -> Result<()> {
        let root = engine.view.root();
        let name = self.name();
        let own = (root.join(&self.file), self.name_at);
        let mut places = Vec::new();
        for (file, span) in rename::looked_up(engine, &self.spot()).await? {
            places.push((root.join(file), span));
        }
        places.extend(fixtures::users(engine, name, &own));
        if !self.name_path.contains('/') {
            // `globals()[name]` and its like find it in its own module.
            let strings = strings::exactly(&engine.view.index, root, name).into_iter();
            let own = strings.filter(|(file, _)| *file == self.file);
            places.extend(own.map(|(file, span)| (root.join(file), span)));
        }
        places.extend(self.embedded(engine).await?);
        let named = documents::in_configuration(&engine.view.snapshot, name, &self.owner());
        places.extend(
            named
                .into_iter()
                .map(|(file, span)| (root.join(file), span)),
        );
        let mut opened = OpenFiles::new(&engine.view);
        let users: Vec<_> = places
            .iter()
            .take(MAX_USERS)
            .map(|(path, span)| opened.location(path, *span))
            .collect();
        let Some(first) = users.first() else {
            return Ok(());
        };
        let place = format!("{}:{}:{}", first.file, first.line, first.column);
        let what = format!("`{shown}` may be asked for by its name: {place}");
        Err(Error::new(Code::Conflict, what)
            .hint("take these away first if they mean something else")
            .data(json!({ "users": users })))
    }

    /// Where code that texts hold runs it: doctests, commands, scripts.
    async fn embedded(&self, engine: &EngineView) -> Result<Vec<FileSpan>> {
        let root = engine.view.root();
        let found = rename::in_texts(engine, &self.spot()).await?.into_iter();
        let is_inside = |one: &Embedded| {
            let lines = self.first..=self.last;
            one.file == self.file && lines.contains(&one.span.start.line)
        };
        let used = found.filter(|one| one.runs && !is_inside(one));
        Ok(used.map(|one| (root.join(one.file), one.span)).collect())
    }

    /// The last word of what a definition is found in: its class, or its module.
    fn owner(&self) -> String {
        let class = self.name_path.rsplit('/').nth(1);
        let module = self.file.trim_end_matches("/__init__.py");
        let module = module.rsplit('/').next().unwrap_or_default();
        class.unwrap_or(module.trim_end_matches(".py")).to_owned()
    }

    /// What ran for the value of a variable runs no more without it.
    fn no_longer_called(&self) -> Option<String> {
        let at = self.source.offset(self.name_at)?;
        let call = symbol_source::called_for_value(self.source.text(), &self.file, at)?;
        let call = call.lines().next().unwrap_or_default().to_owned();
        Some(format!(
            "`{call}` is no longer called: it gave `{}` its value",
            self.name()
        ))
    }

    /// Refuse to take away a name of a class whose bases or decorators make something of each,
    /// such as fields and members of an enumeration.
    fn check_field(&self, view: &View, shown: &str) -> Result<()> {
        let refused = || {
            let facts = view.index.get(&self.file)?;
            let symbol = &facts.symbols[facts.named_at(self.name_at)?];
            if symbol.signature.is_some() || symbol.kind == Kind::Class {
                return None;
            }
            let class = &facts.symbols[facts.container(symbol)?];
            let is_field = class.kind == Kind::Class && makes_of_names(view, &self.file, class);
            is_field.then(|| class.name.to_string())
        };
        match refused() {
            None => Ok(()),
            Some(class) => Err(Error::new(
                Code::Conflict,
                format!(
                    "`{shown}` may be a field or a member: something is made of what `{class}` has"
                ),
            )
            .hint("who counts or lists those sees that it is gone; edit the class instead")),
        }
    }

    /// The edit that takes the definition away; a block that is empty then gets a `pass`.
    fn deletion(&self, view: &View) -> Result<TextEdit> {
        let edit = self.edit(How::Delete, "")?;
        if self.check(view, &edit, false).is_ok() {
            return Ok(edit);
        }
        let head = self.source.line(self.first).unwrap_or_default();
        let indent = &head[..head.len() - head.trim_start().len()];
        let end = if edit.span.end.column == 0 { "\n" } else { "" };
        let edit = TextEdit {
            text: format!("{indent}pass{end}"),
            ..edit
        };
        self.check(view, &edit, false)?;
        Ok(edit)
    }

    /// The first line with the comments right above it.
    fn first_with_comments(&self) -> u32 {
        let head = self.source.line(self.first).unwrap_or_default();
        let indent = head.len() - head.trim_start().len();
        let mut first = self.first;
        while let Some(above) = first.checked_sub(1) {
            let line = self.source.line(above).unwrap_or_default();
            let width = line.len() - line.trim_start().len();
            if !line.trim_start().starts_with('#') || line.starts_with("#!") || width != indent {
                break;
            }
            first = above;
        }
        first
    }

    /// The edit that replaces the body alone.
    fn body_edit(&self, source: &str, suite: symbol_source::Suite) -> TextEdit {
        let head = self.source.line(self.first).unwrap_or_default();
        let outer = &head[..head.len() - head.trim_start().len()];
        let indent = match suite.indent {
            // The head may be wider than its own line: decorators, or several lines.
            Some(width) if width > outer.len() => {
                let unit = if outer.starts_with('\t') { "\t" } else { " " };
                let more = width - outer.len();
                format!("{outer}{}", unit.repeat(more))
            }
            _ => format!("{outer}    "),
        };
        let text = self.source.text();
        let rest = &text[suite.colon..];
        let line = &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())];
        // What is said about the head stays there.
        let keeps = line.trim().is_empty() || line.trim_start().starts_with('#');
        let start = suite.colon + if keeps { line.trim_end().len() } else { 0 };
        let width = self.source.line(self.last).unwrap_or_default();
        let end = Position {
            line: self.last,
            column: u32::try_from(width.chars().count()).unwrap_or(u32::MAX),
        };
        let body = symbol_source::indented(source, &self.file, &indent);
        TextEdit {
            span: Span {
                start: self.source.position(start),
                end,
            },
            text: format!("\n{body}"),
        }
    }

    /// The edit of whole lines, or of a body; new source gets the indentation of the
    /// definition.
    fn edit(&self, how: How, source: &str) -> Result<TextEdit> {
        let source = symbol_source::dedented(source);
        if how != How::Delete && source.trim().is_empty() {
            return Err(Error::new(Code::InvalidParams, "the new source is empty"));
        }
        if how == How::Replace {
            let at = self.source.offset(self.name_at).unwrap_or_default();
            let suite = symbol_source::suite(self.source.text(), &self.file, at);
            let given = symbol_source::given(&source, &self.file, self.name(), suite)?;
            if let Some(suite) = suite.filter(|_| given == Given::Body) {
                return Ok(self.body_edit(&source, suite));
            }
        }
        let head = self.source.line(self.first).unwrap_or_default();
        let indent = &head[..head.len() - head.trim_start().len()];
        let mut text = symbol_source::indented(&source, &self.file, indent);
        if how != How::Delete {
            text.push('\n');
        }
        let first = match how {
            How::Replace | How::After => self.first,
            How::Before | How::Delete => self.first_with_comments(),
        };
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
                if how != How::Delete {
                    text.insert(0, '\n');
                    text.pop();
                }
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
                start: start(first),
                end: after,
            },
            How::Before => Span {
                start: start(first),
                end: start(first),
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

/// Bases that make nothing of the names in a class.
const PLAIN: &[&str] = &["ABC", "Exception", "Generic", "Protocol", "object"];
/// Classes above one that are looked at.
const MAX_BASES: usize = 50;

/// Whether decorators, a metaclass or bases from elsewhere see the names in a class.
fn makes_of_names(view: &View, file: &str, class: &Symbol) -> bool {
    let is_decorated = |file: &str, class: &Symbol| {
        let source = view.source(std::path::Path::new(file));
        let line = source.and_then(|s| s.line(class.span.start.line).map(str::to_owned));
        line.is_none_or(|line| line.trim_start().starts_with('@'))
    };
    let mut open = vec![(file.to_owned(), class.clone())];
    let mut seen = Vec::new();
    while let Some((file, class)) = open.pop() {
        let head = class.signature.as_deref().unwrap_or_default();
        if is_decorated(&file, &class) || head.contains("metaclass=") || seen.len() > MAX_BASES {
            return true;
        }
        seen.push(class.name.clone());
        for base in &class.bases {
            let name = base.rsplit('.').next().unwrap_or_default();
            if PLAIN.contains(&name) || seen.iter().any(|known| **known == *name) {
                continue;
            }
            let above = view.index.iter().flat_map(|(path, facts)| {
                let symbols = facts.symbols.iter();
                let classes = symbols.filter(|s| s.kind == Kind::Class && &*s.name == name);
                classes.map(|s| (path.to_string(), s.clone()))
            });
            let above: Vec<_> = above.collect();
            if above.is_empty() {
                return true;
            }
            open.extend(above);
        }
    }
    false
}

/// Show or write the change, and compare the diagnostics before and after.
async fn carry_out(
    view: &View,
    target: &Target,
    edit: TextEdit,
    writing: &Writing,
    caller: &Caller,
    (title, warning): (String, Option<String>),
) -> Result<EditedSymbol> {
    let file: Arc<str> = target.file.as_str().into();
    let mut set = ChangeSet::new(view.root().to_owned());
    if let Some(warning) = warning {
        set.warn(warning);
    }
    set.edit(&file, vec![edit])?;
    let before = match writing.apply {
        true => diagnostics::of_files(view, caller, std::slice::from_ref(&file)).await?,
        false => Vec::new(),
    };
    let mut change = deliver(view, set, writing.output_format, writing.apply, title).await?;
    change.with_diff = writing.diff;
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
    Ok(EditedSymbol {
        change,
        caused: only(&after, &before),
        cured: only(&before, &after),
    })
}

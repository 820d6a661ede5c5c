//! Who knows a definition by its name although no code spells it: a decorator that enters it
//! somewhere, pytest, an enumeration that makes values of names, private names of a class.

use pillion_catalogue::{Code, Error, Result};
use pillion_changes::{ChangeSet, LeftAlone};
use pillion_index::facts::name_hash;
use pillion_index::parsed::parsed;
use pillion_index::source::{Source, Span};
use pillion_symbols::ask::EngineView;
use pillion_symbols::closure;
use pillion_symbols::literals::words;
use pillion_symbols::occurrences::Sort;
use pillion_symbols::open_files::OpenFiles;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt, StmtClassDef};
use ruff_text_size::{Ranged, TextRange};

use super::subject::{Subject, absolute};
use super::{moving, strings};

/// Beginnings of names by which pytest and unittest find what they run.
const COLLECTED: &[&str] = &["test", "Test"];

/// Refuse to rename what others call by its name only.
pub(super) fn refuse(engine: &EngineView, subject: &Subject) -> Result<()> {
    let mut opened = OpenFiles::new(&engine.view);
    for (path, span) in &subject.found.places {
        let file = opened.name(path).0;
        let is_conftest = file.rsplit('/').next() == Some("conftest.py");
        let is_hook = subject.name.starts_with("pytest_") && subject.sort == Sort::Plain;
        let defined = opened.defined_at(path, span.start);
        let is_global = defined.is_some_and(|d| !d.name_path.contains('/') && d.kind.is_callable());
        if is_conftest && is_hook && is_global && !subject.alias {
            let what = format!("`{}` is called by pytest itself", subject.name);
            return Err(Error::new(Code::Conflict, what).hint("it is known by this name only"));
        }
    }
    Ok(())
}

/// List and tell who knows what is renamed by its name.
pub(super) fn tell(engine: &EngineView, subject: &Subject, set: &mut ChangeSet) {
    if subject.alias || subject.sort == Sort::Parameter {
        return;
    }
    let mut opened = OpenFiles::new(&engine.view);
    for (path, span) in &subject.found.places {
        let file = opened.name(path).0;
        let Some(source) = opened
            .source(path)
            .filter(|_| closure::is_inside(engine, path))
        else {
            continue;
        };
        if let Some(entry) = moving::entered(&engine.view, &file, &source, span.start) {
            set.leave(LeftAlone {
                location: opened.location(path, entry),
                why: "it may be entered somewhere by its name by this".into(),
            });
        }
        let made = source.offset(span.start).and_then(|at| {
            parsed(source.text(), &file, |parsed| {
                made_of_name(parsed.body(), at)
            })
        });
        if let Some(range) = made {
            set.leave(LeftAlone {
                location: opened.location(path, span_of(&source, range)),
                why: "its value is made of its name".into(),
            });
        }
        let is_code = opened
            .defined_at(path, span.start)
            .is_some_and(|d| d.kind.is_callable() || d.kind == pillion_index::Kind::Class);
        if is_code && moving::is_for_pytest(&file) {
            let collected = |name: &str| COLLECTED.iter().any(|begin| name.starts_with(begin));
            let what = match (collected(&subject.name), collected(&subject.new_name)) {
                (true, false) => "are not found under this name: pytest looks for `test`",
                (false, true) => "under this name are run by pytest as tests",
                _ => continue,
            };
            set.warn(format!("tests in `{file}` {what}"));
        }
    }
    private(engine, subject, &mut opened, set);
}

/// List where a program reads the name itself as a text: `type(self).__name__`.
pub(super) async fn list_names_read(
    engine: &EngineView,
    subject: &Subject,
    set: &mut ChangeSet,
) -> Result<()> {
    if subject.alias || subject.sort == Sort::Parameter {
        return Ok(());
    }
    let mut opened = OpenFiles::new(&engine.view);
    let mut grower = closure::Grower::new(engine);
    let mut classes = Vec::new();
    for place in &subject.found.places {
        let defined = opened.defined_at(&place.0, place.1.start);
        if defined.is_some_and(|defined| defined.kind == pillion_index::Kind::Class) {
            classes.extend(grower.line(place).await?);
        }
    }
    let mut files: Vec<_> = NAMES
        .iter()
        .flat_map(|n| engine.view.index.files_with(n))
        .collect();
    files.sort();
    files.dedup();
    for file in files {
        let path = absolute(engine, &file);
        let Some(source) = opened.source(&path) else {
            continue;
        };
        let read = parsed(source.text(), &file, |parsed| names_read(parsed.body()));
        let known = subject.places.get(&*file);
        for (at, of) in read {
            let is_ours = match of {
                NameOf::Own => {
                    let at = source.position(at.start().to_usize());
                    let around = closure::class_around(&mut opened, &path, at);
                    around.is_some_and(|class| classes.contains(&class))
                }
                NameOf::Named(range) => {
                    let span = span_of(&source, range);
                    known.is_some_and(|known| known.contains(&span))
                }
            };
            if is_ours {
                set.leave(LeftAlone {
                    location: opened.location(&path, span_of(&source, at)),
                    why: "its name is read as a text".into(),
                });
            }
        }
    }
    Ok(())
}

/// Attributes that are the name of what has them.
const NAMES: &[&str] = &["__name__", "__qualname__"];

/// Whose name is read.
enum NameOf {
    /// That of the class of the method's own object.
    Own,
    /// That of what is named here.
    Named(TextRange),
}

/// Where names are read as texts: `type(self).__name__`, `cls.__name__`, `function.__name__`.
fn names_read(body: &[Stmt]) -> Vec<(TextRange, NameOf)> {
    struct Find(Vec<(TextRange, NameOf)>);
    impl<'a> Visitor<'a> for Find {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Attribute(attribute) = expr
                && NAMES.contains(&attribute.attr.as_str())
            {
                let is_self = |expr: &Expr| expr.as_name_expr().is_some_and(|n| n.id == *"self");
                let of = match &*attribute.value {
                    Expr::Name(name) if name.id == *"cls" => Some(NameOf::Own),
                    Expr::Name(name) => Some(NameOf::Named(name.range)),
                    Expr::Attribute(class) if class.attr == *"__class__" => {
                        is_self(&class.value).then_some(NameOf::Own)
                    }
                    Expr::Attribute(of) => Some(NameOf::Named(of.attr.range)),
                    Expr::Call(call) if called(&attribute.value) == Some("type") => {
                        let own = call.arguments.args.first().is_some_and(is_self);
                        own.then_some(NameOf::Own)
                    }
                    _ => None,
                };
                self.0.extend(of.map(|of| (attribute.attr.range, of)));
            }
            visitor::walk_expr(self, expr);
        }
    }
    let mut find = Find(Vec::new());
    find.visit_body(body);
    find.0
}

/// List where a private name is spelled as Python spells it, with its class: `_Class__name`.
fn private(engine: &EngineView, subject: &Subject, opened: &mut OpenFiles, set: &mut ChangeSet) {
    let mut all = Vec::new();
    if closure::is_mangled(&subject.name) {
        for (path, span) in &subject.family.classes {
            let source = opened.source(path);
            let class = source.and_then(|s| s.slice(*span).map(ToOwned::to_owned));
            all.extend(class.map(|class| mangled(&class, &subject.name)));
        }
    }
    // The private names of a class have its name in them.
    for (path, span) in &subject.found.places {
        let own = opened.with_facts(path, |facts| {
            let class = facts.named_at(span.start)?;
            let members = facts.symbols.iter();
            let members = members.filter(|s| facts.container(s) == Some(class));
            let private = members.filter(|s| closure::is_mangled(&s.name));
            let is_class = facts.symbols[class].kind == pillion_index::Kind::Class;
            let spelled = private.map(|s| mangled(&subject.name, &s.name));
            is_class.then(|| spelled.collect::<Vec<_>>())
        });
        all.extend(own.unwrap_or_default());
    }
    for spelled in all {
        let hash = name_hash(&spelled);
        let index = &engine.view.index;
        let files = index.iter().filter(|(_, facts)| facts.may_mention(hash));
        let mut found: Vec<(String, Span)> = Vec::new();
        for (file, _) in files {
            let Some(source) = opened.source(&absolute(engine, file)) else {
                continue;
            };
            for at in words(source.text(), &spelled) {
                let span = Span {
                    start: source.position(at),
                    end: source.position(at + spelled.len()),
                };
                found.push((file.to_string(), span));
            }
        }
        let in_strings = strings::exactly(index, engine.view.root(), &spelled);
        found.extend(in_strings);
        found.sort();
        found.dedup();
        for (file, span) in found {
            set.leave(LeftAlone {
                location: opened.location(&absolute(engine, &file), span),
                why: "a private name, spelled with its class".into(),
            });
        }
    }
}

/// What Python calls the private name of a class.
fn mangled(class: &str, name: &str) -> String {
    format!("_{}{name}", class.trim_start_matches('_'))
}

/// What gives the member of an enumeration whose name stands here its value, if that is made
/// of the name: `auto()` of a `StrEnum`, or with a `_generate_next_value_`.
fn made_of_name(body: &[Stmt], at: usize) -> Option<TextRange> {
    struct Find {
        at: usize,
        found: Option<TextRange>,
    }
    impl<'a> Visitor<'a> for Find {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            if let Stmt::ClassDef(class) = stmt
                && makes_values_of_names(class)
            {
                let own = class.body.iter().filter_map(Stmt::as_assign_stmt);
                for assign in own {
                    let mut targets = assign.targets.iter();
                    let is_it = targets.any(|t| t.range().start().to_usize() == self.at);
                    if is_it && called(&assign.value) == Some("auto") {
                        self.found = Some(assign.value.range());
                    }
                }
            }
            visitor::walk_stmt(self, stmt);
        }
        fn visit_expr(&mut self, _: &'a Expr) {}
    }
    let mut find = Find { at, found: None };
    find.visit_body(body);
    find.found
}

fn makes_values_of_names(class: &StmtClassDef) -> bool {
    let mut inner = class.body.iter();
    class
        .bases()
        .iter()
        .any(|base| last(base) == Some("StrEnum"))
        || inner.any(|stmt| {
            let function = stmt.as_function_def_stmt();
            function.is_some_and(|function| function.name == *"_generate_next_value_")
        })
}

/// The last name of what is called.
fn called(expr: &Expr) -> Option<&str> {
    last(&expr.as_call_expr()?.func)
}

fn last(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        _ => None,
    }
}

fn span_of(source: &Source, range: TextRange) -> Span {
    Span {
        start: source.position(range.start().to_usize()),
        end: source.position(range.end().to_usize()),
    }
}

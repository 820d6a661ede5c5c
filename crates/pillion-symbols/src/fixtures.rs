//! What pytest gives a test: the type of a parameter is what the fixture of its name returns.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use pillion_catalogue::Result;
use pillion_index::modules;
use pillion_index::parsed::parsed;
use pillion_index::source::{Position, Source};
use pillion_index::{Kind, Mention};
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::ask::EngineView;
use crate::definitions::{classes_of, meaning};
use crate::literals::{exact, words};
use crate::open_files::{FileSpan, OpenFiles};

/// Types around that of what a fixture yields.
const AROUND: &[&str] = &[
    "AsyncGenerator",
    "AsyncIterable",
    "AsyncIterator",
    "Generator",
    "Iterable",
    "Iterator",
];

/// The classes of what tests are given, by the places where a name is taken from it.
#[derive(Debug, Default)]
pub(crate) struct Fixtures {
    classes: BTreeMap<FileSpan, FileSpan>,
}

/// A fixture, by where the type of what it gives can be asked for.
#[derive(Debug, Clone)]
struct Fixture {
    file: Arc<str>,
    /// Where the name of its function stands.
    at: Position,
    /// The name that tests ask by.
    name: String,
    given: Vec<Given>,
}

/// Fixtures that hand on what others gave them.
const MAX_HANDED: usize = 5;

/// Where the class of what a fixture gives is named.
#[derive(Debug, Clone)]
enum Given {
    /// The name of the class stands here.
    Class(usize),
    /// A name of that type stands here.
    Value(usize),
    /// It hands on what the fixture of this name gave it.
    Asked(String),
}

impl Fixtures {
    /// The class of what stands before the dot of a mention.
    pub(crate) fn class_of(&self, mention: &FileSpan) -> Option<&FileSpan> {
        self.classes.get(mention)
    }

    /// Look at the mentions that an engine knows nothing about.
    pub(crate) async fn of(
        engine: &EngineView,
        mentions: &[(Mention, Vec<FileSpan>)],
    ) -> Result<Self> {
        let mut all = Self::default();
        let open = mentions.iter();
        let open: Vec<&Mention> = open
            .filter(|(mention, targets)| mention.is_attribute && targets.is_empty())
            .map(|(mention, _)| mention)
            .collect();
        if open.is_empty() {
            return Ok(all);
        }
        let fixtures = All::read(engine);
        for mention in open {
            let Some(source) = engine.view.source(mention.path.as_ref().as_ref()) else {
                continue;
            };
            let Some(at) = source.offset(mention.span.start) else {
                continue;
            };
            if let Some(class) = fixtures
                .class_at(engine, &mention.path, &source, at)
                .await?
            {
                let place = (engine.absolute(&mention.path), mention.span);
                all.classes.insert(place, class);
            }
        }
        Ok(all)
    }
}

/// The fixtures of a workspace.
#[derive(Debug, Default)]
pub(crate) struct All(Vec<Fixture>);

impl All {
    pub(crate) fn read(engine: &EngineView) -> Self {
        let mut all = Vec::new();
        for file in engine.view.index.files_with("fixture") {
            if let Some(source) = engine.view.source(file.as_ref().as_ref()) {
                all.extend(fixtures_in(&source, &file));
            }
        }
        Self(all)
    }

    /// The class of what the name at a place is taken from, if a fixture gives it.
    pub(crate) async fn class_at(
        &self,
        engine: &EngineView,
        file: &str,
        source: &Source,
        at: usize,
    ) -> Result<Option<FileSpan>> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let receiver = parsed(source.text(), file, |parsed| receiver(parsed.body(), at));
        match receiver.and_then(|receiver| self.seen_from(file, &receiver)) {
            Some(fixture) => self.class(engine, fixture, 0).await,
            None => Ok(None),
        }
    }

    /// The fixture that a file means by a name.
    fn seen_from(&self, file: &str, name: &str) -> Option<&Fixture> {
        let named = || self.0.iter().filter(|f| f.name == name);
        let own = named().find(|f| *f.file == *file);
        own.or_else(|| {
            let seen = named().filter(|f| is_seen(&f.file, file));
            seen.max_by_key(|f| f.file.len())
        })
    }

    /// The class of what a fixture gives.
    async fn class(
        &self,
        engine: &EngineView,
        fixture: &Fixture,
        depth: usize,
    ) -> Result<Option<FileSpan>> {
        let Some(source) = engine.view.source(fixture.file.as_ref().as_ref()) else {
            return Ok(None);
        };
        let source = Arc::new(source);
        for given in &fixture.given {
            let found = match given {
                Given::Class(at) => {
                    let found = meaning(engine, &fixture.file, &source, *at).await?;
                    let mut opened = OpenFiles::new(&engine.view);
                    let mut classes = found.into_iter();
                    classes.find(|(path, span)| {
                        let defined = opened.defined_at(path, span.start);
                        defined.is_some_and(|d| d.kind == Kind::Class)
                    })
                }
                Given::Value(at) => {
                    let at = source.position(*at);
                    let mut found = classes_of(engine, &fixture.file, at).await?;
                    // What an engine has no type for has a type of its own there.
                    found.retain(|(path, _)| !path.to_string_lossy().contains("ty_extensions"));
                    match found.as_slice() {
                        [one] => Some(one.clone()),
                        _ => None,
                    }
                }
                Given::Asked(name) => match self.seen_from(&fixture.file, name) {
                    Some(other) if depth < MAX_HANDED => {
                        Box::pin(self.class(engine, other, depth + 1)).await?
                    }
                    _ => None,
                },
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// Where a fixture is known by its name.
#[derive(Debug, Default)]
pub(crate) struct FixtureUses {
    /// Other fixtures of this name: one takes the place of another.
    pub(crate) fixtures: Vec<FileSpan>,
    /// Parameters that are given what it returns.
    pub parameters: Vec<FileSpan>,
    /// Strings that name it.
    pub strings: Vec<FileSpan>,
}

/// Who asks for a fixture, if one of these definitions is one.
pub(crate) fn asked_for(
    engine: &EngineView,
    name: &str,
    places: &[FileSpan],
) -> Option<FixtureUses> {
    let all = asking(engine, name);
    places
        .iter()
        .any(|place| all.fixtures.contains(place))
        .then_some(all)
}

/// Everything that asks for a fixture of this name.
fn asking(engine: &EngineView, name: &str) -> FixtureUses {
    let mut all = FixtureUses::default();
    for file in engine.view.index.files_with(name) {
        let Some(source) = engine.view.source(file.as_ref().as_ref()) else {
            continue;
        };
        let found = parsed(source.text(), &file, |parsed| {
            let mut find = Asking {
                text: source.text(),
                name,
                is_test: is_test(&file),
                fixtures: Vec::new(),
                parameters: Vec::new(),
                strings: Vec::new(),
            };
            find.visit_body(parsed.body());
            [find.fixtures, find.parameters, find.strings]
        });
        let path = engine.absolute(&file);
        let [fixtures, parameters, strings] = found.map(|ranges| {
            let places = ranges.into_iter().map(|range| {
                let start = source.position(range.start().to_usize());
                let end = source.position(range.end().to_usize());
                (path.clone(), pillion_index::source::Span { start, end })
            });
            places.collect::<Vec<FileSpan>>()
        });
        all.fixtures.extend(fixtures);
        all.parameters.extend(parameters);
        all.strings.extend(strings);
    }
    all
}

/// Who asks for a fixture whose name stands at a place, if it is one: parameters, strings.
pub fn users(engine: &EngineView, name: &str, (path, at): &(PathBuf, Position)) -> Vec<FileSpan> {
    let mut all = Vec::new();
    for file in engine.view.index.files_with(name) {
        if let Some(source) = engine.view.source(file.as_ref().as_ref()) {
            all.extend(fixtures_in(&source, &file));
        }
    }
    let is_own = |fixture: &&Fixture| engine.absolute(&fixture.file) == *path && fixture.at == *at;
    let Some(asked) = all.iter().find(is_own).map(|fixture| fixture.name.clone()) else {
        return Vec::new();
    };
    let mut found = asking(engine, &asked);
    found.parameters.append(&mut found.strings);
    found.parameters
}

/// Whether pytest fills the parameter of this name in the function around a place.
pub(crate) fn is_filled(engine: &EngineView, name: &str, (path, span): &FileSpan) -> bool {
    let Ok(file) = path.strip_prefix(engine.view.root()) else {
        return false;
    };
    let Some(source) = engine.view.source(file) else {
        return false;
    };
    let Some(at) = source.offset(span.start) else {
        return false;
    };
    let file = file.to_string_lossy();
    parsed(source.text(), &file, |parsed| {
        let mut find = Asking {
            text: source.text(),
            name,
            is_test: is_test(&file),
            fixtures: Vec::new(),
            parameters: Vec::new(),
            strings: Vec::new(),
        };
        find.visit_body(parsed.body());
        let mut parameters = find.parameters.iter();
        parameters.any(|range| range.start().to_usize() == at)
    })
}

/// Whether pytest looks for tests in a file.
fn is_test(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.starts_with("test_") || name.ends_with("_test.py") || name == "conftest.py"
}

/// Finds who asks for what by a name.
struct Asking<'n> {
    text: &'n str,
    name: &'n str,
    is_test: bool,
    fixtures: Vec<TextRange>,
    parameters: Vec<TextRange>,
    strings: Vec<TextRange>,
}

impl Asking<'_> {
    /// Whether `parametrize` hands its values to the fixture of the name, and not to the test;
    /// the strings that name it are noted.
    fn hands_over(&mut self, decorator: &Expr) -> bool {
        let Some(call) = decorator.as_call_expr() else {
            return false;
        };
        let elements = |expr: &Expr| match expr {
            Expr::List(list) => list.elts.clone(),
            Expr::Tuple(tuple) => tuple.elts.clone(),
            other => vec![other.clone()],
        };
        let exactly = |expr: &Expr| {
            let all = elements(expr);
            let found = all.iter().filter_map(|e| exact(e, self.text, self.name));
            found.collect::<Vec<_>>()
        };
        let indirect = call.arguments.find_argument_value("indirect", 2);
        let Some(indirect) = indirect else {
            return false;
        };
        let named = exactly(indirect);
        let is_all = indirect.as_boolean_literal_expr().is_some_and(|b| b.value);
        if named.is_empty() && !is_all {
            return false;
        }
        let mut strings = named;
        if let Some(names) = call.arguments.find_argument_value("argnames", 0) {
            for name in elements(names) {
                let Some(literal) = name.as_string_literal_expr() else {
                    continue;
                };
                for part in &literal.value {
                    let text = &self.text[part.range.to_std_range()];
                    for at in words(text, self.name) {
                        let from = part.range.start() + TextSize::try_from(at).unwrap_or_default();
                        strings.push(TextRange::at(from, TextSize::of(self.name)));
                    }
                }
            }
        }
        self.strings.extend(strings);
        true
    }
}

impl<'a> Visitor<'a> for Asking<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::FunctionDef(function) = stmt {
            let fixture = fixture_name(function);
            if fixture.as_deref() == Some(self.name) && function.name == *self.name {
                self.fixtures.push(function.name.range);
            }
            let is_asking = fixture.is_some() || self.is_test && function.name.starts_with("test");
            // What a decorator names is filled by that.
            let is_named = function.decorator_list.iter().any(|decorator| {
                let text = self.text.get(decorator.range().to_std_range());
                text.is_some_and(|text| text.contains("parametrize") && text.contains(self.name))
                    && !self.hands_over(&decorator.expression)
            });
            if is_asking && !is_named {
                let all = function.parameters.iter_non_variadic_params();
                let own = all.filter(|p| p.parameter.name == *self.name && p.default.is_none());
                self.parameters.extend(own.map(|p| p.parameter.name.range));
            }
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr {
            let function = match &*call.func {
                Expr::Name(name) => name.id.as_str(),
                Expr::Attribute(attribute) => attribute.attr.as_str(),
                _ => "",
            };
            if matches!(function, "usefixtures" | "getfixturevalue") {
                let args = call.arguments.args.iter();
                let named = args.filter_map(|arg| exact(arg, self.text, self.name));
                self.strings.extend(named);
            }
        }
        visitor::walk_expr(self, expr);
    }
}

/// Whether tests of a file are given the fixtures of another.
fn is_seen(fixture: &str, test: &str) -> bool {
    let folder = modules::parent(fixture);
    fixture.rsplit('/').next() == Some("conftest.py")
        && (folder.is_empty() || test.starts_with(&format!("{folder}/")))
}

/// The parameter that the attribute at a place is taken from.
fn receiver(body: &[Stmt], at: usize) -> Option<String> {
    struct Find<'a> {
        at: usize,
        functions: Vec<&'a StmtFunctionDef>,
        found: Option<String>,
    }
    impl<'a> Visitor<'a> for Find<'a> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            if let Stmt::FunctionDef(function) = stmt {
                self.functions.push(function);
                visitor::walk_stmt(self, stmt);
                self.functions.pop();
            } else {
                visitor::walk_stmt(self, stmt);
            }
        }
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Attribute(attribute) = expr
                && attribute.attr.range.start().to_usize() == self.at
                && let Expr::Name(name) = &*attribute.value
                && let Some(function) = self.functions.last()
            {
                let mut parameters = function.parameters.iter();
                let is_given =
                    parameters.any(|p| *p.name() == *name.id && p.annotation().is_none());
                self.found = is_given.then(|| name.id.to_string());
            }
            visitor::walk_expr(self, expr);
        }
    }
    let mut find = Find {
        at,
        functions: Vec::new(),
        found: None,
    };
    find.visit_body(body);
    find.found
}

/// The fixtures that a file defines.
fn fixtures_in(source: &Source, file: &Arc<str>) -> Vec<Fixture> {
    struct Find<'f> {
        file: &'f Arc<str>,
        source: &'f Source,
        found: Vec<Fixture>,
    }
    impl<'a> Visitor<'a> for Find<'_> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            if let Stmt::FunctionDef(function) = stmt
                && let Some(name) = fixture_name(function)
            {
                self.found.push(Fixture {
                    file: Arc::clone(self.file),
                    at: self.source.position(function.name.range.start().to_usize()),
                    name,
                    given: given(function),
                });
            }
            visitor::walk_stmt(self, stmt);
        }
        fn visit_expr(&mut self, _: &'a Expr) {}
    }
    let mut find = Find {
        file,
        source,
        found: Vec::new(),
    };
    parsed(source.text(), file, |parsed| find.visit_body(parsed.body()));
    find.found
}

/// The name under which tests ask for a function, if it is a fixture.
fn fixture_name(function: &StmtFunctionDef) -> Option<String> {
    let is_fixture = |expr: &Expr| match expr {
        Expr::Name(name) => name.id == "fixture",
        Expr::Attribute(attribute) => attribute.attr == *"fixture",
        _ => false,
    };
    function.decorator_list.iter().find_map(|decorator| {
        let Expr::Call(call) = &decorator.expression else {
            return is_fixture(&decorator.expression).then(|| function.name.to_string());
        };
        is_fixture(&call.func).then_some(())?;
        let mut keywords = call.arguments.keywords.iter();
        let name = keywords.find(|k| k.arg.as_ref().is_some_and(|arg| arg == "name"));
        let name = name.and_then(|k| k.value.as_string_literal_expr());
        Some(name.map_or_else(
            || function.name.to_string(),
            |name| name.value.to_str().to_owned(),
        ))
    })
}

/// Where the class of what a function gives is named: its annotation, else what it returns.
fn given(function: &StmtFunctionDef) -> Vec<Given> {
    fn last(expr: &Expr) -> Option<usize> {
        match expr {
            Expr::Name(name) => Some(name.range.start().to_usize()),
            Expr::Attribute(attribute) => Some(attribute.attr.range.start().to_usize()),
            _ => None,
        }
    }
    fn annotated(expr: &Expr) -> Option<usize> {
        let Expr::Subscript(subscript) = expr else {
            return last(expr);
        };
        let around = match &*subscript.value {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => "",
        };
        if !AROUND.contains(&around) {
            return last(&subscript.value);
        }
        match &*subscript.slice {
            Expr::Tuple(tuple) => tuple.elts.first().and_then(annotated),
            other => annotated(other),
        }
    }
    struct Find<'f>(&'f StmtFunctionDef, Vec<Given>);
    impl<'a> Visitor<'a> for Find<'_> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            match stmt {
                Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
                Stmt::Return(result) => {
                    if let Some(value) = &result.value {
                        self.value(value);
                    }
                }
                _ => visitor::walk_stmt(self, stmt),
            }
        }
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Yield(result) = expr
                && let Some(value) = &result.value
            {
                self.value(value);
            }
            visitor::walk_expr(self, expr);
        }
    }
    impl Find<'_> {
        fn value(&mut self, expr: &Expr) {
            let mut parameters = self.0.parameters.iter();
            let given = match expr {
                Expr::Call(call) => last(&call.func).map(Given::Class),
                Expr::Name(name)
                    if parameters.any(|p| *p.name() == *name.id && p.annotation().is_none()) =>
                {
                    Some(Given::Asked(name.id.to_string()))
                }
                other => last(other).map(Given::Value),
            };
            self.1.extend(given);
        }
    }
    if let Some(returns) = &function.returns {
        // A name in quotes stands one character further on.
        let at = match &**returns {
            Expr::StringLiteral(quoted) => Some(quoted.range().start().to_usize() + 1),
            other => annotated(other),
        };
        if let Some(at) = at {
            return vec![Given::Class(at)];
        }
    }
    let mut find = Find(function, Vec::new());
    find.visit_body(&function.body);
    find.1
}

//! From the text of a file to what the index knows about it.

use std::collections::HashSet;

use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{Expr, Stmt, StmtClassDef, StmtFunctionDef, StmtImportFrom};
use ruff_text_size::{Ranged, TextRange};

use super::dunder_all;
use super::facts::{Facts, Import, Kind, ParseError, Symbol, name_hash};
use crate::parsed::{ENGINE_DEPTH, Parsed, parsed};
use crate::source::{LineColumn, Source, Span};

/// Parse errors that are kept; more say nothing new.
pub const MAX_ERRORS: usize = 20;
/// Characters of a signature or a summary.
const MAX_HEAD: usize = 300;

/// What a file defines, imports and mentions.
pub fn facts(source: &Source, path: &str) -> Facts {
    parsed(source.text(), path, |parsed| read(source, parsed))
}

fn read(source: &Source, parsed: &Parsed) -> Facts {
    let told = |place: TextRange, message: String| {
        let at = LineColumn::from(source.position(place.start().to_usize()));
        ParseError {
            line: at.line,
            column: at.column,
            message,
        }
    };
    let errors = parsed.errors().iter().take(MAX_ERRORS);
    let errors = errors.map(|error| told(error.location, error.error.to_string()));
    // Whoever asks about it is told why so little is known.
    let unknown = parsed.beyond_engines().filter(|_| !parsed.is_refused());
    let unknown = unknown.map(|place| {
        let what = format!("it nests deeper than {ENGINE_DEPTH} levels: its types are not known");
        told(place, what)
    });
    let names: HashSet<u32> = parsed
        .tokens()
        .iter()
        .filter(|token| token.kind() == TokenKind::Name)
        .map(|token| name_hash(&source.text()[token.range()]))
        .collect();
    let mut names: Box<[u32]> = names.into_iter().collect();
    names.sort_unstable();
    let body = parsed.body();
    let mut extractor = Extractor::new(source);
    extractor.visit_body(body);
    Facts {
        symbols: extractor.symbols.into(),
        is_plain: source.is_plain(),
        imports: extractor.imports.into(),
        all: dunder_all::all(body),
        summary: summary(body),
        parse_errors: errors.chain(unknown).collect(),
        is_too_deep: parsed.beyond_engines().is_some(),
        names,
    }
}

struct Extractor<'a> {
    source: &'a Source,
    symbols: Vec<Symbol>,
    imports: Vec<Import>,
    /// The symbols that surround the statement at hand, outermost first.
    around: Vec<usize>,
    /// Functions inside of others that have a `self` or `cls` of their own.
    own_first: HashSet<usize>,
    /// Names that are known already, with what they lie in: the first place counts.
    assigned: HashSet<(Option<usize>, Box<str>)>,
}

impl<'a> Extractor<'a> {
    fn new(source: &'a Source) -> Self {
        Self {
            source,
            symbols: Vec::new(),
            imports: Vec::new(),
            around: Vec::new(),
            own_first: HashSet::new(),
            assigned: HashSet::new(),
        }
    }

    fn span(&self, range: TextRange) -> Span {
        Span {
            start: self.source.position(range.start().to_usize()),
            end: self.source.position(range.end().to_usize()),
        }
    }

    fn container_kind(&self) -> Option<Kind> {
        self.around.last().map(|index| self.symbols[*index].kind)
    }

    fn push(&mut self, name: &str, kind: Kind, container: Option<usize>, spans: [TextRange; 2]) {
        let [span, name_span] = spans.map(|range| self.span(range));
        self.symbols.push(Symbol {
            name: name.into(),
            kind,
            container: container.and_then(|index| u32::try_from(index).ok()),
            span,
            name_span,
            signature: None,
            summary: None,
            bases: Box::default(),
        });
    }

    /// Go into the body of the symbol that was pushed last.
    fn inside(&mut self, body: &'a [Stmt]) {
        self.around.push(self.symbols.len() - 1);
        self.visit_body(body);
        self.around.pop();
    }

    fn class(&mut self, class: &'a StmtClassDef) {
        let container = self.around.last().copied();
        self.push(
            &class.name,
            Kind::Class,
            container,
            [class.range, class.name.range],
        );
        let bases = class.arguments.iter().flat_map(|arguments| &arguments.args);
        let bases = bases.filter_map(dotted).map(Into::into).collect();
        let end = class
            .arguments
            .as_ref()
            .map_or(class.name.range, |a| a.range);
        let head = self.head("class ", class.name.range.cover(end));
        if let Some(symbol) = self.symbols.last_mut() {
            symbol.bases = bases;
            symbol.signature = Some(head);
            symbol.summary = summary(&class.body);
        }
        self.inside(&class.body);
    }

    fn function(&mut self, function: &'a StmtFunctionDef) {
        let container = self.around.last().copied();
        let kind = match self.container_kind() {
            Some(Kind::Class) if is_property(function) => Kind::Property,
            Some(Kind::Class) => Kind::Method,
            _ => Kind::Function,
        };
        let name = &function.name;
        self.push(name, kind, container, [function.range, name.range]);
        let mut parameters = function.parameters.iter();
        if parameters.any(|p| matches!(p.name().as_str(), "self" | "cls")) {
            self.own_first.insert(self.symbols.len() - 1);
        }
        let end = match &function.returns {
            Some(returns) => returns.range(),
            None => function.parameters.range,
        };
        let def = if function.is_async {
            "async def "
        } else {
            "def "
        };
        let head = self.head(def, name.range.cover(end));
        if let Some(symbol) = self.symbols.last_mut() {
            symbol.signature = Some(head);
            symbol.summary = summary(&function.body);
        }
        self.inside(&function.body);
    }

    /// `def name(x: int) -> str` on one line.
    fn head(&self, keyword: &str, range: TextRange) -> Box<str> {
        let text = &self.source.text()[range];
        crate::steps::scan(text.len());
        let words: Vec<&str> = text.split_whitespace().collect();
        let line = words.join(" ").replace("( ", "(").replace(", )", ")");
        let line = line.replace(",)", ")").replace(" )", ")");
        shortened(&format!("{keyword}{line}"))
    }

    /// Names that an assignment gives a value to.
    fn assigned(&mut self, target: &'a Expr, whole: TextRange) {
        match target {
            Expr::Name(name) => {
                let kind = match self.container_kind() {
                    None => Kind::Variable,
                    Some(Kind::Class) => Kind::Attribute,
                    // A local variable is nobody else's business.
                    Some(_) => return,
                };
                let container = self.around.last().copied();
                self.add_once(name.id.as_str(), kind, container, [whole, name.range]);
            }
            Expr::Attribute(attribute) => {
                let receiver = attribute.value.as_name_expr().map(|name| name.id.as_str());
                // `self.x = 1` in a method is an attribute of its class.
                if let (Some("self" | "cls"), Some(class)) = (receiver, self.class_around()) {
                    let name = &attribute.attr;
                    self.add_once(name, Kind::Attribute, Some(class), [whole, name.range]);
                }
            }
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|e| self.assigned(e, whole)),
            Expr::List(list) => list.elts.iter().for_each(|e| self.assigned(e, whole)),
            Expr::Starred(starred) => self.assigned(&starred.value, whole),
            _ => {}
        }
    }

    fn add_once(
        &mut self,
        name: &str,
        kind: Kind,
        container: Option<usize>,
        spans: [TextRange; 2],
    ) {
        if self.assigned.insert((container, name.into())) {
            self.push(name, kind, container, spans);
        }
    }

    /// The class whose method the statement at hand lies in, also in a function of the method
    /// that sees its `self`.
    fn class_around(&self) -> Option<usize> {
        let mut around = self.around.iter().rev();
        let is_inner = |index: usize| {
            self.symbols[index].kind == Kind::Function && !self.own_first.contains(&index)
        };
        let method = around.find(|index| !is_inner(**index))?;
        let class = around.next()?;
        let is = |index: usize, kind| self.symbols[index].kind == kind;
        let in_method = is(*method, Kind::Method) || is(*method, Kind::Property);
        (in_method && is(*class, Kind::Class)).then_some(*class)
    }

    fn import_from(&mut self, import: &'a StmtImportFrom) {
        let dots = ".".repeat(usize::try_from(import.level).unwrap_or(0));
        let module = import.module.as_deref().unwrap_or_default();
        for alias in &import.names {
            let span = self.span(alias.range);
            self.imports.push(Import {
                module: format!("{dots}{module}").into(),
                name: Some(alias.name.as_str().into()),
                alias: alias.asname.as_ref().map(|name| name.as_str().into()),
                span,
            });
        }
    }
}

impl<'a> StatementVisitor<'a> for Extractor<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        crate::steps::take(1);
        match stmt {
            Stmt::ClassDef(class) => self.class(class),
            Stmt::FunctionDef(function) => self.function(function),
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    self.assigned(target, assign.range);
                }
            }
            Stmt::AnnAssign(assign) => self.assigned(&assign.target, assign.range),
            // A class may change what one above it defines.
            Stmt::AugAssign(assign) if assign.target.is_attribute_expr() => {
                self.assigned(&assign.target, assign.range);
            }
            Stmt::TypeAlias(alias) => {
                if let Expr::Name(name) = &*alias.name {
                    let container = self.around.last().copied();
                    let spans = [alias.range, name.range];
                    self.push(name.id.as_str(), Kind::Type, container, spans);
                }
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    let span = self.span(alias.range);
                    self.imports.push(Import {
                        module: alias.name.as_str().into(),
                        name: None,
                        alias: alias.asname.as_ref().map(|name| name.as_str().into()),
                        span,
                    });
                }
            }
            Stmt::ImportFrom(import) => self.import_from(import),
            Stmt::For(each) => {
                self.assigned(&each.target, each.target.range());
                walk_stmt(self, stmt);
            }
            Stmt::With(with) => {
                let targets = with.items.iter().filter_map(|i| i.optional_vars.as_deref());
                targets.for_each(|target| self.assigned(target, target.range()));
                walk_stmt(self, stmt);
            }
            _ => walk_stmt(self, stmt),
        }
    }
}

/// `a.b.C` for a name or a chain of attributes; subscripts are left out.
fn dotted(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(attribute) => {
            Some(format!("{}.{}", dotted(&attribute.value)?, attribute.attr))
        }
        Expr::Subscript(subscript) => dotted(&subscript.value),
        Expr::Call(call) => dotted(&call.func),
        _ => None,
    }
}

fn is_property(function: &StmtFunctionDef) -> bool {
    function.decorator_list.iter().any(|decorator| {
        dotted(&decorator.expression).is_some_and(|name| {
            let last = name.rsplit('.').next().unwrap_or_default();
            matches!(
                last,
                "property" | "cached_property" | "setter" | "getter" | "deleter"
            )
        })
    })
}

/// The first line of a body's documentation.
fn summary(body: &[Stmt]) -> Option<Box<str>> {
    let Some(Stmt::Expr(first)) = body.first() else {
        return None;
    };
    let text = first.value.as_string_literal_expr()?.value.to_str();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(shortened(line))
}

fn shortened(text: &str) -> Box<str> {
    match text.char_indices().nth(MAX_HEAD) {
        Some((end, _)) => format!("{}...", &text[..end]).into(),
        None => text.into(),
    }
}

#[cfg(test)]
#[path = "extract_tests.rs"]
mod tests;

//! From the text of a Python file to its [`Sketch`]: which scopes there are, what they bind,
//! and what is used in them.

mod finish;
mod lower;
mod namespace;
mod pytest;
mod visit;

pub use visit::template_words;

use std::collections::{BTreeSet, HashMap, HashSet};

use pillion_index::parsed::parsed;
use pillion_index::source::Source;
use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{self as ast, Decorator, Parameters, StmtClassDef, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use super::sketch::{
    Binding, Expr, ExprId, Fixture, Head, MODULE, Name, Nature, ScopeId, ScopeKind, Site, Sketch,
    Use,
};

/// Read a text for the map, for whoever wants to know that it can be read.
pub fn try_text(source: &Source, path: &str) {
    drop(sketch(source, path));
}

/// What a file tells the map.
pub(crate) fn sketch(source: &Source, path: &str) -> Sketch {
    let last = u32::try_from(source.line_count()).unwrap_or(u32::MAX);
    parsed(source.text(), path, |parsed| {
        let mut reader = Reader::new(source, last.max(1));
        reader.visit_body(parsed.body());
        let all = pillion_index::offered(parsed.body());
        reader.finish(all.as_deref())
    })
}

/// A scope that is being read.
#[derive(Debug)]
struct Draft {
    kind: ScopeKind,
    name: Name,
    parent: ScopeId,
    lines: (u32, u32),
    line: u32,
    bindings: Vec<(Name, Binding)>,
    heads: Vec<Head>,
    decorators: Vec<ExprId>,
    nature: Nature,
    /// Names that are bound elsewhere although they are assigned here.
    elsewhere: HashMap<Name, ScopeId>,
    /// What its `return`s give.
    returned: HashSet<ExprId>,
}

struct Reader<'a> {
    source: &'a Source,
    names: HashMap<Box<str>, Name>,
    exprs: Vec<Expr>,
    expr_ids: HashMap<Expr, ExprId>,
    scopes: Vec<Draft>,
    uses: Vec<Use>,
    sites: Vec<(Site, ExprId)>,
    stars: Vec<Name>,
    strings: HashSet<u32>,
    affixes: BTreeSet<(Box<str>, Box<str>)>,
    /// Where texts stand that names can be put together from: how these begin and end.
    spellings: Vec<(ScopeId, Box<str>, Box<str>)>,
    /// Where names are looked up that no literal says.
    lookups: Vec<namespace::Lookup>,
    fills: BTreeSet<(ScopeId, u32)>,
    spelled: BTreeSet<(ScopeId, Box<str>)>,
    fixtures: Vec<Fixture>,
    asked: Vec<(ScopeId, Name)>,
    at: ScopeId,
    /// Whose code is read, if it is said in the words of the scope at hand.
    owner: Option<ScopeId>,
}

impl<'a> Reader<'a> {
    fn new(source: &'a Source, last: u32) -> Self {
        let mut reader = Self {
            source,
            names: HashMap::new(),
            exprs: Vec::new(),
            expr_ids: HashMap::new(),
            scopes: Vec::new(),
            uses: Vec::new(),
            sites: Vec::new(),
            stars: Vec::new(),
            strings: HashSet::new(),
            affixes: BTreeSet::new(),
            spellings: Vec::new(),
            lookups: Vec::new(),
            fills: BTreeSet::new(),
            spelled: BTreeSet::new(),
            fixtures: Vec::new(),
            asked: Vec::new(),
            at: MODULE,
            owner: None,
        };
        let name = reader.name("<module>");
        reader.open(ScopeKind::Module, name, (1, last), 1);
        reader
    }

    fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.get(text) {
            return *name;
        }
        let name = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.insert(text.into(), name);
        name
    }

    fn line(&self, range: impl Ranged) -> u32 {
        self.source.position(range.start().to_usize()).line + 1
    }

    fn lines(&self, range: TextRange) -> (u32, u32) {
        let end = self.source.position(range.end().to_usize());
        (self.line(range), end.line + 1)
    }

    /// A new scope in the one at hand; the code that follows is still read in the old one.
    fn open(&mut self, kind: ScopeKind, name: Name, lines: (u32, u32), line: u32) -> ScopeId {
        let id = u32::try_from(self.scopes.len()).unwrap_or(u32::MAX);
        self.scopes.push(Draft {
            kind,
            name,
            parent: self.at,
            lines,
            line,
            bindings: Vec::new(),
            heads: Vec::new(),
            decorators: Vec::new(),
            nature: Nature::Plain,
            elsewhere: HashMap::new(),
            returned: HashSet::new(),
        });
        id
    }

    fn draft(&mut self, id: ScopeId) -> Option<&mut Draft> {
        self.scopes.get_mut(id as usize)
    }

    fn kind(&self, id: ScopeId) -> Option<ScopeKind> {
        self.scopes.get(id as usize).map(|scope| scope.kind)
    }

    /// Read something in a scope.
    fn inside(&mut self, scope: ScopeId, read: impl FnOnce(&mut Self)) {
        let before = (self.at, self.owner.take());
        self.at = scope;
        read(self);
        (self.at, self.owner) = before;
    }

    /// Read what is said in the scope at hand about another, whose code it is. A call is made
    /// where it is said.
    fn about(&mut self, scope: ScopeId, read: impl FnOnce(&mut Self)) {
        let before = self.owner.replace(scope);
        read(self);
        self.owner = before;
    }

    fn bind_in(&mut self, scope: ScopeId, name: Name, binding: Binding) {
        if let Some(draft) = self.draft(scope) {
            let scope = draft.elsewhere.get(&name).copied();
            match scope {
                Some(other) => self.bind_in(other, name, binding),
                None if draft.bindings.contains(&(name, binding)) && draft.bindings.len() < 64 => {}
                None => draft.bindings.push((name, binding)),
            }
        }
    }

    fn bind(&mut self, text: &str, binding: Binding) {
        let name = self.name(text);
        self.bind_in(self.at, name, binding);
    }

    fn use_expr(&mut self, expr: ExprId, is_call: bool, line: u32) {
        let used = Use {
            scope: self.at,
            of: self.at,
            expr,
            is_call,
            line,
        };
        match self.owner {
            None => self.uses.push(used),
            Some(of) => {
                if is_call {
                    self.uses.push(used);
                }
                // Who has what came of the call may call it again.
                self.uses.push(Use {
                    of,
                    is_call: false,
                    ..used
                });
            }
        }
    }

    /// Note that a name is taken from something.
    fn take(&mut self, attribute: &ast::ExprAttribute, is_call: bool) {
        let receiver = self.lower(&attribute.value);
        let site = Site {
            scope: self.at,
            name: self.name(&attribute.attr),
            at: self.source.position(attribute.attr.start().to_usize()),
            is_call,
        };
        self.sites.push((site, receiver));
    }

    fn function(&mut self, function: &'a StmtFunctionDef) {
        let name = self.name(&function.name);
        let lines = self.lines(function.range);
        let line = self.line(function.name.range);
        let scope = self.open(ScopeKind::Function, name, lines, line);
        let mut decorators = Vec::new();
        self.about(scope, |reader| {
            decorators = reader.decorators(&function.decorator_list);
            reader.visit_outer_parts(&function.parameters);
            if let Some(returns) = &function.returns {
                reader.visit_annotation(returns);
            }
        });
        self.given_by_pytest(scope, function);
        self.bind_in(self.at, name, Binding::Definition(scope));
        let in_class = self.kind(self.at) == Some(ScopeKind::Class);
        let nature = lower::nature(&function.decorator_list, &function.name, in_class);
        let annotated = function.returns.as_deref();
        let heads = annotated.map(|returns| self.annotation(returns));
        if let Some(draft) = self.draft(scope) {
            draft.decorators = decorators;
            draft.nature = nature;
            draft.heads = heads.into_iter().flatten().map(Head::Annotated).collect();
        }
        let class = in_class.then_some(self.at);
        self.inside(scope, |reader| {
            reader.parameters(&function.parameters, class, nature);
            reader.visit_body(&function.body);
        });
        if annotated.is_none() {
            self.returned(scope);
        }
    }

    /// Without an annotation, the one thing that a function returns says what it gives.
    fn returned(&mut self, scope: ScopeId) {
        let unknown = self.expr(Expr::Unknown);
        if let Some(draft) = self.draft(scope) {
            let mut all = draft.returned.iter();
            if let (Some(one), None) = (all.next(), all.next())
                && *one != unknown
            {
                draft.heads.push(Head::Returned(*one));
            }
        }
    }

    fn class(&mut self, class: &'a StmtClassDef) {
        let name = self.name(&class.name);
        let lines = self.lines(class.range);
        let line = self.line(class.name.range);
        let scope = self.open(ScopeKind::Class, name, lines, line);
        let mut decorators = Vec::new();
        let arguments = class.arguments.as_deref();
        self.about(scope, |reader| {
            decorators = reader.decorators(&class.decorator_list);
            if let Some(arguments) = arguments {
                reader.visit_arguments(arguments);
            }
        });
        self.asked_by_marks(scope, &class.decorator_list);
        let bases = arguments.map_or(&[][..], |arguments| &arguments.args[..]);
        let heads: Vec<Head> = bases
            .iter()
            .map(|base| Head::Base(self.base(base)))
            .collect();
        self.bind_in(self.at, name, Binding::Definition(scope));
        if let Some(draft) = self.draft(scope) {
            draft.heads = heads;
            draft.decorators = decorators;
        }
        self.inside(scope, |reader| reader.visit_body(&class.body));
    }

    /// A decorator is called with what it decorates, in the scope around.
    fn decorators(&mut self, all: &'a [Decorator]) -> Vec<ExprId> {
        let mut exprs = Vec::new();
        for decorator in all {
            let expr = self.lower(&decorator.expression);
            exprs.push(expr);
            if !matches!(decorator.expression, ast::Expr::Call(_)) {
                let line = self.line(&decorator.expression);
                self.use_expr(expr, true, line);
                self.root(&decorator.expression, true);
            } else {
                self.visit_expr(&decorator.expression);
            }
        }
        exprs
    }

    /// Defaults and annotations of parameters, which belong to the scope around.
    fn visit_outer_parts(&mut self, parameters: &'a Parameters) {
        for parameter in parameters {
            if let Some(default) = parameter.default() {
                self.visit_expr(default);
            }
            if let Some(annotation) = parameter.annotation() {
                self.visit_annotation(annotation);
            }
        }
    }

    fn parameters(&mut self, all: &'a Parameters, class: Option<ScopeId>, nature: Nature) {
        let around = self
            .scopes
            .get(self.at as usize)
            .map_or(MODULE, |s| s.parent);
        let variadic = [&all.vararg, &all.kwarg].map(|p| p.as_deref().map(|p| p.name.as_str()));
        for (place, parameter) in all.iter().enumerate() {
            let text = parameter.name().as_str();
            let first = class.filter(|_| place == 0 && nature != Nature::Static);
            let annotation = parameter
                .annotation()
                .filter(|_| !variadic.contains(&Some(text)));
            match (first, annotation) {
                (Some(class), _) if nature == Nature::OfClass => {
                    self.bind(text, Binding::MyClass(class));
                }
                (Some(class), _) => self.bind(text, Binding::Me(class)),
                (None, Some(annotation)) => self.bind_annotated(text, annotation, around),
                (None, None) => self.bind(text, Binding::Parameter),
            }
        }
    }

    /// A name whose class is written beside it, in the words of another scope.
    fn bind_annotated(&mut self, text: &str, annotation: &ast::Expr, scope: ScopeId) {
        let name = self.name(text);
        let at = self.at;
        for binding in self.annotated(annotation, scope) {
            self.bind_in(at, name, binding);
        }
    }

    /// Everything that an assignment gives a value to.
    fn assign(&mut self, target: &'a ast::Expr, bindings: &[Binding]) {
        match target {
            ast::Expr::Name(name) => {
                for binding in bindings {
                    self.bind(&name.id, *binding);
                }
            }
            ast::Expr::Attribute(attribute) => {
                self.visit_expr(&attribute.value);
                self.assign_to_me(attribute, bindings);
            }
            ast::Expr::Tuple(tuple) => self.assign_opaque(&tuple.elts),
            ast::Expr::List(list) => self.assign_opaque(&list.elts),
            ast::Expr::Starred(starred) => self.assign(&starred.value, &[Binding::Opaque]),
            ast::Expr::Subscript(item) => {
                self.fills(&item.value);
                self.visit_expr(target);
            }
            other => self.visit_expr(other),
        }
    }

    fn assign_opaque(&mut self, targets: &'a [ast::Expr]) {
        for target in targets {
            self.assign(target, &[Binding::Opaque]);
        }
    }

    /// `self.x = value` binds a name of the class.
    fn assign_to_me(&mut self, attribute: &ast::ExprAttribute, bindings: &[Binding]) {
        let Some(receiver) = attribute.value.as_name_expr() else {
            return;
        };
        let receiver = self.name(&receiver.id);
        let here = self.scopes.get(self.at as usize);
        let class = here.and_then(|scope| {
            scope
                .bindings
                .iter()
                .find_map(|(name, binding)| match binding {
                    Binding::Me(class) | Binding::MyClass(class) if *name == receiver => {
                        Some(*class)
                    }
                    _ => None,
                })
        });
        if let Some(class) = class {
            let name = self.name(&attribute.attr);
            for binding in bindings {
                self.bind_in(class, name, *binding);
            }
        }
    }

    /// What a value binds a name to.
    fn valued(&mut self, value: &ast::Expr) -> Binding {
        if matches!(value, ast::Expr::NoneLiteral(_)) {
            return Binding::Nothing;
        }
        let expr = self.lower(value);
        match self.exprs.get(expr as usize) {
            Some(Expr::Unknown) | None => Binding::Opaque,
            Some(_) => Binding::Value(expr, self.at),
        }
    }
}

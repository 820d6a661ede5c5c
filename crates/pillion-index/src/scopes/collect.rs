//! The walk over a file that finds scopes, bindings and uses.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    Alias, ExceptHandler, Expr, ExprContext, Parameters, Pattern, Stmt, StmtClassDef,
    StmtFunctionDef, StmtImportFrom, StringLiteral, TypeParam, TypeParams,
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::{ImportStmt, ImportedName, LexicalScope, MODULE, Owner, Role, Use, When};
use crate::parsed;

pub(super) struct Collector<'t> {
    text: &'t str,
    pub(super) scopes: Vec<LexicalScope>,
    pub(super) uses: Vec<Use>,
    pub(super) imports: Vec<ImportStmt>,
    current: usize,
    when: When,
    /// How deep in blocks: 0 is a statement of the module itself.
    depth: usize,
    for_types: bool,
    /// Whether annotations are never evaluated.
    lazy_annotations: bool,
    in_annotation: bool,
    /// How many statements were begun.
    statement: usize,
}

impl<'t> Collector<'t> {
    pub(super) fn new(text: &'t str, body: &[Stmt]) -> Self {
        let lazy_annotations = body.iter().any(|stmt| match stmt {
            Stmt::ImportFrom(import) => {
                import.module.as_deref() == Some("__future__")
                    && import
                        .names
                        .iter()
                        .any(|alias| &alias.name == "annotations")
            }
            _ => false,
        });
        let mut new = Self {
            text,
            scopes: Vec::new(),
            uses: Vec::new(),
            imports: Vec::new(),
            current: MODULE,
            when: When::Import,
            depth: 0,
            for_types: false,
            lazy_annotations,
            in_annotation: false,
            statement: 0,
        };
        new.scopes.push(scope(Owner::Module, None));
        new
    }

    fn inside(&mut self, owner: Owner, look: impl FnOnce(&mut Self)) {
        let before = self.current;
        self.current = self.scopes.len();
        self.scopes.push(scope(owner, Some(before)));
        look(self);
        self.current = before;
    }

    fn at(&mut self, when: When, look: impl FnOnce(&mut Self)) {
        let before = self.when;
        self.when = before.min(when);
        look(self);
        self.when = before;
    }

    fn note(&mut self, name: &str, range: TextRange, role: Role) {
        let at = self.current;
        self.note_in(at, name, range, role, Vec::new());
    }

    fn note_in(
        &mut self,
        scope: usize,
        name: &str,
        range: TextRange,
        role: Role,
        parts: Vec<(String, TextRange)>,
    ) {
        if role != Role::Read {
            self.scopes[scope].bound.insert(name.to_owned());
            if self.scopes[scope].owner == Owner::Class {
                let since = &mut self.scopes[scope].since;
                since.entry(name.to_owned()).or_insert(self.statement);
            }
            if self.scopes[scope].global.contains(name) {
                self.scopes[MODULE].bound.insert(name.to_owned());
            }
        }
        self.uses.push(Use {
            name: name.to_owned(),
            range,
            role,
            when: self.when,
            scope,
            statement: self.statement,
            parts,
        });
    }

    fn function(&mut self, function: &StmtFunctionDef) {
        for decorator in &function.decorator_list {
            self.visit_decorator(decorator);
        }
        self.note(&function.name, function.name.range, Role::Define);
        self.with_type_params(function.type_params.as_deref(), |this| {
            this.signature(&function.parameters);
            if let Some(returns) = &function.returns {
                this.visit_annotation(returns);
            }
            this.inside(Owner::Function, |this| {
                this.bind_parameters(&function.parameters);
                this.at(When::Later, |this| this.visit_body(&function.body));
            });
        });
    }

    fn class(&mut self, class: &StmtClassDef) {
        for decorator in &class.decorator_list {
            self.visit_decorator(decorator);
        }
        self.note(&class.name, class.name.range, Role::Define);
        self.with_type_params(class.type_params.as_deref(), |this| {
            if let Some(arguments) = &class.arguments {
                this.visit_arguments(arguments);
            }
            this.inside(Owner::Class, |this| this.visit_body(&class.body));
        });
    }

    fn with_type_params(&mut self, params: Option<&TypeParams>, look: impl FnOnce(&mut Self)) {
        match params {
            None => look(self),
            Some(params) => self.inside(Owner::Function, |this| {
                this.visit_type_params(params);
                look(this);
            }),
        }
    }

    /// What a head evaluates: defaults and annotations.
    fn signature(&mut self, parameters: &Parameters) {
        for parameter in parameters.iter_non_variadic_params() {
            if let Some(default) = &parameter.default {
                self.visit_expr(default);
            }
        }
        for parameter in parameters {
            if let Some(annotation) = parameter.annotation() {
                self.visit_annotation(annotation);
            }
        }
    }

    fn bind_parameters(&mut self, parameters: &Parameters) {
        for parameter in parameters {
            let name = parameter.name();
            self.note(name, name.range, Role::Bind);
        }
    }

    fn import(&mut self, range: TextRange, from: Option<(String, TextRange)>, names: &[Alias]) {
        let is_from = from.is_some();
        let names: Vec<ImportedName> = names
            .iter()
            .map(|alias| ImportedName {
                name: alias.name.to_string(),
                name_range: alias.name.range,
                alias: alias.asname.as_ref().map(ToString::to_string),
                range: alias.range,
            })
            .collect();
        for name in names.iter().filter(|name| name.name != "*") {
            let spelled = match (&name.alias, is_from) {
                (Some(alias), _) => {
                    let length = TextSize::try_from(alias.len()).unwrap_or_default();
                    TextRange::new(name.range.end() - length, name.range.end())
                }
                (None, true) => name.name_range,
                (None, false) => {
                    let head = name.bound(false);
                    TextRange::at(name.name_range.start(), TextSize::of(head))
                }
            };
            self.note(name.bound(is_from), spelled, Role::Import);
        }
        self.imports.push(ImportStmt {
            range,
            scope: self.current,
            from,
            names,
            for_types: self.for_types,
            at_top: self.depth == 0,
        });
    }

    /// What stands between `from` and `import`, and where.
    fn module_of(&self, import: &StmtImportFrom) -> (String, TextRange) {
        let start = import.range.start() + TextSize::of("from");
        let first = import
            .names
            .first()
            .map_or(import.range.end(), Ranged::start);
        let between = &self.text[TextRange::new(start, first)];
        let lead = between.len() - between.trim_start().len();
        let start = start + TextSize::try_from(lead).unwrap_or_default();
        let end = match &import.module {
            Some(module) => module.range.end(),
            None => start + TextSize::new(import.level),
        };
        let dots = ".".repeat(usize::try_from(import.level).unwrap_or_default());
        let name = import.module.as_deref().unwrap_or_default();
        (format!("{dots}{name}"), TextRange::new(start, end))
    }

    fn blocks(&mut self, stmt: &Stmt) {
        self.depth += 1;
        match stmt {
            Stmt::If(test) if is_for_types(&self.text[test.test.range()]) => {
                self.visit_expr(&test.test);
                let before = std::mem::replace(&mut self.for_types, true);
                self.visit_body(&test.body);
                self.for_types = before;
                for clause in &test.elif_else_clauses {
                    self.visit_elif_else_clause(clause);
                }
            }
            _ => visitor::walk_stmt(self, stmt),
        }
        self.depth -= 1;
    }

    /// A chain of attributes that begins with a name.
    fn chain(&mut self, expr: &Expr) -> bool {
        let mut parts = Vec::new();
        let mut next = expr;
        while let Expr::Attribute(attribute) = next {
            parts.push((attribute.attr.to_string(), attribute.attr.range));
            next = &attribute.value;
        }
        let Expr::Name(name) = next else {
            return false;
        };
        parts.reverse();
        let at = self.current;
        self.note_in(at, name.id.as_str(), name.range, Role::Read, parts);
        true
    }

    fn comprehension(&mut self, expr: &Expr) {
        let (generators, results): (_, Vec<&Expr>) = match expr {
            Expr::ListComp(comp) => (&comp.generators, vec![&comp.elt]),
            Expr::SetComp(comp) => (&comp.generators, vec![&comp.elt]),
            Expr::Generator(comp) => (&comp.generators, vec![&comp.elt]),
            Expr::DictComp(comp) => {
                let key = comp.key.iter().map(|key| &**key);
                (&comp.generators, key.chain([&*comp.value]).collect())
            }
            _ => return,
        };
        if let Some(first) = generators.first() {
            self.visit_expr(&first.iter);
        }
        self.inside(Owner::Comprehension, |this| {
            for (index, generator) in generators.iter().enumerate() {
                this.visit_expr(&generator.target);
                if index > 0 {
                    this.visit_expr(&generator.iter);
                }
                generator.ifs.iter().for_each(|test| this.visit_expr(test));
            }
            results
                .into_iter()
                .for_each(|result| this.visit_expr(result));
        });
    }

    /// A string in an annotation is the expression it holds.
    fn quoted(&mut self, literal: &StringLiteral) {
        let text = self.text;
        parsed::annotation(text, literal, |expr| {
            self.at(When::Never, |this| this.visit_expr(expr));
        });
    }
}

impl Visitor<'_> for Collector<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        crate::steps::take(1);
        self.statement += 1;
        match stmt {
            Stmt::FunctionDef(function) => {
                self.depth += 1;
                self.function(function);
                self.depth -= 1;
            }
            Stmt::ClassDef(class) => {
                self.depth += 1;
                self.class(class);
                self.depth -= 1;
            }
            Stmt::Import(import) => self.import(import.range, None, &import.names),
            Stmt::ImportFrom(import) => {
                let from = self.module_of(import);
                self.import(import.range, Some(from), &import.names);
            }
            Stmt::Global(global) => {
                for name in &global.names {
                    self.scopes[self.current].global.insert(name.to_string());
                    // Whoever says so means to change it.
                    self.note_in(MODULE, name, name.range, Role::Change, Vec::new());
                }
            }
            Stmt::Nonlocal(nonlocal) => {
                for name in &nonlocal.names {
                    self.scopes[self.current].nonlocal.insert(name.to_string());
                    self.note(name, name.range, Role::Read);
                }
            }
            Stmt::AugAssign(assign) => {
                self.visit_expr(&assign.value);
                match &*assign.target {
                    Expr::Name(name) => self.note(name.id.as_str(), name.range, Role::Change),
                    other => self.visit_expr(other),
                }
            }
            Stmt::TypeAlias(alias) => {
                self.visit_expr(&alias.name);
                self.with_type_params(alias.type_params.as_deref(), |this| {
                    this.at(When::Later, |this| this.visit_expr(&alias.value));
                });
            }
            _ => self.blocks(stmt),
        }
    }

    fn visit_annotation(&mut self, expr: &Expr) {
        let when = if self.lazy_annotations {
            When::Never
        } else {
            When::Import
        };
        let before = std::mem::replace(&mut self.in_annotation, true);
        self.at(when, |this| this.visit_expr(expr));
        self.in_annotation = before;
    }

    fn visit_expr(&mut self, expr: &Expr) {
        crate::steps::take(1);
        match expr {
            Expr::Name(name) => {
                let role = match name.ctx {
                    ExprContext::Store => Role::Bind,
                    ExprContext::Del => Role::Change,
                    _ => Role::Read,
                };
                self.note(name.id.as_str(), name.range, role);
            }
            Expr::Attribute(_) if self.chain(expr) => {}
            Expr::Lambda(lambda) => {
                if let Some(parameters) = &lambda.parameters {
                    self.signature(parameters);
                }
                self.inside(Owner::Function, |this| {
                    if let Some(parameters) = &lambda.parameters {
                        this.bind_parameters(parameters);
                    }
                    this.at(When::Later, |this| this.visit_expr(&lambda.body));
                });
            }
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
                self.comprehension(expr);
            }
            Expr::Named(named) => {
                self.visit_expr(&named.value);
                if let Expr::Name(name) = &*named.target {
                    // It is a name of the function around, not of the comprehension.
                    let mut scope = self.current;
                    while self.scopes[scope].owner == Owner::Comprehension {
                        scope = self.scopes[scope].parent.unwrap_or(MODULE);
                    }
                    let name_of = name.id.as_str();
                    self.note_in(scope, name_of, name.range, Role::Bind, Vec::new());
                }
            }
            Expr::StringLiteral(string) if self.in_annotation => {
                string.value.iter().for_each(|part| self.quoted(part));
            }
            Expr::Subscript(subscript) if self.in_annotation => {
                self.visit_expr(&subscript.value);
                // What a literal type holds are values.
                let is_literal = self.text[subscript.value.range()].ends_with("Literal");
                let before = self.in_annotation;
                self.in_annotation = !is_literal;
                self.visit_expr(&subscript.slice);
                self.in_annotation = before;
            }
            _ => visitor::walk_expr(self, expr),
        }
    }

    fn visit_except_handler(&mut self, handler: &ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        if let Some(name) = &inner.name {
            self.note(name, name.range, Role::Bind);
        }
        visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &Pattern) {
        let name = match pattern {
            Pattern::MatchAs(named) => named.name.as_ref(),
            Pattern::MatchStar(named) => named.name.as_ref(),
            Pattern::MatchMapping(mapping) => mapping.rest.as_ref(),
            _ => None,
        };
        if let Some(name) = name {
            self.note(name, name.range, Role::Bind);
        }
        visitor::walk_pattern(self, pattern);
    }

    fn visit_type_param(&mut self, param: &TypeParam) {
        let name = param.name();
        self.note(name, name.range, Role::Bind);
        visitor::walk_type_param(self, param);
    }
}

fn scope(owner: Owner, parent: Option<usize>) -> LexicalScope {
    LexicalScope {
        owner,
        parent,
        bound: BTreeSet::new(),
        global: BTreeSet::new(),
        nonlocal: BTreeSet::new(),
        since: BTreeMap::new(),
    }
}

fn is_for_types(test: &str) -> bool {
    matches!(
        test,
        "TYPE_CHECKING" | "typing.TYPE_CHECKING" | "t.TYPE_CHECKING" | "False"
    )
}

//! What Python refuses to compile although it can be parsed: a `return` outside of a function,
//! an `await` in a function that is not `async`, a late `from __future__`, and the like.
//!
//! The rules are the parser's own; this module tells it in which scopes and loops it stands.

use std::cell::RefCell;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Comprehension, Expr, PythonVersion, Stmt};
use ruff_python_parser::semantic_errors::{
    LazyImportContext, SemanticSyntaxChecker, SemanticSyntaxContext, SemanticSyntaxError,
};
use ruff_text_size::TextRange;

use crate::parsed::parsed;

/// What Python would refuse to compile in a text, with the lines. Nothing is said of a text
/// that has errors already for the parser.
pub fn refused(text: &str, path: &str) -> Vec<String> {
    let found = parsed(text, path, |parsed| {
        let mut walk = Walk {
            source: text,
            checker: SemanticSyntaxChecker::new(),
            scopes: vec![Scope::new(Kind::Module)],
            found: RefCell::new(Vec::new()),
        };
        if parsed.errors().is_empty() {
            walk.visit_body(parsed.body());
        }
        walk.found.into_inner()
    });
    let told = found.iter().map(|error| {
        let before = &text[..error.range.start().to_usize()];
        let line = before.matches('\n').count() + 1;
        format!("line {line}: {error}")
    });
    told.collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Module,
    Class,
    Function { is_async: bool },
    Lambda,
    Comprehension { is_async: bool, is_generator: bool },
}

#[derive(Debug, Clone, Copy)]
struct Scope {
    kind: Kind,
    /// How many loops of this scope are around.
    loops: usize,
}

impl Scope {
    fn new(kind: Kind) -> Self {
        Self { kind, loops: 0 }
    }
}

struct Walk<'a> {
    source: &'a str,
    checker: SemanticSyntaxChecker,
    scopes: Vec<Scope>,
    found: RefCell<Vec<SemanticSyntaxError>>,
}

impl Walk<'_> {
    fn kinds(&self) -> impl Iterator<Item = Kind> + '_ {
        self.scopes.iter().rev().map(|scope| scope.kind)
    }

    /// The innermost scope that is no comprehension.
    fn around(&self) -> Kind {
        let mut kinds = self.kinds();
        let found = kinds.find(|kind| !matches!(kind, Kind::Comprehension { .. }));
        found.unwrap_or(Kind::Module)
    }

    fn within(&mut self, kind: Kind, walk: impl FnOnce(&mut Self)) {
        self.scopes.push(Scope::new(kind));
        walk(self);
        self.scopes.pop();
    }

    fn in_loop(&mut self, walk: impl FnOnce(&mut Self)) {
        let at = self.scopes.len() - 1;
        self.scopes[at].loops += 1;
        walk(self);
        self.scopes[at].loops -= 1;
    }

    fn comprehension(&mut self, generators: &[Comprehension], is_generator: bool, parts: &[&Expr]) {
        let is_async = generators.iter().any(|generator| generator.is_async);
        for generator in generators {
            self.visit_comprehension(generator);
        }
        let kind = Kind::Comprehension {
            is_async,
            is_generator,
        };
        self.within(kind, |walk| {
            parts.iter().for_each(|part| walk.visit_expr(part));
        });
    }
}

impl Visitor<'_> for Walk<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        let mut checker = std::mem::take(&mut self.checker);
        checker.visit_stmt(stmt, &*self);
        self.checker = checker;
        match stmt {
            Stmt::ClassDef(class) => {
                for decorator in &class.decorator_list {
                    self.visit_decorator(decorator);
                }
                if let Some(arguments) = &class.arguments {
                    self.visit_arguments(arguments);
                }
                self.within(Kind::Class, |walk| walk.visit_body(&class.body));
            }
            Stmt::FunctionDef(function) => {
                for decorator in &function.decorator_list {
                    self.visit_decorator(decorator);
                }
                self.visit_parameters(&function.parameters);
                if let Some(returns) = &function.returns {
                    self.visit_annotation(returns);
                }
                let is_async = function.is_async;
                self.within(Kind::Function { is_async }, |walk| {
                    walk.visit_body(&function.body);
                });
            }
            Stmt::For(looped) => {
                self.visit_expr(&looped.iter);
                self.visit_expr(&looped.target);
                self.in_loop(|walk| walk.visit_body(&looped.body));
                self.visit_body(&looped.orelse);
            }
            Stmt::While(looped) => {
                self.visit_expr(&looped.test);
                self.in_loop(|walk| walk.visit_body(&looped.body));
                self.visit_body(&looped.orelse);
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &Expr) {
        let mut checker = std::mem::take(&mut self.checker);
        checker.visit_expr(expr, &*self);
        self.checker = checker;
        match expr {
            Expr::Lambda(lambda) => {
                if let Some(parameters) = &lambda.parameters {
                    self.visit_parameters(parameters);
                }
                self.within(Kind::Lambda, |walk| walk.visit_expr(&lambda.body));
            }
            Expr::ListComp(made) => self.comprehension(&made.generators, false, &[&made.elt]),
            Expr::SetComp(made) => self.comprehension(&made.generators, false, &[&made.elt]),
            Expr::Generator(made) => self.comprehension(&made.generators, true, &[&made.elt]),
            Expr::DictComp(made) => {
                let key = made.key.as_deref();
                let parts: Vec<&Expr> = key.into_iter().chain([&*made.value]).collect();
                self.comprehension(&made.generators, false, &parts);
            }
            _ => visitor::walk_expr(self, expr),
        }
    }
}

impl SemanticSyntaxContext for Walk<'_> {
    fn future_annotations_or_stub(&self) -> bool {
        // What annotations may hold is the type checker's.
        true
    }

    fn lazy_import_context(&self) -> Option<LazyImportContext> {
        None
    }

    fn python_version(&self) -> PythonVersion {
        PythonVersion::latest()
    }

    fn source(&self) -> &str {
        self.source
    }

    fn global(&self, _name: &str) -> Option<TextRange> {
        None
    }

    fn has_nonlocal_binding(&self, _name: &str) -> bool {
        true
    }

    fn in_async_context(&self) -> bool {
        let comprehension =
            |kind: &Kind| matches!(kind, Kind::Comprehension { is_async: true, .. });
        let is_async = matches!(self.around(), Kind::Function { is_async: true });
        is_async || self.kinds().next().as_ref().is_some_and(comprehension)
    }

    fn in_await_allowed_context(&self) -> bool {
        matches!(self.around(), Kind::Function { .. } | Kind::Lambda)
    }

    fn in_yield_allowed_context(&self) -> bool {
        let innermost = self.kinds().next();
        matches!(innermost, Some(Kind::Function { .. } | Kind::Lambda))
    }

    fn in_sync_comprehension(&self) -> bool {
        // Python 3.11 and newer allow what this forbids.
        false
    }

    fn in_class_body_comprehension(&self) -> bool {
        self.around() == Kind::Class
    }

    fn in_module_scope(&self) -> bool {
        self.scopes.len() == 1
    }

    fn in_function_scope(&self) -> bool {
        matches!(self.kinds().next(), Some(Kind::Function { .. }))
    }

    fn in_generator_context(&self) -> bool {
        let innermost = self.kinds().next();
        matches!(
            innermost,
            Some(Kind::Comprehension {
                is_generator: true,
                ..
            })
        )
    }

    fn in_notebook(&self) -> bool {
        false
    }

    fn report_semantic_error(&self, error: SemanticSyntaxError) {
        self.found.borrow_mut().push(error);
    }

    fn in_loop_context(&self) -> bool {
        self.scopes.last().is_some_and(|scope| scope.loops > 0)
    }

    fn is_bound_parameter(&self, _name: &str) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::refused;

    #[test]
    fn what_python_does_not_compile_is_told() {
        for text in [
            "return 1\n",
            "class A:\n    return 1\n",
            "def f():\n    await g()\n",
            "class A:\n    yield 1\n",
            "x = 1\nfrom __future__ import annotations\n",
            "def f():\n    break\n",
            "for x in y:\n    pass\nelse:\n    continue\n",
            "f(a=1, a=2)\n",
            "def f(a, a): pass\n",
            "def f():\n    from x import *\n",
        ] {
            assert_eq!(refused(text, "a.py").len(), 1, "{text}");
        }
    }

    #[test]
    fn what_it_does_compile_is_not() {
        for text in [
            "'''Doc.'''\nfrom __future__ import annotations\nimport x\n",
            "async def f():\n    await g()\n    return [await h() for _ in x]\n",
            "async def f():\n    yield 1\n    async for x in y:\n        continue\n",
            "def f():\n    for x in y:\n        if x:\n            break\n    x = lambda: (yield)\n",
            "async def f():\n    async def g(a=await h()): pass\n    return (x async for x in y)\n",
            "class A:\n    x = [y for y in z]\n    def f(self):\n        global q\n        q = 1\n",
            "while 1:\n    try:\n        continue\n    finally:\n        break\n",
            "def f():\n    def g():\n        nonlocal_ = 1\n        return nonlocal_\n    yield from g()\n",
            "match x:\n    case {'a': a}: pass\n    case A(b=1): pass\n    case _: pass\n",
        ] {
            assert_eq!(refused(text, "a.py"), Vec::<String>::new(), "{text}");
        }
    }
}

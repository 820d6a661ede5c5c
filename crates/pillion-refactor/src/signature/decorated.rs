//! Decorators that call what they are given with arguments of their own.
//!
//! `return f(connection, *args, **kwargs)` passes something that no caller writes: whoever
//! gives the function other parameters has to look at that as well.

use std::collections::BTreeSet;

use pillion_catalogue::Result;
use pillion_index::parsed::parsed;
use pillion_index::source::Span;
use pillion_symbols::ask::EngineView;
use pillion_symbols::definitions::meaning;
use pillion_symbols::open_files::{FileSpan, OpenFiles};
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprCall, Stmt, StmtFunctionDef};

use super::function::{self, start};
use super::subject::Definition;
use crate::subject::absolute;

/// Where decorators of a definition call it with arguments of their own.
pub(super) async fn own_arguments(
    engine: &EngineView,
    opened: &mut OpenFiles,
    definition: &Definition,
) -> Result<Vec<FileSpan>> {
    let text = definition.source.text();
    let names = parsed(text, &definition.file, |parsed| {
        let found = function::find(parsed.body(), definition.offset);
        let decorators = found.map_or(&[][..], |(found, _)| &found.decorator_list);
        let names = decorators.iter().map(|decorator| &decorator.expression);
        names.filter_map(name_at).collect::<Vec<usize>>()
    });
    let mut found = Vec::new();
    for at in names {
        let means = meaning(engine, &definition.file, &definition.source, at).await?;
        for (path, span) in means {
            let file = opened.name(&path).0;
            if engine.view.index.get(&file).is_none() {
                continue;
            }
            let Some(source) = opened.source(&absolute(engine, &file)) else {
                continue;
            };
            let Some(at) = source.offset(span.start) else {
                continue;
            };
            let calls = parsed(source.text(), &file, |parsed| {
                let decorator = function::find(parsed.body(), at);
                decorator.map(|(decorator, _)| calls_in(decorator))
            });
            for at in calls.unwrap_or_default() {
                let place = source.position(at);
                let end = source.word_at(place).map_or(place, |(_, word)| word.end);
                found.push((path.clone(), Span { start: place, end }));
            }
        }
    }
    Ok(found)
}

/// Where the name of a decorator stands.
fn name_at(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Name(name) => Some(start(name.range)),
        Expr::Attribute(attribute) => Some(start(attribute.attr.range)),
        Expr::Call(call) => name_at(&call.func),
        _ => None,
    }
}

/// Where a decorator calls what it, or a function inside of it, was given, and does not only
/// hand on what that was given.
fn calls_in(decorator: &StmtFunctionDef) -> Vec<usize> {
    struct Find<'a> {
        /// The parameters of the functions around, outermost first.
        around: Vec<BTreeSet<&'a str>>,
        found: Vec<usize>,
    }
    impl<'a> Find<'a> {
        fn function(&mut self, function: &'a StmtFunctionDef) {
            let own = function.parameters.iter().map(|p| p.name().as_str());
            self.around.push(own.collect());
            self.visit_body(&function.body);
            self.around.pop();
        }

        fn hands_on(&self, call: &ExprCall) -> bool {
            let is_own = |expr: &Expr| {
                let expr = expr
                    .as_starred_expr()
                    .map_or(expr, |starred| &starred.value);
                let name = expr.as_name_expr().map(|name| name.id.as_str());
                let own = self.around.last();
                name.is_some_and(|name| own.is_some_and(|own| own.contains(name)))
            };
            let mut keywords = call.arguments.keywords.iter();
            call.arguments.args.iter().all(is_own)
                && keywords.all(|keyword| keyword.arg.is_none() && is_own(&keyword.value))
        }
    }
    impl<'a> Visitor<'a> for Find<'a> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            match stmt {
                Stmt::FunctionDef(function) => self.function(function),
                _ => visitor::walk_stmt(self, stmt),
            }
        }

        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Call(call) = expr
                && let Expr::Name(name) = &*call.func
                && self.around.iter().any(|own| own.contains(name.id.as_str()))
                && !self.hands_on(call)
            {
                self.found.push(start(name.range));
            }
            visitor::walk_expr(self, expr);
        }
    }
    let mut find = Find {
        around: Vec::new(),
        found: Vec::new(),
    };
    find.function(decorator);
    find.found
}

//! The names in annotations, which say what a dictionary has to hold.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt};

/// The names in an annotation.
pub(super) fn names_in(expr: &Expr) -> Vec<usize> {
    struct Names(Vec<usize>);
    impl<'a> Visitor<'a> for Names {
        fn visit_expr(&mut self, expr: &'a Expr) {
            match expr {
                Expr::Name(name) => self.0.push(name.range.start().to_usize()),
                Expr::Attribute(attribute) => {
                    self.0.push(attribute.attr.range.start().to_usize());
                }
                // A plain name in quotes.
                Expr::StringLiteral(literal) => {
                    let part = literal.as_single_part_string();
                    self.0
                        .extend(part.map(|part| part.content_range().start().to_usize()));
                }
                _ => visitor::walk_expr(self, expr),
            }
        }
    }
    let mut names = Names(Vec::new());
    names.visit_expr(expr);
    names.0
}

/// The names in the annotation of a parameter of the function whose name stands at a place.
pub(super) fn annotation(
    body: &[Stmt],
    at: usize,
    place: usize,
    name: Option<&str>,
) -> Option<Vec<usize>> {
    struct Find<'n> {
        at: usize,
        place: usize,
        name: Option<&'n str>,
        in_class: bool,
        found: Option<Vec<usize>>,
    }
    impl<'a> Visitor<'a> for Find<'_> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            match stmt {
                Stmt::FunctionDef(function)
                    if function.name.range.start().to_usize() == self.at =>
                {
                    let skipped = usize::from(self.in_class);
                    let mut all = function.parameters.iter_non_variadic_params();
                    let parameter = match self.name {
                        Some(name) => all.find(|p| p.parameter.name == *name),
                        None => all.nth(self.place + skipped),
                    };
                    let annotation = parameter.and_then(|p| p.parameter.annotation.as_ref());
                    self.found = annotation.map(|a| names_in(a));
                }
                Stmt::ClassDef(class) => {
                    let before = std::mem::replace(&mut self.in_class, true);
                    self.visit_body(&class.body);
                    self.in_class = before;
                }
                Stmt::FunctionDef(function) => {
                    let before = std::mem::replace(&mut self.in_class, false);
                    self.visit_body(&function.body);
                    self.in_class = before;
                }
                _ => visitor::walk_stmt(self, stmt),
            }
        }
        fn visit_expr(&mut self, _: &'a Expr) {}
    }
    let mut find = Find {
        at,
        place,
        name,
        in_class: false,
        found: None,
    };
    find.visit_body(body);
    find.found
}

//! Expressions and annotations in the few words that the map understands.

use pillion_index::parsed;
use ruff_python_ast::{self as ast, Decorator, Operator};

use super::super::sketch::{Binding, Expr, ExprId, Nature, ScopeId};
use super::Reader;

/// How deep an expression may lie in others.
const MAX_DEPTH: usize = 64;

impl Reader<'_> {
    /// The number of an expression.
    pub(super) fn expr(&mut self, expr: Expr) -> ExprId {
        if let Some(id) = self.expr_ids.get(&expr) {
            return *id;
        }
        let id = u32::try_from(self.exprs.len()).unwrap_or(u32::MAX);
        self.exprs.push(expr);
        self.expr_ids.insert(expr, id);
        id
    }

    pub(super) fn lower(&mut self, expr: &ast::Expr) -> ExprId {
        self.lower_at(expr, 0)
    }

    fn lower_at(&mut self, expr: &ast::Expr, depth: usize) -> ExprId {
        let lowered = match expr {
            _ if depth > MAX_DEPTH => Expr::Unknown,
            ast::Expr::Name(name) => Expr::Name(self.name(&name.id)),
            ast::Expr::Attribute(attribute) => {
                let value = self.lower_at(&attribute.value, depth + 1);
                Expr::Attribute(value, self.name(&attribute.attr))
            }
            ast::Expr::Call(call) => match one_of_type(call) {
                Some(value) => {
                    let value = self.lower_at(value, depth + 1);
                    Expr::Attribute(value, self.name("__class__"))
                }
                None => Expr::Call(self.lower_at(&call.func, depth + 1)),
            },
            ast::Expr::Await(awaited) => return self.lower_at(&awaited.value, depth + 1),
            ast::Expr::Named(named) => return self.lower_at(&named.value, depth + 1),
            ast::Expr::StringLiteral(_)
            | ast::Expr::BytesLiteral(_)
            | ast::Expr::NumberLiteral(_)
            | ast::Expr::BooleanLiteral(_)
            | ast::Expr::NoneLiteral(_)
            | ast::Expr::FString(_)
            | ast::Expr::TString(_)
            | ast::Expr::List(_)
            | ast::Expr::Dict(_)
            | ast::Expr::Set(_)
            | ast::Expr::Tuple(_)
            | ast::Expr::ListComp(_)
            | ast::Expr::SetComp(_)
            | ast::Expr::DictComp(_)
            | ast::Expr::Generator(_)
            | ast::Expr::Compare(_) => Expr::Literal,
            _ => Expr::Unknown,
        };
        self.expr(lowered)
    }

    /// A base of a class, without what stands in brackets behind it.
    pub(super) fn base(&mut self, base: &ast::Expr) -> ExprId {
        match base {
            ast::Expr::Subscript(subscript) => self.lower(&subscript.value),
            other => self.lower(other),
        }
    }

    /// The classes that an annotation names.
    pub(super) fn annotation(&mut self, annotation: &ast::Expr) -> Vec<ExprId> {
        let mut found = Vec::new();
        self.classes(annotation, &mut found, 0);
        if found.is_empty() {
            found.push(self.expr(Expr::Unknown));
        }
        found
    }

    fn classes(&mut self, annotation: &ast::Expr, found: &mut Vec<ExprId>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match annotation {
            ast::Expr::Name(_) | ast::Expr::Attribute(_) => found.push(self.lower(annotation)),
            ast::Expr::NoneLiteral(_) => {}
            ast::Expr::StringLiteral(text) => {
                parsed::expression(text.value.to_str(), |inner| {
                    self.classes(inner, found, depth + 1);
                });
            }
            ast::Expr::BinOp(either) if either.op == Operator::BitOr => {
                self.classes(&either.left, found, depth + 1);
                self.classes(&either.right, found, depth + 1);
            }
            ast::Expr::Subscript(subscript) => {
                let inner: &[ast::Expr] = match &*subscript.slice {
                    ast::Expr::Tuple(tuple) => &tuple.elts,
                    one => std::slice::from_ref(one),
                };
                match last(&subscript.value) {
                    Some("Optional" | "Union") => {
                        for one in inner {
                            self.classes(one, found, depth + 1);
                        }
                    }
                    Some("Annotated" | "ClassVar" | "Final" | "Required" | "NotRequired") => {
                        if let Some(one) = inner.first() {
                            self.classes(one, found, depth + 1);
                        }
                    }
                    // An own generic class, or a container from elsewhere, of whose items
                    // nothing is known.
                    _ => found.push(self.lower(&subscript.value)),
                }
            }
            _ => found.push(self.expr(Expr::Unknown)),
        }
    }

    /// What an annotation in a scope binds a name to.
    pub(super) fn annotated(&mut self, annotation: &ast::Expr, scope: ScopeId) -> Vec<Binding> {
        if let ast::Expr::Subscript(subscript) = annotation
            && let Some("type" | "Type") = last(&subscript.value)
        {
            let class = self.lower(&subscript.slice);
            return vec![Binding::Value(class, scope)];
        }
        let classes = self.annotation(annotation);
        let bindings = classes
            .into_iter()
            .map(|class| match self.exprs.get(class as usize) {
                Some(Expr::Unknown) | None => Binding::Opaque,
                Some(_) => Binding::Instance(class, scope),
            });
        bindings.collect()
    }
}

/// `type(value)` is the value's class.
fn one_of_type(call: &ast::ExprCall) -> Option<&ast::Expr> {
    let is_type = matches!(&*call.func, ast::Expr::Name(name) if name.id.as_str() == "type");
    match (&*call.arguments.args, &*call.arguments.keywords) {
        ([value], []) if is_type => Some(value),
        _ => None,
    }
}

/// The last name of a dotted one.
pub(super) fn last(expr: &ast::Expr) -> Option<&str> {
    match expr {
        ast::Expr::Name(name) => Some(name.id.as_str()),
        ast::Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        ast::Expr::Call(call) => last(&call.func),
        _ => None,
    }
}

/// What decorators make of a function.
pub(super) fn nature(decorators: &[Decorator], name: &str, in_class: bool) -> Nature {
    let mut nature = match name {
        "__new__" | "__init_subclass__" | "__class_getitem__" if in_class => Nature::OfClass,
        _ => Nature::Plain,
    };
    for decorator in decorators {
        nature = match last(&decorator.expression) {
            Some("property" | "cached_property" | "setter" | "getter" | "deleter") => {
                Nature::Property
            }
            Some("staticmethod") => Nature::Static,
            Some("classmethod") => Nature::OfClass,
            Some(
                "override" | "final" | "abstractmethod" | "overload" | "lru_cache" | "cache"
                | "wraps" | "no_type_check",
            ) => nature,
            _ if matches!(nature, Nature::Static | Nature::OfClass) => nature,
            _ => Nature::Decorated,
        };
    }
    nature
}

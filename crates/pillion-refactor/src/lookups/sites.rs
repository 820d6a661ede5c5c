//! Strings of a file that Python would look up as a name.

use pillion_symbols::literals::{KEYED, exact};
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    Arguments, Expr, ExprCall, ExprStringLiteral, Operator, Stmt, StmtFunctionDef,
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::annotations::names_in;
use super::formats::{Argument, Reading, fields, keys, parts};
use super::meanings::{Context, Holds, Lookup, Object, What};
use super::{queries, stand_ins};

/// Functions that take an object and the name of one of its attributes.
const BY_NAME: &[&str] = &[
    "getattr",
    "getattr_static",
    "setattr",
    "hasattr",
    "delattr",
    "__setattr__",
    "__getattribute__",
    "__delattr__",
];
/// Functions that look up a name in whatever they are given later.
const LATER: &[&str] = &["attrgetter", "methodcaller"];
/// Names of a class whose strings name its attributes.
const OF_CLASS: &[&str] = &["__slots__", "__match_args__"];

pub(super) fn object(expr: &Expr) -> Object {
    match expr {
        Expr::Name(name) if matches!(name.id.as_str(), "self" | "cls") => {
            Object::Own(name.range.start().to_usize())
        }
        Expr::Name(name) => Object::Named(name.range.start().to_usize()),
        Expr::Attribute(attribute) => Object::Named(attribute.attr.range.start().to_usize()),
        Expr::Call(call) if last(&call.func) == Some("super") => {
            Object::Own(call.range().start().to_usize())
        }
        Expr::Call(call) => match object(&call.func) {
            Object::Named(at) => Object::Made(at),
            _ => Object::Other,
        },
        _ => Object::Other,
    }
}

/// The object whose attributes a dictionary holds: `vars(o)`, `asdict(o)`, `o.__dict__`.
fn attributes(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Attribute(attribute) if &*attribute.attr == "__dict__" => Some(&attribute.value),
        Expr::Call(call) => match (&*call.func, &*call.arguments.args) {
            (Expr::Attribute(method), []) if &*method.attr == "_asdict" => Some(&method.value),
            (function, [of, ..]) if matches!(last(function), Some("vars" | "asdict")) => Some(of),
            _ => None,
        },
        _ => None,
    }
}

/// What the keys of something mean: those of a dictionary of attributes are attributes.
fn of_mapping(expr: &Expr) -> What {
    match attributes(expr) {
        Some(of) => What::Of(object(of)),
        None => What::Key(object(expr)),
    }
}

/// The last name of an expression.
fn last(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        _ => None,
    }
}

/// The strings of a file in which a name may be looked up.
pub(super) fn lookups(body: &[Stmt], text: &str, name: &str) -> Vec<Lookup> {
    let mut finder = Finder {
        text,
        name,
        functions: Vec::new(),
        classes: Vec::new(),
        context: Context::Nothing,
        looks_up: false,
        anywhere: Vec::new(),
        found: Vec::new(),
    };
    finder.visit_body(body);
    if finder.looks_up {
        for at in std::mem::take(&mut finder.anywhere) {
            finder.note(Some(at), || What::Anywhere);
        }
    }
    finder.found
}

struct Finder<'a> {
    text: &'a str,
    name: &'a str,
    functions: Vec<&'a StmtFunctionDef>,
    classes: Vec<usize>,
    context: Context,
    /// Whether the file looks up a name that it is given.
    looks_up: bool,
    /// The strings that are the name, wherever they stand.
    anywhere: Vec<TextRange>,
    found: Vec<Lookup>,
}

impl<'a> Finder<'a> {
    fn exact(&self, expr: &Expr) -> Option<TextRange> {
        exact(expr, self.text, self.name)
    }

    fn note(&mut self, at: Option<TextRange>, what: impl FnOnce() -> What) {
        if let Some(at) = at {
            // What is said first is said about more.
            if !self.found.iter().any(|known| known.at == at) {
                self.found.push(Lookup { at, what: what() });
            }
        }
    }

    fn call(&mut self, call: &'a ExprCall) {
        let args = &call.arguments.args;
        let function = last(&call.func).unwrap_or_default();
        if function == "dict" && args.is_empty() {
            let named = || {
                call.arguments
                    .keywords
                    .iter()
                    .filter_map(|k| k.arg.as_ref())
            };
            let context = self.context.clone();
            let own = named().find(|arg| **arg == *self.name);
            self.note(own.map(Ranged::range), || {
                let keys = named().map(ToString::to_string).collect();
                What::InDict(keys, context)
            });
        }
        let receiver = match &*call.func {
            Expr::Attribute(attribute) => Some(&*attribute.value),
            _ => None,
        };
        let is_of_patch = receiver.and_then(last) == Some("patch");
        if is_of_patch && function == "multiple" {
            self.patched(call);
        }
        let is_patch = function == "object" && is_of_patch;
        let is_given = |name: &Expr| matches!(name, Expr::Name(_) | Expr::Subscript(_));
        self.looks_up |= BY_NAME.contains(&function) && args.get(1).is_some_and(is_given);
        if BY_NAME.contains(&function) || is_patch {
            let named = call.arguments.find_keyword("attribute");
            let named = named.map(|keyword| &keyword.value).filter(|_| is_patch);
            if let (Some(of), Some(name)) = (args.first(), args.get(1).or(named)) {
                self.note(self.exact(name), || What::Of(object(of)));
            } else if let (Some(of), Some(name)) = (receiver, args.first()) {
                self.note(self.exact(name), || What::Of(object(of)));
            }
        } else if LATER.contains(&function) {
            for at in args.iter().flat_map(|arg| parts(arg, self.text, self.name)) {
                self.note(Some(at), || What::Later);
            }
        } else if function == "itemgetter" {
            for arg in args {
                self.note(self.exact(arg), || What::Key(Object::Other));
            }
        } else if let Some(literal) = receiver.and_then(Expr::as_string_literal_expr) {
            match function {
                "format" => self.format(literal, &call.arguments),
                "format_map" => {
                    let of = args.first().map(of_mapping);
                    self.filled(literal, of);
                }
                _ => {}
            }
        } else if let (Some(of), true) = (receiver, KEYED.contains(&function))
            && let Some(key) = args.first()
        {
            self.note(self.exact(key), || What::Key(object(of)));
        }
        for at in stand_ins::of(call, function, self.text, self.name) {
            self.note(Some(at), || What::StandIn);
        }
        for at in queries::of(call, function, self.text, self.name) {
            self.note(Some(at), || What::Query);
        }
        let fills = function == "format" && receiver.is_some_and(Expr::is_string_literal_expr);
        let spread = call.arguments.keywords.iter();
        for keyword in spread.filter(|keyword| keyword.arg.is_none() && !fills) {
            let (of, holds) = match (attributes(&keyword.value), &keyword.value) {
                (Some(of), _) => (object(of), Holds::Attributes),
                (None, value @ (Expr::Name(_) | Expr::Attribute(_))) => {
                    (object(value), Holds::Keys)
                }
                _ => continue,
            };
            let called = object(&call.func);
            self.note(Some(keyword.value.range()), || {
                What::Spread(of, called, holds)
            });
        }
        self.with(Context::Nothing, |this| this.visit_expr(&call.func));
        let at = match object(&call.func) {
            Object::Named(at) => Some(at),
            _ => None,
        };
        let merges = matches!(function, "update" | "__ior__");
        for (place, arg) in args.iter().enumerate() {
            let context = match (receiver, at) {
                (Some(of), _) if merges => Context::Merged(object(of)),
                (_, Some(at)) => Context::Passed(at, place, None),
                _ => Context::Nothing,
            };
            self.with(context, |this| this.visit_expr(arg));
        }
        for keyword in &call.arguments.keywords {
            let context = match (at, &keyword.arg) {
                (Some(at), Some(name)) => Context::Passed(at, 0, Some(name.to_string())),
                _ => Context::Nothing,
            };
            self.with(context, |this| this.visit_expr(&keyword.value));
        }
    }

    /// `'{0.name} {o[name]}'.format(...)`.
    fn format(&mut self, literal: &ExprStringLiteral, given: &'a Arguments) {
        let mut spread = given.keywords.iter().filter(|k| k.arg.is_none());
        let spread = spread.next().map(|keyword| &keyword.value);
        let is_counted = !given.args.iter().any(Expr::is_starred_expr);
        for field in fields(literal, self.text, self.name) {
            let value = match &field.of {
                Argument::Place(place) => given.args.get(*place).filter(|_| is_counted),
                Argument::Name(name) => given.find_keyword(name).map(|keyword| &keyword.value),
            };
            let of = value.map_or(Object::Other, object);
            self.note(Some(field.at), || match field.reads {
                Reading::Attribute => What::Of(of),
                Reading::Key => What::Key(of),
                Reading::Further => What::Filled,
                Reading::Own => match spread.filter(|_| value.is_none()) {
                    Some(of) => of_mapping(of),
                    // The name of an argument is the call's own.
                    None => What::Argument,
                },
            });
        }
    }

    /// A string whose fields are the keys of one thing.
    fn filled(&mut self, literal: &ExprStringLiteral, of: Option<What>) {
        let Some(of) = of else { return };
        let own = fields(literal, self.text, self.name).into_iter();
        let own = own.filter(|field| field.reads == Reading::Own);
        for at in own.map(|field| field.at) {
            self.note(Some(at), || of.clone());
        }
        for at in keys(literal, self.text, self.name) {
            self.note(Some(at), || of.clone());
        }
    }

    /// What a string may read when somebody fills it in.
    fn template(&mut self, literal: &ExprStringLiteral) {
        for field in fields(literal, self.text, self.name) {
            self.note(Some(field.at), || match field.reads {
                Reading::Own => What::FilledKey,
                _ => What::Filled,
            });
        }
        for at in keys(literal, self.text, self.name) {
            self.note(Some(at), || What::FilledKey);
        }
    }

    /// `patch.multiple("package.module", name=...)`, or with the object itself.
    fn patched(&mut self, call: &'a ExprCall) {
        let mut keywords = call.arguments.keywords.iter();
        let own = keywords.find_map(|k| k.arg.as_ref().filter(|arg| **arg == *self.name));
        let Some((of, own)) = call.arguments.find_argument_value("target", 0).zip(own) else {
            return;
        };
        self.note(Some(own.range), || match of.as_string_literal_expr() {
            Some(literal) => {
                let parts = literal.value.to_str().split('.');
                What::Dotted(parts.map(ToOwned::to_owned).collect())
            }
            None => What::Of(object(of)),
        });
    }

    fn with(&mut self, context: Context, look: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.context, context);
        look(self);
        self.context = before;
    }

    /// `package.module.name`, or `package.module:name`.
    fn dotted(&mut self, expr: &Expr) {
        let Some(literal) = expr.as_string_literal_expr() else {
            return;
        };
        let Some(part) = literal.as_single_part_string() else {
            return;
        };
        let inner = part.content_range();
        let text = &self.text[inner];
        let is_path = text.contains(['.', ':'])
            && text
                .chars()
                .all(|c| matches!(c, '.' | ':' | '_') || c.is_alphanumeric());
        if !is_path {
            return;
        }
        let mut before: Vec<String> = Vec::new();
        let mut from = 0;
        for part in text.split(['.', ':']) {
            if part == self.name && !before.is_empty() {
                let start = inner.start() + TextSize::try_from(from).unwrap_or_default();
                let at = TextRange::at(start, TextSize::of(part));
                self.note(Some(at), || What::Dotted(before.clone()));
            }
            before.push(part.to_owned());
            from += part.len() + 1;
        }
    }

    fn strings_of_class(&mut self, value: &'a Expr, class: usize) {
        match value {
            Expr::Tuple(tuple) => tuple
                .elts
                .iter()
                .for_each(|e| self.strings_of_class(e, class)),
            Expr::List(list) => list
                .elts
                .iter()
                .for_each(|e| self.strings_of_class(e, class)),
            Expr::Set(set) => set
                .elts
                .iter()
                .for_each(|e| self.strings_of_class(e, class)),
            Expr::Dict(dict) => {
                let keys = dict.items.iter().filter_map(|item| item.key.as_ref());
                keys.for_each(|key| self.strings_of_class(key, class));
            }
            other => self.note(self.exact(other), || What::OfClass(class)),
        }
    }

    fn assigned(&mut self, target: &'a Expr, value: &'a Expr) {
        if let (Some(class), Expr::Name(name)) = (self.classes.last(), target)
            && self.functions.is_empty()
            && OF_CLASS.contains(&name.id.as_str())
        {
            self.strings_of_class(value, *class);
        }
    }
}

impl<'a> Visitor<'a> for Finder<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                self.functions.push(function);
                visitor::walk_stmt(self, stmt);
                self.functions.pop();
            }
            Stmt::ClassDef(class) => {
                let functions = std::mem::take(&mut self.functions);
                self.classes.push(class.name.range.start().to_usize());
                visitor::walk_stmt(self, stmt);
                self.classes.pop();
                self.functions = functions;
            }
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    self.assigned(target, &assign.value);
                    self.visit_expr(target);
                }
                let context = match assign.targets.first().map(object) {
                    Some(Object::Named(at)) => Context::Assigned(at),
                    _ => Context::Nothing,
                };
                self.with(context, |this| this.visit_expr(&assign.value));
            }
            Stmt::AnnAssign(assign) => {
                self.visit_expr(&assign.target);
                if let Some(value) = &assign.value {
                    self.assigned(&assign.target, value);
                    let context = Context::Annotated(names_in(&assign.annotation));
                    self.with(context, |this| this.visit_expr(value));
                }
            }
            Stmt::AugAssign(assign) => {
                self.visit_expr(&assign.target);
                let context = Context::Merged(object(&assign.target));
                self.with(context, |this| this.visit_expr(&assign.value));
            }
            Stmt::Return(result) => {
                let returns = self.functions.last().and_then(|f| f.returns.as_ref());
                let context = match returns {
                    Some(returns) => Context::Annotated(names_in(returns)),
                    None => Context::Nothing,
                };
                if let Some(value) = &result.value {
                    self.with(context, |this| this.visit_expr(value));
                }
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => self.call(call),
            Expr::Dict(dict) => {
                let keys = || {
                    let keys = dict.items.iter().filter_map(|item| item.key.as_ref());
                    let texts = keys.filter_map(Expr::as_string_literal_expr);
                    texts.map(|key| key.value.to_str().to_owned()).collect()
                };
                for key in dict.items.iter().filter_map(|item| item.key.as_ref()) {
                    let context = self.context.clone();
                    self.note(self.exact(key), || What::InDict(keys(), context));
                }
                // What one inside of another holds is said by nobody here.
                self.with(Context::Nothing, |this| visitor::walk_expr(this, expr));
            }
            Expr::List(_) | Expr::Tuple(_) | Expr::Set(_) | Expr::If(_) => {
                visitor::walk_expr(self, expr);
            }
            Expr::StringLiteral(literal) => {
                self.dotted(expr);
                self.template(literal);
                self.anywhere.extend(self.exact(expr));
            }
            Expr::BinOp(operation) => {
                let left = operation.left.as_string_literal_expr();
                if let Some(literal) = left.filter(|_| operation.op == Operator::Mod) {
                    self.filled(literal, Some(of_mapping(&operation.right)));
                }
                self.with(Context::Nothing, |this| visitor::walk_expr(this, expr));
            }
            Expr::Subscript(subscript) => {
                let what = match attributes(&subscript.value) {
                    Some(of) => What::Of(object(of)),
                    None => What::Key(object(&subscript.value)),
                };
                self.note(self.exact(&subscript.slice), || what);
                self.with(Context::Nothing, |this| visitor::walk_expr(this, expr));
            }
            Expr::Compare(compare) => {
                if let [right] = &*compare.comparators {
                    let of = object(right);
                    self.note(self.exact(&compare.left), || What::Key(of));
                }
                self.with(Context::Nothing, |this| visitor::walk_expr(this, expr));
            }
            _ => self.with(Context::Nothing, |this| visitor::walk_expr(this, expr)),
        }
    }
}

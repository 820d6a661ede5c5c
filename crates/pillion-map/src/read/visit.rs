//! The way through the statements and expressions of a file.

use pillion_index::facts::name_hash;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    self as ast, Comprehension, ExceptHandler, ExprContext, Operator, Pattern, Stmt,
};
use ruff_text_size::Ranged;

use super::super::sketch::{Binding, Expr, MODULE, Nature, ScopeId, ScopeKind, Site, prefix_hash};
use super::Reader;

/// Letters that must be known of a name which is put together.
const MIN_AFFIX: usize = 3;
/// Longer strings are no names.
const MAX_NAME: usize = 120;

/// The names that a template takes from what it is given: those in `{{ }}` and `{% %}`.
pub fn template_words(text: &str) -> impl Iterator<Item = &str> {
    let parts = [("{{", "}}"), ("{%", "%}")].into_iter();
    let inside = parts.flat_map(move |(begin, end)| {
        let pieces = text.split(begin).skip(1);
        pieces.filter_map(move |piece| Some(piece.split_once(end)?.0))
    });
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    let words = inside.flat_map(move |piece| piece.split(move |c| !is_word(c)));
    words.filter(|word| word.len() > 1)
}

/// From where to where a text leaves something open: from its first `%s` or `{}` to the end of
/// its last.
fn open(text: &str) -> Option<(usize, usize)> {
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (at, found) in text.match_indices(['%', '{']) {
        let rest = &text[at..];
        let end = match found {
            "{" => rest.find('}').map(|end| end + 1),
            _ => {
                let named = rest.strip_prefix("%(").and_then(|rest| rest.find(')'));
                let letter = named.map_or(1, |end| end + 3);
                let is_open = rest[letter.min(rest.len())..].starts_with(['s', 'd', 'r']);
                is_open.then_some(letter + 1)
            }
        };
        places.extend(end.map(|end| (at, at + end)));
    }
    Some((places.first()?.0, places.last()?.1))
}

/// The text that an expression gives, with `{}` for what is not known of it.
fn pieces(expr: &ast::Expr, whole: &mut String) {
    match expr {
        ast::Expr::StringLiteral(text) => whole.push_str(text.value.to_str()),
        ast::Expr::FString(text) => {
            for part in text.value.elements() {
                match part {
                    ast::InterpolatedStringElement::Literal(part) => whole.push_str(&part.value),
                    ast::InterpolatedStringElement::Interpolation(_) => whole.push_str("{}"),
                }
            }
        }
        ast::Expr::BinOp(sum) if sum.op == Operator::Add => {
            pieces(&sum.left, whole);
            pieces(&sum.right, whole);
        }
        _ => whole.push_str("{}"),
    }
}

/// The variable that an assignment is about: also that of an item of it.
fn variable(target: &ast::Expr) -> Option<&str> {
    match target {
        ast::Expr::Name(name) => Some(name.id.as_str()),
        ast::Expr::Subscript(item) => variable(&item.value),
        _ => None,
    }
}

/// The variables that an assignment is about, also those of a tuple.
fn variables(targets: &[ast::Expr]) -> Vec<&str> {
    let mut found = Vec::new();
    for target in targets {
        match target {
            ast::Expr::Tuple(tuple) => found.extend(tuple.elts.iter().filter_map(variable)),
            ast::Expr::List(list) => found.extend(list.elts.iter().filter_map(variable)),
            other => found.extend(variable(other)),
        }
    }
    found
}

/// What each of several targets is given: `first, second = one, other`.
fn pairs<'e>(
    target: &'e ast::Expr,
    value: &'e ast::Expr,
) -> Option<impl Iterator<Item = (&'e ast::Expr, &'e ast::Expr)>> {
    let (ast::Expr::Tuple(targets), ast::Expr::Tuple(values)) = (target, value) else {
        return None;
    };
    let is_even = targets.elts.len() == values.elts.len();
    let mut both = targets.elts.iter().chain(&values.elts);
    let is_plain = !both.any(ast::Expr::is_starred_expr);
    (is_even && is_plain).then(|| targets.elts.iter().zip(&values.elts))
}

impl<'a> Visitor<'a> for Reader<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        pillion_index::steps::take(1);
        match stmt {
            Stmt::FunctionDef(function) => self.function(function),
            Stmt::ClassDef(class) => self.class(class),
            _ => self.statement(stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a ast::Expr) {
        pillion_index::steps::take(1);
        self.expression(expr);
    }

    fn visit_annotation(&mut self, expr: &'a ast::Expr) {
        // Who says what class something has does not make one.
        let owner = self.owner.take();
        match expr {
            // What it spells is followed where it says what something is.
            ast::Expr::StringLiteral(text) => self.note_string(text.value.to_str()),
            _ => self.visit_expr(expr),
        }
        self.owner = owner;
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        if let Some(name) = &inner.name {
            let expr = match inner.type_.as_deref() {
                Some(kind @ (ast::Expr::Name(_) | ast::Expr::Attribute(_))) => self.lower(kind),
                _ => self.expr(Expr::Unknown),
            };
            self.bind(name, Binding::Instance(expr, self.at));
        }
        visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = match pattern {
            Pattern::MatchAs(part) => part.name.as_ref(),
            Pattern::MatchStar(part) => part.name.as_ref(),
            Pattern::MatchMapping(part) => part.rest.as_ref(),
            _ => None,
        };
        if let Some(name) = name {
            self.bind(name, Binding::Opaque);
        }
        if let Pattern::MatchClass(class) = pattern {
            self.taken_by_pattern(class);
        }
        visitor::walk_pattern(self, pattern);
    }
}

impl<'a> Reader<'a> {
    fn statement(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign(assign) => {
                if let [target] = &assign.targets[..]
                    && let Some(pairs) = pairs(target, &assign.value)
                {
                    for (target, value) in pairs {
                        self.given(&variables(std::slice::from_ref(target)), value);
                        let binding = self.valued(value);
                        self.assign(target, &[binding]);
                    }
                    return;
                }
                self.given(&variables(&assign.targets), &assign.value);
                let binding = self.valued(&assign.value);
                for target in &assign.targets {
                    self.assign(target, &[binding]);
                }
            }
            Stmt::AnnAssign(assign) => {
                self.visit_annotation(&assign.annotation);
                if let Some(value) = &assign.value {
                    let names: Vec<&str> = variable(&assign.target).into_iter().collect();
                    self.given(&names, value);
                }
                let mut bindings = self.annotated(&assign.annotation, self.at);
                if let (Some(value), [Binding::Opaque]) = (&assign.value, &bindings[..]) {
                    bindings = vec![self.valued(value)];
                }
                self.assign(&assign.target, &bindings);
            }
            Stmt::AugAssign(assign) => {
                let names: Vec<&str> = variable(&assign.target).into_iter().collect();
                self.given(&names, &assign.value);
                self.fills(&assign.target);
                self.visit_expr(&assign.target);
            }
            Stmt::For(each) => {
                self.visit_expr(&each.iter);
                self.assign(&each.target, &[Binding::Opaque]);
                self.visit_body(&each.body);
                self.visit_body(&each.orelse);
            }
            Stmt::With(with) => {
                for item in &with.items {
                    self.with_item(item, with.is_async);
                }
                self.visit_body(&with.body);
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    let module = self.name(&alias.name);
                    match &alias.asname {
                        Some(name) => self.bind(name, Binding::Module(module)),
                        None => {
                            let first = alias.name.split('.').next().unwrap_or_default();
                            self.bind(first, Binding::Package(module));
                        }
                    }
                }
            }
            Stmt::ImportFrom(import) => self.import_from(import),
            Stmt::Global(global) => {
                for name in &global.names {
                    self.elsewhere(name, MODULE);
                }
            }
            Stmt::Nonlocal(nonlocal) => {
                let parent = self
                    .scopes
                    .get(self.at as usize)
                    .map_or(MODULE, |s| s.parent);
                for name in &nonlocal.names {
                    self.elsewhere(name, parent);
                }
            }
            Stmt::Return(returned) => {
                if let Some(value) = &returned.value {
                    let is_none = matches!(**value, ast::Expr::NoneLiteral(_));
                    let expr = self.lower(value);
                    if let Some(draft) = self.draft(self.at).filter(|_| !is_none) {
                        draft.returned.insert(expr);
                    }
                }
                visitor::walk_stmt(self, stmt);
            }
            // Documentation says nothing about names.
            Stmt::Expr(expr) if expr.value.is_string_literal_expr() => {}
            Stmt::Expr(said) => match self.told(&said.value) {
                Some(name) => self.given(&[name], &said.value),
                None => self.visit_expr(&said.value),
            },
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    /// What variables are given. Of the module's own ones it is code of their own: who uses
    /// them uses it.
    fn given(&mut self, names: &[&str], value: &'a ast::Expr) {
        let [first, rest @ ..] = names else {
            return self.visit_expr(value);
        };
        if self.at != MODULE {
            return self.visit_expr(value);
        }
        let (start, end) = self.lines(value.range());
        let open = |reader: &mut Self, text: &str| {
            let name = reader.name(text);
            reader.open(ScopeKind::Variable, name, (start, end), start)
        };
        let scope = open(self, first);
        for text in rest {
            let other = open(self, text);
            let name = self.name(first);
            let expr = self.expr(Expr::Name(name));
            self.inside(other, |reader| reader.use_expr(expr, false, start));
        }
        self.inside(scope, |reader| reader.visit_expr(value));
    }

    /// The variable of the module that a statement tells something, `HOOKS.append(hook)`: what
    /// it is told is its own, as what it is given.
    fn told(&self, value: &'a ast::Expr) -> Option<&'a str> {
        let ast::Expr::Call(call) = value else {
            return None;
        };
        let told = call.func.as_attribute_expr()?.value.as_name_expr()?;
        let name = self.names.get(told.id.as_str())?;
        let module = self.scopes.get(MODULE as usize)?;
        let mut bound = module.bindings.iter().filter(|(bound, _)| bound == name);
        let is_given = |binding: &Binding| matches!(binding, Binding::Opaque | Binding::Value(..));
        let is_variable = self.at == MODULE && bound.clone().next().is_some();
        (is_variable && bound.all(|(_, binding)| is_given(binding))).then(|| told.id.as_str())
    }

    /// `case Point(x=0)` takes `x` from a point.
    fn taken_by_pattern(&mut self, class: &'a ast::PatternMatchClass) {
        let made = self.lower(&class.cls);
        let made = self.expr(Expr::Call(made));
        for keyword in &class.arguments.keywords {
            let name = self.name(&keyword.attr);
            let expr = self.expr(Expr::Attribute(made, name));
            let line = self.line(&keyword.attr);
            self.use_expr(expr, false, line);
            let site = Site {
                scope: self.at,
                name,
                at: self.source.position(keyword.attr.start().to_usize()),
                is_call: false,
            };
            self.sites.push((site, made));
        }
    }

    fn elsewhere(&mut self, text: &str, scope: ScopeId) {
        let name = self.name(text);
        let at = self.at;
        if at != scope
            && let Some(draft) = self.draft(at)
        {
            draft.elsewhere.insert(name, scope);
        }
    }

    fn with_item(&mut self, item: &'a ast::WithItem, is_async: bool) {
        self.visit_expr(&item.context_expr);
        let context = self.lower(&item.context_expr);
        let line = self.line(&item.context_expr);
        let methods = match is_async {
            true => ["__aenter__", "__aexit__"],
            false => ["__enter__", "__exit__"],
        };
        let [enter, exit] = methods.map(|method| {
            let name = self.name(method);
            self.expr(Expr::Attribute(context, name))
        });
        self.use_expr(enter, true, line);
        self.use_expr(exit, true, line);
        if let Some(target) = &item.optional_vars {
            let entered = self.expr(Expr::Call(enter));
            self.assign(target, &[Binding::Value(entered, self.at)]);
        }
    }

    fn import_from(&mut self, import: &'a ast::StmtImportFrom) {
        let dots = ".".repeat(usize::try_from(import.level).unwrap_or(0));
        let module = import.module.as_deref().unwrap_or_default();
        let module = self.name(&format!("{dots}{module}"));
        for alias in &import.names {
            if alias.name.as_str() == "*" {
                self.stars.push(module);
                continue;
            }
            let taken = self.name(&alias.name);
            let name = alias.asname.as_ref().unwrap_or(&alias.name);
            self.bind(name, Binding::Import(module, taken));
        }
    }

    fn expression(&mut self, expr: &'a ast::Expr) {
        match expr {
            ast::Expr::Name(name) => match name.ctx {
                ExprContext::Load => {
                    let (lowered, line) = (self.lower(expr), self.line(name));
                    self.use_expr(lowered, false, line);
                }
                ExprContext::Store => self.bind(&name.id, Binding::Opaque),
                _ => {}
            },
            ast::Expr::Attribute(attribute) => {
                let (lowered, line) = (self.lower(expr), self.line(&attribute.attr));
                self.use_expr(lowered, false, line);
                self.root(expr, false);
            }
            ast::Expr::Call(call) => {
                let lowered = self.lower(&call.func);
                let line = match &*call.func {
                    ast::Expr::Attribute(attribute) => self.line(&attribute.attr),
                    other => self.line(other),
                };
                self.use_expr(lowered, true, line);
                self.root(&call.func, true);
                self.looks_up(call);
                self.fills_by_call(call);
                if let Some("getfixturevalue") = super::lower::last(&call.func) {
                    self.asked_by_words(self.function_around(self.at), &call.arguments);
                }
                self.visit_arguments(&call.arguments);
            }
            ast::Expr::Lambda(lambda) => {
                if let Some(parameters) = &lambda.parameters {
                    self.visit_outer_parts(parameters);
                }
                let name = self.name("<lambda>");
                let lines = self.lines(lambda.range);
                let scope = self.open(ScopeKind::Inner, name, lines, lines.0);
                self.inside(scope, |reader| {
                    if let Some(parameters) = &lambda.parameters {
                        reader.parameters(parameters, None, Nature::Plain);
                    }
                    reader.visit_expr(&lambda.body);
                });
            }
            ast::Expr::ListComp(all) => self.comprehension(&all.generators, &[&all.elt]),
            ast::Expr::SetComp(all) => self.comprehension(&all.generators, &[&all.elt]),
            ast::Expr::Generator(all) => self.comprehension(&all.generators, &[&all.elt]),
            ast::Expr::DictComp(all) => {
                let key = all.key.as_deref().into_iter();
                let parts: Vec<&ast::Expr> = key.chain([&*all.value]).collect();
                self.comprehension(&all.generators, &parts);
            }
            ast::Expr::Named(named) => {
                self.visit_expr(&named.value);
                let binding = self.valued(&named.value);
                let mut at = self.at;
                while matches!(self.kind(at), Some(ScopeKind::Inner | ScopeKind::Variable)) {
                    at = self.scopes.get(at as usize).map_or(MODULE, |s| s.parent);
                }
                self.inside(at, |reader| reader.assign(&named.target, &[binding]));
            }
            ast::Expr::Subscript(item) if item.ctx == ExprContext::Load => {
                let line = self.line(item);
                self.item(&item.value, &item.slice, line);
                visitor::walk_expr(self, expr);
            }
            ast::Expr::StringLiteral(text) => self.note_string(text.value.to_str()),
            ast::Expr::FString(text) => {
                for part in text.value.elements() {
                    if let ast::InterpolatedStringElement::Literal(part) = part {
                        self.note_string(&part.value);
                    }
                }
                self.note_pieces(expr);
                visitor::walk_expr(self, expr);
            }
            ast::Expr::BinOp(sum) if sum.op == Operator::Add => {
                self.note_pieces(expr);
                self.summands(expr);
            }
            _ => visitor::walk_expr(self, expr),
        }
    }

    /// What stands before the dots, unless it is a name: that is part of the whole.
    pub(super) fn root(&mut self, expr: &'a ast::Expr, is_call: bool) {
        match expr {
            ast::Expr::Attribute(attribute) => {
                self.take(attribute, is_call);
                self.root(&attribute.value, false);
            }
            ast::Expr::Name(_) => {}
            other => self.visit_expr(other),
        }
    }

    fn comprehension(&mut self, generators: &'a [Comprehension], parts: &[&'a ast::Expr]) {
        let name = self.name("<comprehension>");
        let Some((first, rest)) = generators.split_first() else {
            return;
        };
        self.visit_expr(&first.iter);
        let lines = self.lines(first.range);
        let scope = self.open(ScopeKind::Inner, name, lines, lines.0);
        self.inside(scope, |reader| {
            reader.assign(&first.target, &[Binding::Opaque]);
            first.ifs.iter().for_each(|test| reader.visit_expr(test));
            for generator in rest {
                reader.visit_expr(&generator.iter);
                reader.assign(&generator.target, &[Binding::Opaque]);
                generator
                    .ifs
                    .iter()
                    .for_each(|test| reader.visit_expr(test));
            }
            parts.iter().for_each(|part| reader.visit_expr(part));
        });
    }

    /// What is in a sum, the sums in it not looked at as texts of their own.
    fn summands(&mut self, expr: &'a ast::Expr) {
        match expr {
            ast::Expr::BinOp(sum) if sum.op == Operator::Add => {
                self.summands(&sum.left);
                self.summands(&sum.right);
            }
            other => self.visit_expr(other),
        }
    }

    /// How a name begins and ends that several texts are put together to.
    fn note_pieces(&mut self, expr: &ast::Expr) {
        let mut whole = String::new();
        pieces(expr, &mut whole);
        self.note_affixes(&whole);
    }

    /// How names begin and end that are put together from a text.
    fn note_affixes(&mut self, text: &str) {
        if text.len() > MAX_NAME {
            return;
        }
        let is_word = |part: &str| part.chars().all(|c| c == '_' || c.is_alphanumeric());
        // `"_handler"` is what a name ends with, if something is put before it.
        let found = match open(text) {
            Some((start, end)) => Some((&text[..start], &text[end..])),
            None if text.starts_with('_') && !text.starts_with("__") => Some(("", text)),
            None => None,
        };
        if let Some((before, after)) = found
            && before.len() + after.len() >= MIN_AFFIX
            && is_word(before)
            && is_word(after)
        {
            self.affixes.insert((before.into(), after.into()));
            self.spellings.push((self.at, before.into(), after.into()));
        }
    }

    fn note_string(&mut self, text: &str) {
        self.note_affixes(text);
        let is_name = |part: &str| {
            let mut letters = part.chars();
            let first = letters.next();
            first.is_some_and(|c| c == '_' || c.is_alphabetic())
                && letters.all(|c| c == '_' || c.is_alphanumeric())
        };
        // How a name begins: `visit_`, or `visit_%s` and `visit_{}` with the rest to come.
        let begins = text.trim_end_matches("%s").trim_end_matches("{}");
        if begins.len() <= MAX_NAME && begins.ends_with('_') && is_name(begins) {
            self.strings.insert(prefix_hash(begins));
            // `_` alone may be the beginning of anything.
            if begins.len() >= MIN_AFFIX {
                self.spellings.push((self.at, begins.into(), "".into()));
            }
        }
        // `__name__ + ".handler"`.
        let dotted = text.trim_start_matches(['.', ':']);
        if dotted.len() <= MAX_NAME && dotted.split(['.', ':']).all(is_name) {
            let parts = dotted.split(['.', ':']).map(name_hash);
            self.strings.extend(parts);
            if dotted.len() == text.len() && dotted.contains(['.', ':']) {
                let scope = self.function_around(self.at);
                self.spelled
                    .insert((scope, dotted.replace(':', ".").into()));
            }
        }
        // Calls that are written out: `"create_app('dev')"`, and in code that is made of text.
        for (at, _) in text.match_indices('(') {
            let is_part = |c: char| c == '_' || c == '.' || c == ':' || c.is_alphanumeric();
            let called = text[..at]
                .rsplit(|c| !is_part(c))
                .next()
                .unwrap_or_default();
            if called.len() <= MAX_NAME {
                let parts = called.split(['.', ':']).filter(|part| is_name(part));
                self.strings.extend(parts.map(name_hash));
            }
        }
        self.strings.extend(template_words(text).map(name_hash));
    }
}

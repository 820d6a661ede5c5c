//! Who means what by a name in one file: scopes, what they bind, and every use.
//!
//! This is Python's own rule, by the text alone: a name belongs to the innermost scope around
//! it that binds it, classes do not lend theirs to the functions in them, comprehensions have
//! a scope of their own. Strings in annotations count as the expressions they hold.

mod collect;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use ruff_python_ast::Stmt;
use ruff_python_ast::visitor::Visitor;
use ruff_text_size::{Ranged, TextRange};

use crate::parsed::parsed;
use collect::Collector;

/// The scope of the module itself.
pub const MODULE: usize = 0;

/// What a scope belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Module,
    Class,
    /// A function, a lambda, type parameters.
    Function,
    Comprehension,
}

/// A scope.
#[derive(Debug)]
pub struct LexicalScope {
    owner: Owner,
    parent: Option<usize>,
    bound: BTreeSet<String>,
    global: BTreeSet<String>,
    nonlocal: BTreeSet<String>,
    /// The statement in which each name was bound first.
    since: BTreeMap<String, usize>,
}

/// When a use is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    /// Never while the program runs: in an annotation that stays text.
    Never,
    /// When something is called.
    Later,
    /// When the module is imported.
    Import,
}

/// What a use does to its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It reads what the name has.
    Read,
    /// It gives the name a value.
    Bind,
    /// The same, by an import.
    Import,
    /// The same, by a class or function.
    Define,
    /// It changes or removes what the name had.
    Change,
}

/// A name in the text.
#[derive(Debug)]
pub struct Use {
    /// The name.
    pub name: String,
    /// Where it stands.
    pub range: TextRange,
    /// What happens to it.
    pub role: Role,
    /// When that happens.
    pub when: When,
    scope: usize,
    /// The statement that it stands in, by its number.
    statement: usize,
    /// What is taken from it: `.b` and `.c` of `a.b.c`.
    pub parts: Vec<(String, TextRange)>,
}

/// An import statement.
#[derive(Debug)]
pub struct ImportStmt {
    /// Where it stands.
    pub range: TextRange,
    /// The scope that it binds names in.
    pub scope: usize,
    /// What stands between `from` and `import`; nothing for `import a, b`.
    pub from: Option<(String, TextRange)>,
    /// The names that it imports.
    pub names: Vec<ImportedName>,
    /// Whether it is only for type checkers.
    pub for_types: bool,
    /// Whether it is a statement of the module itself: not in an `if` or `try`.
    pub at_top: bool,
}

/// A name of an import statement.
#[derive(Debug)]
pub struct ImportedName {
    /// As it is written: `a.b.c`, or `*`.
    pub name: String,
    /// Where the name stands, without its alias.
    pub name_range: TextRange,
    /// The name behind `as`.
    pub alias: Option<String>,
    /// With its alias.
    pub range: TextRange,
}

impl ImportedName {
    /// The name that it has in the file.
    pub fn bound(&self, is_from: bool) -> &str {
        match (&self.alias, is_from) {
            (Some(alias), _) => alias,
            (None, true) => &self.name,
            (None, false) => self.name.split('.').next().unwrap_or_default(),
        }
    }
}

/// The scopes of a file, and all names in it.
#[derive(Debug)]
pub struct Scopes {
    scopes: Vec<LexicalScope>,
    /// Every name in the text, in order.
    pub uses: Vec<Use>,
    /// Every import statement, in order.
    pub imports: Vec<ImportStmt>,
    /// The statements of the module itself, in order.
    pub statements: Vec<Statement>,
}

/// A statement of the module itself.
#[derive(Debug)]
pub struct Statement {
    /// Where it stands.
    pub range: TextRange,
    /// What it is.
    pub what: What,
}

/// What a statement of the module is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// An import.
    Import,
    /// A class or function.
    Define,
    /// One name gets a value: `X = ...`.
    Constant,
    /// A string that stands alone: documentation.
    Docstring,
    /// `if __name__ == "__main__"`.
    Main,
    /// Anything else.
    Other,
}

impl Scopes {
    /// The scopes of a text; `path` says whether it is a stub.
    pub fn of(text: &str, path: &str) -> Self {
        parsed(text, path, |parsed| {
            let body = parsed.body();
            let mut collector = Collector::new(text, body);
            collector.visit_body(body);
            let statements = body.iter().map(|stmt| Statement {
                range: stmt.range(),
                what: what(stmt, text),
            });
            Self {
                statements: statements.collect(),
                scopes: collector.scopes,
                uses: collector.uses,
                imports: collector.imports,
            }
        })
    }

    /// The scope whose name a use means; nothing for builtins and what nobody binds.
    pub fn scope_of(&self, of: &Use) -> Option<usize> {
        let mut next = Some(of.scope);
        while let Some(index) = next {
            let scope = &self.scopes[index];
            if scope.global.contains(&of.name) {
                let module = &self.scopes[MODULE];
                return module.bound.contains(&of.name).then_some(MODULE);
            }
            let lends = self.lends(index, of, &of.name);
            if lends && scope.bound.contains(&of.name) && !scope.nonlocal.contains(&of.name) {
                return Some(index);
            }
            next = scope.parent;
        }
        None
    }

    /// Whether a scope lends a name to a use below it. A class lends to its own body alone,
    /// and only what an earlier statement of it has bound.
    fn lends(&self, scope: usize, to: &Use, name: &str) -> bool {
        let owner = &self.scopes[scope];
        if owner.owner != Owner::Class {
            return true;
        }
        let is_bound = owner.since.get(name).is_some_and(|at| *at < to.statement);
        scope == to.scope && (to.role != Role::Read || is_bound)
    }

    /// Whether a scope is that of a class.
    pub fn is_class(&self, scope: usize) -> bool {
        self.scopes[scope].owner == Owner::Class
    }

    /// Every use that means the name of a scope.
    pub fn uses_of<'a>(&'a self, scope: usize, name: &'a str) -> impl Iterator<Item = &'a Use> {
        let named = self.uses.iter().filter(move |use_| use_.name == name);
        named.filter(move |use_| self.scope_of(use_) == Some(scope))
    }

    /// Where a name is read in the body of a class that binds it later: there it means what
    /// is around the class.
    pub fn outer_reads(&self, name: &str) -> impl Iterator<Item = TextRange> {
        let early = self.uses.iter().filter(move |use_| {
            let binds = self.scopes[use_.scope].bound.contains(&use_.name);
            use_.name == name && binds && !self.lends(use_.scope, use_, name)
        });
        early.map(|use_| use_.range)
    }

    /// Where one of two names would be taken for the other if the uses of the first at these
    /// places had the second name.
    pub fn mistaken(
        &self,
        places: &HashSet<TextRange>,
        name: &str,
        new_name: &str,
    ) -> Option<TextRange> {
        let mut owners = BTreeSet::new();
        let renamed = self.uses.iter().filter(|use_| use_.name == name);
        for use_ in renamed.filter(|use_| places.contains(&use_.range)) {
            let Some(owner) = self.scope_of(use_) else {
                continue;
            };
            owners.insert(owner);
            // A scope on the way that has the new name would be found first.
            for scope in self.way(use_, new_name) {
                if self.scopes[scope].bound.contains(new_name) {
                    let mut binds = self.uses.iter().filter(|u| u.name == new_name);
                    let found = binds.find(|u| u.role != Role::Read && u.scope == scope);
                    return Some(found.map_or(use_.range, |found| found.range));
                }
                if scope == owner {
                    break;
                }
            }
        }
        // What has the new name already would be found in the scope of the first.
        let others = self.uses.iter().filter(|use_| use_.name == new_name);
        for use_ in others {
            let own = self.scope_of(use_);
            let way = self.way(use_, new_name).into_iter();
            let mut way = way.take_while(|scope| Some(*scope) != own);
            if way.any(|scope| owners.contains(&scope)) {
                return Some(use_.range);
            }
        }
        None
    }

    /// The scopes in which a use would be looked for if it had a name, the nearest first.
    fn way(&self, of: &Use, name: &str) -> Vec<usize> {
        let mut way = Vec::new();
        let mut next = Some(of.scope);
        while let Some(index) = next {
            let scope = &self.scopes[index];
            let lends = self.lends(index, of, name);
            if lends && !scope.global.contains(&of.name) && !scope.nonlocal.contains(&of.name) {
                way.push(index);
            }
            next = match scope.global.contains(&of.name) {
                true if index != MODULE => Some(MODULE),
                _ => scope.parent,
            };
        }
        way
    }

    /// The scope in which another name would be found where a use stands.
    pub fn scope_of_name(&self, at: &Use, name: &str) -> Option<usize> {
        let mut way = self.way(at, name).into_iter();
        way.find(|scope| self.scopes[*scope].bound.contains(name))
    }

    /// Where a name is bound first in a scope.
    pub fn binding_of(&self, scope: usize, name: &str) -> Option<TextRange> {
        let mut binds = self.uses_of(scope, name);
        let found = binds.find(|use_| use_.role != Role::Read);
        found.map(|use_| use_.range)
    }

    /// Whether a name is spelled anywhere, as one that stands for itself.
    pub fn mentions(&self, name: &str) -> bool {
        self.uses.iter().any(|use_| use_.name == name)
    }

    /// What the module's own names are bound by, in the order of the text.
    pub fn module_bindings(&self) -> BTreeMap<&str, Vec<&Use>> {
        let mut all: BTreeMap<&str, Vec<&Use>> = BTreeMap::new();
        let binds = self.uses.iter().filter(|use_| use_.role != Role::Read);
        for use_ in binds.filter(|use_| self.scope_of(use_) == Some(MODULE)) {
            all.entry(&use_.name).or_default().push(use_);
        }
        all
    }
}

fn what(stmt: &Stmt, text: &str) -> What {
    match stmt {
        Stmt::Import(_) | Stmt::ImportFrom(_) => What::Import,
        Stmt::FunctionDef(_) | Stmt::ClassDef(_) => What::Define,
        Stmt::Assign(assign) if assign.targets.len() == 1 && assign.targets[0].is_name_expr() => {
            What::Constant
        }
        Stmt::AnnAssign(assign) if assign.target.is_name_expr() => What::Constant,
        Stmt::TypeAlias(_) => What::Constant,
        Stmt::Expr(expr) if expr.value.is_string_literal_expr() => What::Docstring,
        Stmt::If(test) if text[test.test.range()].contains("__name__") => What::Main,
        _ => What::Other,
    }
}

#[cfg(test)]
#[path = "scopes_tests.rs"]
mod tests;

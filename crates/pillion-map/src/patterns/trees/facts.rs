//! A file as rules see it, whatever language it is written in: its types and functions, and
//! what their code calls, keeps, goes through and returns.
//!
//! All lists are in the order of the text, so that what lies in a function is a slice.

use std::collections::HashMap;
use std::ops::Range;

use pillion_index::steps;
use tree_sitter::Node;

/// Characters of an argument that a name is looked for in; longer ones are code.
const MAX_ARGUMENT: usize = 120;
/// Functions, types and variables of a file that are kept, each; more are only found in what
/// is generated. Some rules compare all with all.
const MAX_DEFS: usize = 2_000;
/// How deep functions, types and loops may lie in others of their kind: all that lies in one
/// is looked at for each that it lies in.
const MAX_NESTED: usize = 16;
/// Calls, assignments and returns of a file that are kept, each.
const MAX_FACTS: usize = 20_000;
/// Parameters and fields that are looked at.
const MAX_NAMES: usize = 100;
/// Bytes of a value that is assigned; what a rule looks for stands at its beginning.
const MAX_VALUE: usize = 2_000;
/// How something is taken from a container by a key.
const BY_KEY: &[&str] = &[
    "[",
    ".get(",
    ".get_mut(",
    ".getOrDefault(",
    ".computeIfAbsent(",
    ".entry(",
];

/// A file.
pub(super) struct Facts<'t> {
    pub(super) path: &'t str,
    pub(super) text: &'t str,
    /// Whether the fields of an object have no word before them: Java.
    pub(super) has_bare_fields: bool,
    pub(super) package: &'t str,
    pub(super) imports: Vec<&'t str>,
    pub(super) types: Vec<Type<'t>>,
    pub(super) functions: Vec<Function<'t>>,
    /// Where the methods of a type are, and which type it is.
    pub(super) spans: Vec<(Range<usize>, &'t str)>,
    /// Variables of the file, or of a class as such.
    pub(super) globals: Vec<Global<'t>>,
    /// A type, and an interface that it says it fulfils.
    pub(super) fulfils: Vec<(&'t str, &'t str)>,
    pub(super) calls: Vec<Call<'t>>,
    pub(super) assigns: Vec<Assign<'t>>,
    pub(super) loops: Vec<Loop<'t>>,
    pub(super) returns: Vec<(usize, &'t str)>,
    /// Annotations, decorators and attributes, wherever they stand.
    pub(super) marks: Vec<Mark<'t>>,
    /// Where types are by their names, and methods by the names of theirs.
    pub(super) by_name: HashMap<&'t str, usize>,
    pub(super) by_owner: HashMap<&'t str, Vec<usize>>,
    /// The first variable of a name, and whether it is one that keeps others.
    pub(super) by_global: HashMap<&'t str, (usize, bool)>,
    /// What is assigned to, by its first word, in the order of the text.
    pub(super) by_target: HashMap<&'t str, Vec<usize>>,
    /// What the node at hand lies in, outermost first.
    pub(super) above: Vec<Node<'t>>,
    /// Where functions, types and loops end that the node at hand may lie in.
    pub(super) open: [Vec<usize>; 3],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Class,
    Interface,
}

/// A class, struct or interface.
pub(super) struct Type<'t> {
    pub(super) name: &'t str,
    pub(super) at: usize,
    pub(super) range: Range<usize>,
    pub(super) kind: Kind,
    pub(super) bases: Vec<&'t str>,
    /// Names and types of fields.
    pub(super) fields: Vec<(&'t str, &'t str)>,
    pub(super) marks: Vec<Mark<'t>>,
}

/// A function or method.
pub(super) struct Function<'t> {
    pub(super) name: &'t str,
    pub(super) at: usize,
    pub(super) range: Range<usize>,
    /// The type that it is a method of.
    pub(super) owner: Option<&'t str>,
    /// What its code calls its own object; nothing if it has none.
    pub(super) me: &'t str,
    /// Names and types.
    pub(super) params: Vec<(&'t str, &'t str)>,
    pub(super) result: &'t str,
    /// `static`, `private` and the like.
    pub(super) words: Vec<&'t str>,
    pub(super) marks: Vec<Mark<'t>>,
    pub(super) has_body: bool,
}

pub(super) struct Global<'t> {
    pub(super) name: &'t str,
    pub(super) kind: &'t str,
    pub(super) value: &'t str,
    pub(super) at: usize,
}

/// `on.name(arguments)`.
pub(super) struct Call<'t> {
    pub(super) on: &'t str,
    pub(super) name: &'t str,
    pub(super) args: Vec<Node<'t>>,
    pub(super) at: usize,
}

pub(super) struct Assign<'t> {
    pub(super) to: &'t str,
    pub(super) value: &'t str,
    pub(super) at: usize,
}

/// A loop over the items of something, or a function that is called for each.
pub(super) struct Loop<'t> {
    pub(super) items: Vec<&'t str>,
    pub(super) over: &'t str,
    pub(super) range: Range<usize>,
    pub(super) at: usize,
}

#[derive(Clone, Copy)]
pub(super) struct Mark<'t> {
    /// Without the module it is taken from.
    pub(super) name: &'t str,
    /// What stands in its parentheses.
    pub(super) args: &'t str,
    pub(super) at: usize,
}

impl<'t> Facts<'t> {
    pub(super) fn text_of(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    pub(super) fn field(&self, node: Node<'_>, field: &str) -> &'t str {
        let found = node.child_by_field_name(field);
        found.map_or("", |found| self.text_of(found))
    }

    /// Whether one of these modules is imported, or something in it.
    pub(super) fn imports_any<T: AsRef<str>>(&self, modules: &[T]) -> bool {
        let is_in = |import: &str, module: &str| {
            import.strip_prefix(module).is_some_and(|rest| {
                let inner = |c: char| !c.is_alphanumeric() && c != '_' && c != '-';
                rest.is_empty() || rest.starts_with(inner)
            })
        };
        let mut all = self.imports.iter();
        all.any(|import| modules.iter().any(|module| is_in(import, module.as_ref())))
    }

    /// Whether more is to be read.
    pub(super) fn has_room(&self) -> bool {
        let counts = [self.calls.len(), self.assigns.len(), self.returns.len()];
        counts.iter().all(|count| *count < MAX_FACTS)
    }

    /// The kind of what the node at hand lies in, so many levels above.
    pub(super) fn kind_above(&self, levels: usize) -> &'t str {
        let at = self.above.len().checked_sub(levels);
        at.and_then(|at| self.above.get(at))
            .map_or("", |node| node.kind())
    }

    /// Whether something of a sort does not lie too deep in others of it. They come in the
    /// order of the text.
    fn fits(&mut self, sort: usize, range: &Range<usize>) -> bool {
        let open = &mut self.open[sort];
        while open.last().is_some_and(|end| *end <= range.start) {
            open.pop();
        }
        let fits = open.len() < MAX_NESTED;
        if fits {
            open.push(range.end);
        }
        fits
    }

    /// Take in a function.
    pub(super) fn add_function(&mut self, function: Option<Function<'t>>) {
        let Some(mut function) = function else {
            return;
        };
        if self.functions.len() < MAX_DEFS && self.fits(0, &function.range) {
            function.params.truncate(MAX_NAMES);
            self.functions.push(function);
        }
    }

    /// Take in a loop.
    pub(super) fn add_loop(&mut self, one: Option<Loop<'t>>) {
        let Some(one) = one else { return };
        if self.loops.len() < MAX_DEFS && self.fits(2, &one.range) {
            self.loops.push(one);
        }
    }

    /// Take in a variable of the file.
    pub(super) fn add_global(&mut self, mut global: Global<'t>) {
        if self.globals.len() < MAX_DEFS {
            global.value = head(global.value);
            self.globals.push(global);
        }
    }

    /// The first variable of the file with a name.
    pub(super) fn global(&self, name: &str) -> Option<&Global<'t>> {
        self.globals.get(self.by_global.get(name)?.0)
    }

    /// Whether the first variable of the file with a name is one that keeps others.
    pub(super) fn keeps(&self, name: &str) -> bool {
        self.by_global.get(name).is_some_and(|(_, keeps)| *keeps)
    }

    /// What is assigned in a range to what begins with a word.
    pub(super) fn assigned_to(
        &self,
        range: &Range<usize>,
        word: &str,
    ) -> impl Iterator<Item = &Assign<'t>> {
        let all = self.by_target.get(word).map_or(&[][..], Vec::as_slice);
        let at = |index: &usize| self.assigns.get(*index).map_or(0, |one| one.at);
        let (start, end) = (range.start, range.end);
        let all = &all[all.partition_point(|index| at(index) < start)..];
        let all = all.iter().take_while(move |index| at(index) < end);
        let all = all.inspect(|_| steps::take(1));
        all.filter_map(|index| self.assigns.get(*index))
    }

    /// Take in a type; what lies in it belongs to it.
    pub(super) fn declare(&mut self, mut declared: Option<Type<'t>>) {
        let range = declared.as_ref().map(|one| one.range.clone());
        if self.types.len() >= MAX_DEFS || !range.is_some_and(|range| self.fits(1, &range)) {
            return;
        }
        if let Some(one) = &mut declared {
            one.fields.truncate(MAX_NAMES);
        }
        let spans = declared.iter().map(|one| (one.range.clone(), one.name));
        self.spans.extend(spans);
        self.types.extend(declared);
    }

    /// The type around an offset.
    pub(super) fn around(&self, at: usize) -> Option<&'t str> {
        let mut spans = self.spans.iter().rev();
        let found = spans.find(|(range, _)| {
            steps::take(1);
            range.contains(&at)
        });
        found.map(|(_, name)| *name)
    }

    /// Once all is read: what is asked for by name.
    pub(super) fn index(&mut self) {
        for (at, one) in self.types.iter().enumerate() {
            self.by_name.entry(one.name).or_insert(at);
        }
        for (at, function) in self.functions.iter().enumerate() {
            if let Some(owner) = function.owner {
                self.by_owner.entry(owner).or_default().push(at);
            }
        }
        for (at, global) in self.globals.iter().enumerate() {
            let keeps = is_container(global.kind) || is_container(global.value);
            self.by_global.entry(global.name).or_insert((at, keeps));
        }
        for (at, assign) in self.assigns.iter().enumerate() {
            self.by_target.entry(word(assign.to)).or_default().push(at);
        }
    }

    /// The first type of a name.
    pub(super) fn type_named(&self, name: &str) -> Option<&Type<'t>> {
        self.types.get(*self.by_name.get(name)?)
    }

    pub(super) fn methods(&self, of: &str) -> impl Iterator<Item = &Function<'t>> {
        let all = self.by_owner.get(of).into_iter().flatten();
        let all = all.inspect(|_| steps::take(1));
        all.filter_map(|at| self.functions.get(*at))
    }

    pub(super) fn globals_in(&self, range: &Range<usize>) -> &[Global<'t>] {
        within(&self.globals, range, |global| global.at)
    }

    pub(super) fn marks_in(&self, range: &Range<usize>) -> &[Mark<'t>] {
        within(&self.marks, range, |mark| mark.at)
    }

    pub(super) fn calls_in(&self, range: &Range<usize>) -> &[Call<'t>] {
        within(&self.calls, range, |call| call.at)
    }

    pub(super) fn assigns_in(&self, range: &Range<usize>) -> &[Assign<'t>] {
        within(&self.assigns, range, |assign| assign.at)
    }

    pub(super) fn loops_in(&self, range: &Range<usize>) -> &[Loop<'t>] {
        within(&self.loops, range, |one| one.at)
    }

    pub(super) fn returns_in(&self, range: &Range<usize>) -> impl Iterator<Item = &'t str> {
        let all = within(&self.returns, range, |(at, _)| *at);
        all.iter().map(|(_, value)| *value)
    }

    /// The field of the own object that an expression in a method begins with, and whether
    /// something is taken from it by a key: `this.all`, `self.all[key]`, `this.all.get(key)`.
    pub(super) fn held(&self, method: &Function<'_>, expr: &'t str) -> Option<(&'t str, bool)> {
        if method.me.is_empty() {
            return None;
        }
        let expr = bare(expr);
        let own = expr.strip_prefix(method.me);
        let own = own.and_then(|rest| {
            let rest = rest.trim_start();
            rest.strip_prefix("->").or_else(|| rest.strip_prefix('.'))
        });
        let rest = match own {
            Some(rest) => rest,
            None if self.has_bare_fields => {
                let owner = self.type_named(method.owner?)?;
                let name = word(expr);
                owner.fields.iter().find(|(field, _)| *field == name)?;
                expr
            }
            None => return None,
        };
        let name = word(rest);
        let behind = rest.get(name.len()..).unwrap_or_default();
        (!name.is_empty()).then(|| (name, is_keyed(behind)))
    }
}

/// How the types of containers end.
const CONTAINERS: &[&str] = &["Map", "map", "Vec", "Set", "List", "Array"];

/// Whether a type or a value is one that keeps others.
fn is_container(text: &str) -> bool {
    let is_known = |word: &str| CONTAINERS.iter().any(|end| word.ends_with(end));
    text.starts_with('[') || text == "{}" || words(text).any(is_known)
}

/// The beginning of a value.
pub(super) fn head(value: &str) -> &str {
    &value[..value.floor_char_boundary(MAX_VALUE)]
}

/// Whether what stands behind a container takes something from it by a key.
pub(super) fn is_keyed(behind: &str) -> bool {
    let behind = behind.trim_start_matches(['?', '!']).trim_start();
    BY_KEY.iter().any(|key| behind.starts_with(key))
}

/// Without what only borrows or unwraps it.
pub(super) fn bare(expr: &str) -> &str {
    let expr = expr.trim_start_matches(['&', '*', '(']).trim_start();
    expr.strip_prefix("mut ").unwrap_or(expr)
}

/// The word that a text begins with.
pub(super) fn word(text: &str) -> &str {
    let end = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    &text[..end]
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '#' || c == '$'
}

/// The words of a text.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    steps::scan(text.len());
    text.split(|c: char| !is_word(c)).filter(|w| !w.is_empty())
}

/// Whether an argument is a name, or something short around it.
pub(super) fn mentions(argument: &str, name: &str) -> bool {
    argument.len() <= MAX_ARGUMENT && words(argument).any(|word| word == name)
}

/// `addListener` and `AddListener` as `add_listener`.
pub(super) fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    let mut was_small = false;
    for c in name.chars() {
        if c.is_uppercase() && was_small {
            snake.push('_');
        }
        was_small = c.is_lowercase() || c.is_ascii_digit();
        snake.extend(c.to_lowercase());
    }
    snake
}

/// Names in backticks, one after the other.
pub(super) fn listed<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let all = names.into_iter();
    let all: Vec<String> = all.map(|name| format!("`{}`", name.as_ref())).collect();
    all.join(", ")
}

/// The items of a list in the order of the text that lie in a range.
fn within<'a, T>(all: &'a [T], range: &Range<usize>, at: impl Fn(&T) -> usize) -> &'a [T] {
    let from = all.partition_point(|one| at(one) < range.start);
    let rest = &all[from..];
    let inside = &rest[..rest.partition_point(|one| at(one) < range.end)];
    steps::take(inside.len());
    inside
}

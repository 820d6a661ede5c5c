//! From text to an [`Outline`]: one query of tree-sitter per language says what is what, and
//! a [`Grammar`] reads the few things that queries cannot say.

use std::collections::{HashMap, HashSet};

use tree_sitter::{Language, Node, Query, QueryCursor, StreamingIterator};

use super::super::world::Role;
use super::nodes::{children, errors, labels, line_of, lines_of, param, text_of};
use super::outline::{Def, DefId, DefKind, FILE, How, Local, Origin, Outline, Path, UNKNOWN, Use};
use super::tree::parse;

/// Uses that are kept of a file; more are only found in what is generated.
const MAX_USES: usize = 50_000;
/// Definitions in one another; what lies deeper belongs to the last.
const MAX_NESTED: u32 = 32;
/// States of a query that are followed at once.
const MAX_MATCHES: u32 = 1_024;

/// What queries cannot say about a language.
pub(super) struct Grammar {
    pub(super) language: Language,
    pub(super) query: Query,
    pub(super) hooks: Hooks,
}

/// How to read what queries found.
#[derive(Clone, Copy)]
pub(super) struct Hooks {
    /// An expression or a type as a path.
    pub(super) path: fn(Node<'_>, &str) -> Path,
    /// What else there is to say about a definition.
    pub(super) define: fn(Node<'_>, &str, &mut Def),
    /// An import, an export or a package: whatever was captured as `@import`, in which
    /// nothing is used, or as `@export`.
    pub(super) import: fn(Node<'_>, &str, DefId, &mut Outline),
    /// Uses in a piece of text that is no syntax yet, captured as `@tokens`.
    pub(super) tokens: fn(Node<'_>, &str, &mut dyn FnMut(Token)),
}

/// Something used in a piece of text that is no syntax yet.
pub(super) struct Token {
    pub(super) path: Path,
    pub(super) is_call: bool,
    pub(super) line: u32,
    pub(super) is_loose: bool,
}

/// No pieces of text without syntax.
pub(super) fn no_tokens(_: Node<'_>, _: &str, _: &mut dyn FnMut(Token)) {}

impl Grammar {
    /// A grammar with its query; nothing if they do not fit each other, which a test rules
    /// out.
    pub(super) fn new(language: Language, query: &str, hooks: Hooks) -> Option<Self> {
        let query = Query::new(&language, query).ok()?;
        Some(Self {
            language,
            query,
            hooks,
        })
    }

    /// The outline of a text.
    pub(super) fn read(&self, text: &str) -> Outline {
        let Ok(tree) = parse(&self.language, text) else {
            return Outline {
                errors: vec![1],
                ..Outline::default()
            };
        };
        let root = tree.root_node();
        let mut found = Found::default();
        let mut cursor = QueryCursor::new();
        cursor.set_match_limit(MAX_MATCHES);
        let mut matches = cursor.matches(&self.query, root, text.as_bytes());
        while let Some(one) = matches.next() {
            pillion_index::steps::take(1);
            found.take_in(&self.query, one);
        }
        let mut outline = found.outline(self, root, text);
        outline.errors = errors(root);
        outline
    }
}

/// What matches found, by capture.
#[derive(Default)]
struct Found<'t> {
    defs: Vec<(DefKind, Node<'t>, Node<'t>)>,
    seen: HashSet<usize>,
    /// Nodes that are no uses, whatever else matches them.
    names: HashSet<usize>,
    params: HashMap<usize, Vec<Node<'t>>>,
    bases: Vec<Node<'t>>,
    fulfils: Vec<(Node<'t>, Node<'t>)>,
    imports: Vec<Node<'t>>,
    exports: Vec<Node<'t>>,
    /// Locals that are fields of the class around.
    fields: HashSet<usize>,
    locals: HashMap<usize, (Node<'t>, Option<Node<'t>>, Option<Node<'t>>)>,
    order: Vec<usize>,
    uses: Vec<(How, Node<'t>)>,
    tokens: Vec<Node<'t>>,
    strings: Vec<Node<'t>>,
}

impl<'t> Found<'t> {
    fn take_in(&mut self, query: &Query, one: &tree_sitter::QueryMatch<'_, 't>) {
        let names = query.capture_names();
        let capture = |name: &str| {
            let mut all = one.captures().iter();
            let found = all.find(|c| names.get(c.index as usize) == Some(&name));
            found.map(|c| c.node)
        };
        if let Some(name) = capture("name") {
            let kinds = [
                (DefKind::Function, "function"),
                (DefKind::Class, "class"),
                (DefKind::Namespace, "namespace"),
            ];
            for (kind, what) in kinds {
                if let Some(node) = capture(what) {
                    self.names.insert(name.id());
                    if self.seen.insert(node.id()) {
                        self.defs.push((kind, node, name));
                    }
                    if let Some(list) = capture("params") {
                        self.params.insert(node.id(), children(list));
                    }
                }
            }
        }
        if let (Some(kind), Some(base)) = (capture("type"), capture("fulfils")) {
            self.fulfils.push((kind, base));
        }
        self.fields.extend(capture("field").map(|node| node.id()));
        if let Some(local) = capture("local").or(capture("field")) {
            let (kind, value) = (capture("type"), capture("value"));
            let known = self.locals.entry(local.id());
            let known = known.or_insert_with(|| {
                self.order.push(local.id());
                (local, None, None)
            });
            known.1 = known.1.or(kind);
            known.2 = known.2.or(value);
        }
        self.bases.extend(capture("base"));
        self.imports.extend(capture("import"));
        if let Some(export) = capture("export") {
            self.exports.push(export);
            self.names.insert(export.id());
        }
        self.tokens.extend(capture("tokens"));
        self.strings.extend(capture("string"));
        self.uses
            .extend(capture("call").map(|node| (How::Call, node)));
        self.uses
            .extend(capture("new").map(|node| (How::New, node)));
        self.uses
            .extend(capture("ref").map(|node| (How::Name, node)));
    }

    fn outline(mut self, grammar: &Grammar, root: Node<'t>, text: &str) -> Outline {
        let hooks = grammar.hooks;
        let mut outline = Outline::default();
        outline.defs.push(file_def(root));
        self.defs
            .sort_by_key(|(_, node, _)| (node.start_byte(), std::cmp::Reverse(node.end_byte())));
        let mut spans: Vec<(usize, usize)> = vec![(0, usize::MAX)];
        let mut depths: Vec<u32> = vec![0];
        for (kind, node, name) in &self.defs {
            let parent = around(&spans, &outline.defs, node.start_byte());
            let depth = depths.get(parent as usize).map_or(1, |depth| depth + 1);
            if depth > MAX_NESTED {
                continue;
            }
            depths.push(depth);
            let mut def = Def {
                kind: *kind,
                name: text_of(*name, text).into(),
                parent,
                lines: lines_of(*node),
                line: line_of(*name),
                params: Vec::new(),
                ..file_def(root)
            };
            if let Some(list) = self.params.get(&node.id()) {
                def.params = list.iter().filter_map(|p| param(*p, text)).collect();
            }
            (hooks.define)(*node, text, &mut def);
            outline.defs.push(def);
            spans.push((node.start_byte(), node.end_byte()));
        }
        let at = |node: Node<'_>, defs: &[Def]| around(&spans, defs, node.start_byte());
        for base in &self.bases {
            let def = at(*base, &outline.defs);
            if let Some(def) = outline.defs.get_mut(def as usize) {
                def.bases.push((hooks.path)(*base, text));
            }
        }
        let fulfils = self.fulfils.iter();
        outline.fulfils = fulfils
            .map(|(kind, base)| {
                let def = at(*kind, &outline.defs);
                (def, (hooks.path)(*kind, text), (hooks.path)(*base, text))
            })
            .collect();
        let mut imported: Vec<(usize, usize)> = Vec::new();
        for import in &self.imports {
            let def = at(*import, &outline.defs);
            (hooks.import)(*import, text, def, &mut outline);
            imported.push((import.start_byte(), import.end_byte()));
        }
        for export in &self.exports {
            let def = at(*export, &outline.defs);
            (hooks.import)(*export, text, def, &mut outline);
        }
        imported.sort_unstable();
        let is_imported = |node: Node<'_>| {
            let start = node.start_byte();
            let at = imported.partition_point(|(from, _)| *from <= start);
            at > 0 && start < imported[at - 1].1
        };
        for id in &self.order {
            let Some((node, kind, value)) = self.locals.get(id) else {
                continue;
            };
            if self.names.contains(id) || is_imported(*node) {
                continue;
            }
            let origin = match (kind, value) {
                (Some(kind), _) => Origin::Type((hooks.path)(*kind, text)),
                (None, Some(value)) => Origin::Call((hooks.path)(*value, text)),
                (None, None) => Origin::Unknown,
            };
            let mut def = at(*node, &outline.defs);
            let is_class = |def: DefId| outline.defs[def as usize].kind == DefKind::Class;
            while self.fields.contains(id) && def != FILE && !is_class(def) {
                def = outline.defs[def as usize].parent;
            }
            outline.locals.push(Local {
                def,
                name: text_of(*node, text).into(),
                origin,
            });
        }
        outline.locals.sort();
        outline.locals.dedup();
        self.uses(grammar, root, text, &mut outline, &at, &is_imported);
        outline
    }

    fn uses(
        &self,
        grammar: &Grammar,
        root: Node<'t>,
        text: &str,
        outline: &mut Outline,
        at: &dyn Fn(Node<'_>, &[Def]) -> DefId,
        is_imported: &dyn Fn(Node<'_>) -> bool,
    ) {
        let labels = labels(root);
        let called: HashSet<usize> = self
            .uses
            .iter()
            .filter(|(how, _)| *how != How::Name)
            .map(|(_, node)| node.id())
            .collect();
        for (how, node) in &self.uses {
            let id = node.id();
            let is_other = self.names.contains(&id) || self.locals.contains_key(&id);
            let is_name = *how == How::Name;
            if is_name && (is_other || called.contains(&id) || labels.contains(&id))
                || is_imported(*node)
            {
                continue;
            }
            outline.uses.push(Use {
                def: at(*node, &outline.defs),
                path: (grammar.hooks.path)(*node, text),
                how: *how,
                line: line_of(*node),
                is_loose: false,
            });
        }
        for node in &self.tokens {
            let def = at(*node, &outline.defs);
            (grammar.hooks.tokens)(*node, text, &mut |token| {
                outline.uses.push(Use {
                    def,
                    path: token.path,
                    how: if token.is_call { How::Call } else { How::Name },
                    line: token.line,
                    is_loose: token.is_loose,
                });
            });
        }
        for node in self.strings.iter().filter(|node| !is_imported(**node)) {
            // A name in a string may be looked up as the program runs.
            if let Some(name) = spelled(text_of(*node, text)) {
                outline.uses.push(Use {
                    def: at(*node, &outline.defs),
                    path: Path::unknown().then(name, true),
                    how: How::Name,
                    line: line_of(*node),
                    is_loose: true,
                });
            }
        }
        outline.uses.sort();
        let same = |a: &mut Use, b: &mut Use| {
            (a.def, &a.path, a.how, a.is_loose) == (b.def, &b.path, b.how, b.is_loose)
        };
        outline.uses.dedup_by(same);
        outline.uses.truncate(MAX_USES);
    }
}

/// The last name of what a string spells, if that is names.
fn spelled(text: &str) -> Option<&str> {
    let is_name = |c: char| c == '_' || c.is_alphanumeric();
    let is_spelled = text.len() <= 80 && text.chars().all(|c| is_name(c) || ".:#".contains(c));
    let last = text.rsplit(|c| !is_name(c)).next();
    last.filter(|last| is_spelled && !last.is_empty())
}

/// The innermost definition around an offset: the last that began before and has not ended.
fn around(spans: &[(usize, usize)], defs: &[Def], offset: usize) -> DefId {
    let last = spans.partition_point(|(start, _)| *start <= offset);
    let mut at = u32::try_from(last.saturating_sub(1)).unwrap_or(FILE);
    while at != FILE && spans.get(at as usize).is_none_or(|(_, end)| *end <= offset) {
        pillion_index::steps::take(1);
        at = defs.get(at as usize).map_or(FILE, |def| def.parent);
    }
    at
}

fn file_def(root: Node<'_>) -> Def {
    Def {
        kind: DefKind::File,
        name: UNKNOWN.into(),
        parent: FILE,
        owner: None,
        lines: lines_of(root),
        line: 1,
        params: Vec::new(),
        bases: Vec::new(),
        returns: None,
        role: Role::Plain,
        is_private: false,
        has_body: true,
    }
}

//! From text to a tree of tree-sitter, with bounded effort, and what is wrong in it.

use std::ops::ControlFlow;

use pillion_index::language::Language;
use pillion_index::nesting::is_deeper;
use pillion_index::source::Source;
use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

/// How often the parser may report that it goes on, besides once for each byte: it does so
/// after some hundred steps.
const MIN_EFFORT: usize = 10_000;
/// Mistakes that are told of a file: what follows more of them is mostly their echo.
const MAX_MISTAKES: usize = 100;
/// Characters that a message shows of what was not understood.
const MAX_SHOWN: usize = 40;

/// Something that is no syntax of its language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    pub message: String,
}

/// How deep a tree may be. Asking a node for what is around it takes as long as it lies deep,
/// and queries follow all that is open at once.
const MAX_DEPTH: u32 = 1_000;

/// Why there is no tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unparsed {
    /// There is no grammar for it.
    NoGrammar,
    TooLong,
    TooDeep,
}

impl Unparsed {
    /// What is told of the file.
    pub(crate) fn mistake(self) -> Mistake {
        let message = match self {
            Self::NoGrammar => "its language is read elsewhere",
            Self::TooLong => "it takes too long to parse",
            Self::TooDeep => "it nests too deeply",
        };
        Mistake {
            line: 1,
            column: 1,
            message: message.to_owned(),
        }
    }
}

/// The tree of a text; that of Python is read elsewhere.
pub(crate) fn tree(language: Language, path: &str, text: &str) -> Result<Tree, Unparsed> {
    let is_plain = || {
        [".ts", ".mts", ".cts"]
            .iter()
            .any(|end| path.ends_with(end))
    };
    let grammar = match language {
        Language::Typescript | Language::Javascript if is_plain() => {
            tree_sitter_typescript::LANGUAGE_TYPESCRIPT
        }
        Language::Typescript | Language::Javascript => tree_sitter_typescript::LANGUAGE_TSX,
        Language::Go => tree_sitter_go::LANGUAGE,
        Language::Rust => tree_sitter_rust::LANGUAGE,
        Language::Java => tree_sitter_java::LANGUAGE,
        Language::C => tree_sitter_c::LANGUAGE,
        Language::Python | Language::Auto => return Err(Unparsed::NoGrammar),
    };
    parse(&grammar.into(), text)
}

/// The tree of a text in a grammar.
pub(super) fn parse(grammar: &tree_sitter::Language, text: &str) -> Result<Tree, Unparsed> {
    let mut parser = Parser::new();
    let is_set = parser.set_language(grammar);
    is_set.map_err(|_| Unparsed::NoGrammar)?;
    // Counted in steps, not in time: the same text always gives the same tree.
    let mut steps = 0;
    let most = MIN_EFFORT + text.len();
    let mut progress = |_: &ParseState| {
        steps += 1;
        pillion_index::steps::take(1);
        match steps > most {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut rest = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut rest, None, Some(options));
    let tree = tree.ok_or(Unparsed::TooLong)?;
    match is_deeper(&tree, MAX_DEPTH) {
        true => Err(Unparsed::TooDeep),
        false => Ok(tree),
    }
}

/// What the parser did not understand, or missed.
pub(crate) fn mistakes(root: Node<'_>, source: &Source) -> Vec<Mistake> {
    let mut found = Vec::new();
    each_error(root, &mut |node| {
        let at = source.position(node.start_byte());
        found.push(Mistake {
            line: at.line + 1,
            column: at.column + 1,
            message: message(node, source.text()),
        });
        found.len() < MAX_MISTAKES
    });
    found.dedup();
    found
}

/// Every node that is an error, or stands for something that is not there, as long as it is
/// answered that more are wanted.
pub(super) fn each_error(root: Node<'_>, look: &mut dyn FnMut(Node<'_>) -> bool) {
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        pillion_index::steps::take(1);
        if (node.is_error() || node.is_missing()) && !look(node) {
            return;
        }
        let is_deeper = node.has_error() && !node.is_error() && cursor.goto_first_child();
        if is_deeper {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

fn message(node: Node<'_>, text: &str) -> String {
    if node.is_missing() {
        return format!("`{}` is missing", node.kind());
    }
    let text = text.get(node.byte_range()).unwrap_or_default();
    let first = text.trim().lines().next().unwrap_or_default();
    let shown: String = first.chars().take(MAX_SHOWN).collect();
    match shown.is_empty() {
        true => "something is not understood".to_owned(),
        false => format!("`{}` is not understood", shown.replace('`', "'")),
    }
}

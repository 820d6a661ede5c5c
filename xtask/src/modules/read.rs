//! Reading the sources of a crate into its tree of modules.

use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

use super::{Kind, Module, Source, Tree, Use};
use crate::error::{Error, Result};

/// Words that stand before the name of an item.
const ITEMS: &[&str] = &[
    "const", "enum", "fn", "static", "struct", "trait", "type", "union",
];

/// Words that can stand between such a word and the name.
const BETWEEN: &[&str] = &["async", "const", "extern", "fn", "mut", "unsafe"];

/// Words that no path begins with.
const NO_PATH: &[&str] = &[
    "as", "async", "await", "const", "dyn", "else", "enum", "fn", "for", "if", "impl", "in", "let",
    "loop", "match", "move", "mut", "pub", "ref", "return", "static", "struct", "trait", "type",
    "unsafe", "where", "while",
];

/// Words that open what ends with `;`, also if braces come before that.
const TO_SEMICOLON: &[&str] = &["extern", "let", "static", "type", "use"];

/// Words that open what ends with braces, or with `;` if there are none.
const TO_BRACES: &[&str] = &[
    "async",
    "enum",
    "fn",
    "impl",
    "macro_rules",
    "mod",
    "struct",
    "trait",
    "union",
    "unsafe",
];

/// The crate with this root.
pub(super) fn tree(source: &dyn Source, root: &Path) -> Result<Tree> {
    let mut reader = Reader {
        source,
        tree: Tree::default(),
    };
    reader.tree.modules.push(Module {
        name: "crate".to_owned(),
        ..Module::default()
    });
    let text = source
        .text(root)?
        .ok_or_else(|| Error::new(format!("`{}` is not there", root.display())))?;
    let folder = root.parent().unwrap_or(Path::new("")).to_owned();
    let here = Here {
        module: 0,
        file: root.to_owned(),
        folder,
        inline: false,
    };
    reader.file(&text, &here)?;
    Ok(reader.tree)
}

/// Where the reader is.
#[derive(Debug, Clone)]
struct Here {
    module: usize,
    file: PathBuf,
    /// Where the files of the module's children are.
    folder: PathBuf,
    /// Whether the module is written within a file, in braces.
    inline: bool,
}

struct Reader<'a> {
    source: &'a dyn Source,
    tree: Tree,
}

impl Reader<'_> {
    fn file(&mut self, text: &str, here: &Here) -> Result<()> {
        let stream: TokenStream = text.parse().map_err(|error: proc_macro2::LexError| {
            let at = error.span().start();
            Error::new(format!("{}:{}: {error}", here.file.display(), at.line))
        })?;
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        if inner_attributes(&tokens).any(is_for_tests) {
            return Ok(());
        }
        self.tokens(&tokens, here, true)
    }

    /// Read what stands in a file, in a module's braces, or (`items` is false) anywhere else.
    fn tokens(&mut self, tokens: &[TokenTree], here: &Here, items: bool) -> Result<()> {
        let mut at = 0;
        // What `#[path = ".."]` says about the next module.
        let mut path = None;
        while let Some(token) = tokens.get(at) {
            let rest = &tokens[at..];
            if let Some((attribute, length)) = attribute(rest) {
                at += length;
                if is_for_tests(attribute) {
                    at += length_of_item(&tokens[at..]);
                } else {
                    path = path_of(attribute).or(path);
                    self.group(attribute, here)?;
                }
                continue;
            }
            match token {
                TokenTree::Group(group) => self.group(group, here)?,
                TokenTree::Ident(word) if word == "use" => {
                    let end = rest
                        .iter()
                        .position(|token| is_punct(token, ';'))
                        .unwrap_or(rest.len());
                    // `impl Trait + use<'a>` is no import.
                    if !rest.get(1).is_some_and(|next| is_punct(next, '<')) {
                        self.imports(&rest[1..end], &[], here, items);
                        at += end;
                        continue;
                    }
                }
                TokenTree::Ident(word) if word == "mod" => {
                    if let Some(TokenTree::Ident(name)) = rest.get(1) {
                        self.module(name, rest.get(2), path.take(), here)?;
                        at += 3;
                        continue;
                    }
                }
                TokenTree::Ident(word) => {
                    if items {
                        self.item(word, rest, here);
                    }
                    let length = self.path(word, rest, tokens[..at].last(), here);
                    at += length;
                    continue;
                }
                TokenTree::Punct(_) if joined(rest) => {
                    // `::name` is a path of another crate.
                    at += 2;
                    if let Some(TokenTree::Ident(_)) = tokens.get(at) {
                        at += length_of_path(&tokens[at..]);
                    }
                    continue;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            at += 1;
        }
        Ok(())
    }

    fn group(&mut self, group: &Group, here: &Here) -> Result<()> {
        let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
        self.tokens(&tokens, here, false)
    }

    /// `mod NAME;` or `mod NAME { .. }`.
    fn module(
        &mut self,
        name: &Ident,
        body: Option<&TokenTree>,
        path: Option<String>,
        here: &Here,
    ) -> Result<()> {
        let module = self.child(here.module, &name.to_string());
        let name = plain(name);
        if let Some(TokenTree::Group(body)) = body {
            let tokens: Vec<TokenTree> = body.stream().into_iter().collect();
            if inner_attributes(&tokens).any(is_for_tests) {
                return Ok(());
            }
            let inside = Here {
                module,
                folder: here.folder.join(&name),
                inline: true,
                ..here.clone()
            };
            return self.tokens(&tokens, &inside, true);
        }
        let own = here.file.parent().unwrap_or(Path::new(""));
        let candidates = match path {
            // Such a path is said from the folder of the file it stands in.
            Some(path) if !here.inline => vec![(own.join(&path), own.join(&path))],
            Some(path) => vec![(here.folder.join(&path), here.folder.join(&path))],
            None => vec![
                (
                    here.folder.join(format!("{name}.rs")),
                    here.folder.join(&name).join("mod.rs"),
                ),
                (
                    here.folder.join(&name).join("mod.rs"),
                    here.folder.join(&name).join("mod.rs"),
                ),
            ],
        };
        for (file, beside) in candidates {
            if let Some(text) = self.source.text(&file)? {
                let folder = beside.parent().unwrap_or(Path::new("")).to_owned();
                let inside = Here {
                    module,
                    file,
                    folder,
                    inline: false,
                };
                return self.file(&text, &inside);
            }
        }
        Err(Error::new(format!(
            "{}: the file of module `{name}` is not there",
            here.file.display()
        )))
    }

    /// The child of this name. A module has one, also if it is another file on each system.
    fn child(&mut self, parent: usize, name: &str) -> usize {
        let next = self.tree.modules.len();
        let children = &mut self.tree.modules[parent].children;
        if let Some(known) = children.get(name) {
            return *known;
        }
        children.insert(name.to_owned(), next);
        self.tree.modules.push(Module {
            name: name.to_owned(),
            parent: Some(parent),
            ..Module::default()
        });
        next
    }

    /// Note the name of an item, if its word is this one.
    fn item(&mut self, word: &Ident, rest: &[TokenTree], here: &Here) {
        let items = &mut self.tree.modules[here.module].items;
        let name = if word == "macro_rules" {
            rest.get(2)
        } else if ITEMS.iter().any(|item| word == item) {
            rest.get(1)
        } else {
            None
        };
        if let Some(TokenTree::Ident(name)) = name
            && BETWEEN.iter().all(|word| name != word)
        {
            items.insert(name.to_string());
        } else if ITEMS.iter().any(|item| word == item)
            && let (Some(TokenTree::Ident(between)), Some(TokenTree::Ident(name))) =
                (rest.get(1), rest.get(2))
            && between == "mut"
        {
            items.insert(name.to_string());
        }
    }

    /// Note the path that begins here, and say of how many tokens it is.
    fn path(
        &mut self,
        first: &Ident,
        rest: &[TokenTree],
        before: Option<&TokenTree>,
        here: &Here,
    ) -> usize {
        let length = length_of_path(rest);
        let path: Vec<String> = rest[..length]
            .iter()
            .filter_map(|token| match token {
                TokenTree::Ident(name) => Some(name.to_string()),
                _ => None,
            })
            .collect();
        let begins = NO_PATH.iter().all(|word| first != word);
        // What comes after a dot is a field or a method.
        if begins && !before.is_some_and(|token| is_punct(token, '.')) {
            let kind = if path.len() > 1 {
                Kind::Path
            } else {
                Kind::Name
            };
            self.used(path, first, kind, here);
        }
        length
    }

    /// What stands between `use` and `;`, below what stands before it.
    fn imports(&mut self, tokens: &[TokenTree], prefix: &[String], here: &Here, items: bool) {
        for part in tokens.split(|token| is_punct(token, ',')) {
            let mut path = prefix.to_vec();
            let mut place = None;
            let mut alias = None;
            let mut whole = true;
            // `use ::name` is of another crate.
            if joined(part) {
                continue;
            }
            let mut words = part.iter();
            while let Some(token) = words.next() {
                match token {
                    TokenTree::Ident(word) if word == "as" => {
                        if let Some(TokenTree::Ident(name)) = words.next() {
                            alias = Some(name.to_string());
                        }
                    }
                    TokenTree::Ident(word) => {
                        // `{self}` is what stands before the braces.
                        if word != "self" || path.is_empty() {
                            path.push(word.to_string());
                        }
                        place = Some(word.clone());
                    }
                    TokenTree::Group(group) => {
                        let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                        self.imports(&inner, &path, here, items);
                        whole = false;
                    }
                    TokenTree::Punct(punct) if punct.as_char() == '*' => {
                        if let Some(place) = &place {
                            self.used(path.clone(), place, Kind::Path, here);
                        }
                        self.tree.modules[here.module].globs.push(path.clone());
                        whole = false;
                    }
                    TokenTree::Punct(_) | TokenTree::Literal(_) => {}
                }
            }
            let Some(place) = place.filter(|_| whole) else {
                continue;
            };
            self.used(path.clone(), &place, Kind::Path, here);
            if items && let Some(name) = alias.or_else(|| path.last().cloned()) {
                let aliases = &mut self.tree.modules[here.module].aliases;
                aliases.entry(name).or_default().push(path);
            }
        }
    }

    fn used(&mut self, path: Vec<String>, place: &Ident, kind: Kind, here: &Here) {
        self.tree.modules[here.module].uses.push(Use {
            path,
            file: here.file.clone(),
            line: place.span().start().line,
            kind,
        });
    }
}

/// The name of a module as its file has it.
fn plain(name: &Ident) -> String {
    name.to_string().trim_start_matches("r#").to_owned()
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

/// Whether `::` comes next.
fn joined(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [first, second, ..] if is_punct(first, ':') && is_punct(second, ':'))
}

/// How many tokens the path that begins here has: names and `::`.
fn length_of_path(tokens: &[TokenTree]) -> usize {
    let mut length = 1;
    while joined(&tokens[length..])
        && let Some(TokenTree::Ident(_)) = tokens.get(length + 2)
    {
        length += 3;
    }
    length
}

/// The attribute that comes next, and how many tokens it has.
fn attribute(tokens: &[TokenTree]) -> Option<(&Group, usize)> {
    let bracketed = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket);
    match tokens {
        [hash, token @ TokenTree::Group(group), ..] if is_punct(hash, '#') && bracketed(token) => {
            Some((group, 2))
        }
        [hash, mark, token @ TokenTree::Group(group), ..]
            if is_punct(hash, '#') && is_punct(mark, '!') && bracketed(token) =>
        {
            Some((group, 3))
        }
        _ => None,
    }
}

/// The attributes at the beginning that are about what they stand in.
fn inner_attributes(tokens: &[TokenTree]) -> impl Iterator<Item = &Group> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (found, length) = attribute(&tokens[at..]).filter(|(_, length)| *length == 3)?;
        at += length;
        Some(found)
    })
}

/// Whether an attribute says that something is there for tests only.
fn is_for_tests(attribute: &Group) -> bool {
    let tokens: Vec<TokenTree> = attribute.stream().into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Ident(name)] => name == "test",
        [TokenTree::Ident(name), TokenTree::Group(condition)] if name == "cfg" => {
            needs_test(condition)
        }
        _ => false,
    }
}

/// Whether a condition holds in tests only: `test`, or `all` with such a condition in it.
fn needs_test(condition: &Group) -> bool {
    let tokens: Vec<TokenTree> = condition.stream().into_iter().collect();
    tokens
        .split(|token| is_punct(token, ','))
        .any(|part| match part {
            [TokenTree::Ident(name)] => name == "test",
            [TokenTree::Ident(name), TokenTree::Group(inner)] => name == "all" && needs_test(inner),
            _ => false,
        })
}

/// The path in `path = ".."`.
fn path_of(attribute: &Group) -> Option<String> {
    let tokens: Vec<TokenTree> = attribute.stream().into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Ident(name), equals, TokenTree::Literal(path)]
            if name == "path" && is_punct(equals, '=') =>
        {
            Some(path.to_string().trim_matches('"').to_owned())
        }
        _ => None,
    }
}

/// How many tokens the item, statement, field or arm has that begins here.
fn length_of_item(tokens: &[TokenTree]) -> usize {
    let mut at = 0;
    while let Some((_, length)) = attribute(&tokens[at..]) {
        at += length;
    }
    let mut to_semicolon = false;
    let mut to_comma = true;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        if let TokenTree::Ident(word) = token
            && to_comma
            && !to_semicolon
        {
            let next = tokens.get(index + 1);
            let function = matches!(next, Some(TokenTree::Ident(next)) if next == "fn");
            to_semicolon =
                TO_SEMICOLON.iter().any(|other| word == other) || (word == "const" && !function);
            to_comma = !to_semicolon && TO_BRACES.iter().all(|other| word != other);
        }
        let braces =
            matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        if is_punct(token, ';') || (to_comma && is_punct(token, ',')) || (braces && !to_semicolon) {
            return index + 1;
        }
    }
    tokens.len()
}

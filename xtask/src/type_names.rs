//! A public type has a name of its own: whoever reads `Request` knows which one is meant, in
//! whatever crate that is.
//!
//! The sources are read as tokens, so that neither comments nor strings count. A macro that makes
//! a public type names it where it is used: the first name of what it is given.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Ident, TokenStream, TokenTree};

use crate::error::{Error, Result};
use crate::repository::Repository;

/// Words that the name of a type follows.
const TYPES: &[&str] = &["enum", "struct", "trait", "type", "union"];

/// Where several public types may have one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shared {
    /// In each crate one: Rust's own habit, and the name of the crate stands before it.
    ByCrates,
    /// In this folder only: it is one type, which is written for each system.
    BySystems(&'static str),
}

/// The names that are not of one type only.
const SHARED: &[(&str, Shared)] = &[
    ("Error", Shared::ByCrates),
    ("Result", Shared::ByCrates),
    (
        "Filter",
        Shared::BySystems("crates/pillion-sandbox/src/walls"),
    ),
    (
        "Numbers",
        Shared::BySystems("crates/pillion-sandbox/src/walls"),
    ),
    (
        "Rlimit",
        Shared::BySystems("crates/pillion-sandbox/src/walls"),
    ),
    (
        "Started",
        Shared::BySystems("crates/pillion-client/src/launch"),
    ),
];

/// Where a name was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    file: PathBuf,
    line: usize,
}

/// All public types, by name.
#[derive(Debug, Default)]
struct Names(BTreeMap<String, Vec<Place>>);

/// Check the sources of every crate.
pub(crate) fn check(repository: &Repository) -> Result<()> {
    let mut sources = Vec::new();
    for file in repository.files()? {
        if is_source(&file)
            && let Some(text) = repository.text(&file)?
        {
            sources.push(Source::read(file, &text)?);
        }
    }
    let names = Names::of(&sources);
    let wrong = names.wrong(SHARED);
    if wrong.is_empty() {
        println!(
            "{} public types, each with a name of its own",
            names.0.len()
        );
        return Ok(());
    }
    Err(Error::new(wrong.join("\nerror: "))
        .hint("say in the name what it is: `WorkerRequest`, `ListBundles`, `StoredJob`"))
}

/// Whether a file is of a library or a program of ours: `crates/NAME/src/...`.
fn is_source(file: &Path) -> bool {
    let parts: Vec<_> = file.iter().take(3).collect();
    let of_a_crate = parts.first().is_some_and(|part| *part == "crates")
        && parts.get(2).is_some_and(|part| *part == "src");
    of_a_crate && file.extension().is_some_and(|extension| extension == "rs")
}

/// A file as tokens.
#[derive(Debug)]
struct Source {
    file: PathBuf,
    tokens: TokenStream,
}

impl Source {
    fn read(file: PathBuf, text: &str) -> Result<Self> {
        let tokens = text.parse().map_err(|error: proc_macro2::LexError| {
            let line = error.span().start().line;
            Error::new(format!("{}:{line}: {error}", file.display()))
        })?;
        Ok(Self { file, tokens })
    }

    /// The folder of its crate.
    fn of_crate(&self) -> PathBuf {
        self.file.iter().take(2).collect()
    }
}

impl Names {
    fn of(sources: &[Source]) -> Self {
        // A macro is used in other files of its crate as well.
        let mut makers: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
        for source in sources {
            find_makers(&source.tokens, makers.entry(source.of_crate()).or_default());
        }
        let mut names = Self::default();
        for source in sources {
            for name in public_types(&source.tokens, &makers[&source.of_crate()]) {
                names.0.entry(name.to_string()).or_default().push(Place {
                    file: source.file.clone(),
                    line: name.span().start().line,
                });
            }
        }
        names
    }

    /// The names that more than one type has, and lines of the table that nothing needs.
    fn wrong(&self, shared: &[(&str, Shared)]) -> Vec<String> {
        let several = self.0.iter().filter(|(_, places)| places.len() > 1);
        let unrelated = several.filter(|(name, places)| {
            let rule = shared.iter().find(|(known, _)| known == name);
            !rule.is_some_and(|(_, rule)| rule.allows(places))
        });
        let mut wrong: Vec<String> = unrelated
            .map(|(name, places)| {
                format!("several public types are called `{name}`:{}", list(places))
            })
            .collect();
        for (name, _) in shared {
            if self.0.get(*name).is_none_or(|places| places.len() < 2) {
                wrong.push(format!(
                    "`{name}` is in the table of xtask/src/type_names.rs, and only one type has the name"
                ));
            }
        }
        wrong
    }
}

impl Shared {
    fn allows(self, places: &[Place]) -> bool {
        match self {
            Self::ByCrates => {
                let crates: BTreeSet<_> = places.iter().map(|p| p.file.iter().nth(1)).collect();
                crates.len() == places.len()
            }
            Self::BySystems(folder) => places.iter().all(|place| place.file.starts_with(folder)),
        }
    }
}

fn list(places: &[Place]) -> String {
    let line = |place: &Place| format!("\n  {}:{}", place.file.display(), place.line);
    places.iter().map(line).collect()
}

/// The public types that these tokens define, at any depth.
fn public_types(stream: &TokenStream, makers: &BTreeSet<String>) -> Vec<Ident> {
    let tokens: Vec<TokenTree> = stream.clone().into_iter().collect();
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let rest = &tokens[at..];
        if let Some(Some(name)) = public_type(rest) {
            found.push(name.clone());
        }
        if let Some(name) = made(rest, makers) {
            found.push(name);
        }
        if let TokenTree::Group(group) = token {
            found.extend(public_types(&group.stream(), makers));
        }
    }
    found
}

/// The type that begins here, if one does and is public; its name, unless a macro puts it in.
fn public_type(tokens: &[TokenTree]) -> Option<Option<&Ident>> {
    let [TokenTree::Ident(word), rest @ ..] = tokens else {
        return None;
    };
    let rest = match rest {
        [TokenTree::Ident(first), rest @ ..] if first == "unsafe" => rest,
        rest => rest,
    };
    match rest {
        [TokenTree::Ident(kind), name, ..]
            if word == "pub" && TYPES.iter().any(|known| kind == known) =>
        {
            match name {
                TokenTree::Ident(name) => Some(Some(name)),
                _ => Some(None),
            }
        }
        _ => None,
    }
}

/// Note the macros that make a public type whose name they are given.
fn find_makers(stream: &TokenStream, makers: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = stream.clone().into_iter().collect();
    for at in 0..tokens.len() {
        match &tokens[at..] {
            [
                TokenTree::Ident(word),
                _,
                TokenTree::Ident(name),
                TokenTree::Group(rules),
                ..,
            ] if word == "macro_rules" && names_a_type(&rules.stream()) => {
                makers.insert(name.to_string());
            }
            [TokenTree::Group(group), ..] => find_makers(&group.stream(), makers),
            _ => {}
        }
    }
}

/// Whether a public type with a name that is put in, `pub struct $name`, is in these tokens.
fn names_a_type(stream: &TokenStream) -> bool {
    let tokens: Vec<TokenTree> = stream.clone().into_iter().collect();
    (0..tokens.len()).any(|at| match &tokens[at] {
        TokenTree::Group(group) => names_a_type(&group.stream()),
        _ => matches!(public_type(&tokens[at..]), Some(None)),
    })
}

/// The type that a macro makes here: `maker!(/** about it */ Name, ..)`.
fn made(tokens: &[TokenTree], makers: &BTreeSet<String>) -> Option<Ident> {
    let [
        TokenTree::Ident(name),
        TokenTree::Punct(mark),
        TokenTree::Group(given),
        ..,
    ] = tokens
    else {
        return None;
    };
    if mark.as_char() != '!' || !makers.contains(&name.to_string()) {
        return None;
    }
    // What is said about it are attributes, whose words are in groups of their own.
    given.stream().into_iter().find_map(|token| match token {
        TokenTree::Ident(name) => Some(name),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[(&str, &str)]) -> Names {
        let source = |(file, text): &(&str, &str)| Source::read(file.into(), text).unwrap();
        Names::of(&files.iter().map(source).collect::<Vec<_>>())
    }

    fn found(text: &str) -> Vec<String> {
        names(&[("crates/a/src/lib.rs", text)])
            .0
            .into_keys()
            .collect()
    }

    #[test]
    fn public_types_are_found_and_nothing_else() {
        let text = "
            pub struct One<T>(T); pub enum Two {} pub unsafe trait Three {}
            mod inner { pub type Four = u8; pub union Five { a: u8 } }
            struct Own; pub(crate) struct Ours; pub fn function() {} pub const CONST: u8 = 1;
            // pub struct Comment;
            const TEXT: &str = \"pub struct Text;\";
            impl Trait for Own { type Associated = u8; }
        ";
        assert_eq!(found(text), ["Five", "Four", "One", "Three", "Two"]);
    }

    #[test]
    fn what_a_macro_makes_has_the_name_that_it_is_given() {
        let text = "
            macro_rules! make { ($(#[$about:meta])* $name:ident, $more:literal) => {
                #[derive(Debug)] $(#[$about])* pub struct $name { pub a: u8 }
            }; }
            macro_rules! other { ($name:ident) => { struct $name; }; }
            make!(
                /// About it.
                #[serde(rename = \"x\")]
                Made, \"more\"
            );
            other!(Hidden);
        ";
        assert_eq!(found(text), ["Made"]);
        let apart = names(&[
            (
                "crates/a/src/lib.rs",
                "make! { /// It.\n Name { /// One.\n One = 1 } }",
            ),
            (
                "crates/a/src/words.rs",
                "macro_rules! make { ($n:ident) => { pub enum $n {} } }",
            ),
            ("crates/b/src/lib.rs", "make!(Unknown);"),
        ]);
        assert_eq!(apart.0.into_keys().collect::<Vec<_>>(), ["Name"]);
    }

    #[test]
    fn two_types_of_one_name_are_refused_with_their_places() {
        let two = names(&[
            ("crates/a/src/lib.rs", "pub struct Request;"),
            ("crates/b/src/deep/line.rs", "\npub enum Request {}"),
            ("crates/b/src/lib.rs", "pub struct Response;"),
        ]);
        assert_eq!(
            two.wrong(&[]),
            ["several public types are called `Request`:\
              \n  crates/a/src/lib.rs:1\n  crates/b/src/deep/line.rs:2"]
        );
        let one_file = names(&[(
            "crates/a/src/lib.rs",
            "pub struct A; mod m { pub struct A; }",
        )]);
        assert_eq!(one_file.wrong(&[]).len(), 1);
    }

    #[test]
    fn each_crate_may_have_its_error_but_not_two() {
        let table = &[("Error", Shared::ByCrates)];
        let text = "pub enum Error {}";
        let each = names(&[
            ("crates/a/src/error.rs", text),
            ("crates/b/src/error.rs", text),
        ]);
        assert_eq!(each.wrong(table), Vec::<String>::new());
        let twice = names(&[
            ("crates/a/src/error.rs", text),
            ("crates/a/src/other.rs", text),
        ]);
        assert_eq!(twice.wrong(table).len(), 1);
    }

    #[test]
    fn a_type_for_each_system_stays_in_its_folder() {
        let table = &[("Filter", Shared::BySystems("crates/a/src/walls"))];
        let text = "pub enum Filter {}";
        let twins = [
            ("crates/a/src/walls/linux.rs", text),
            ("crates/a/src/walls/other.rs", text),
        ];
        assert_eq!(names(&twins).wrong(table), Vec::<String>::new());
        let far = [twins[0], ("crates/a/src/elsewhere.rs", text)];
        assert_eq!(names(&far).wrong(table).len(), 1);
    }

    #[test]
    fn a_line_of_the_table_that_nothing_needs_is_refused() {
        let table = &[("Gone", Shared::ByCrates)];
        let one = names(&[("crates/a/src/lib.rs", "pub struct Gone;")]);
        assert_eq!(one.wrong(table).len(), 1);
        assert_eq!(Names::default().wrong(table).len(), 1);
    }

    #[test]
    fn sources_are_those_of_crates() {
        assert!(is_source(Path::new("crates/a/src/deep/b.rs")));
        for other in [
            "crates/a/tests/b.rs",
            "xtask/src/main.rs",
            "crates/a/src/b.txt",
        ] {
            assert!(!is_source(Path::new(other)), "{other}");
        }
    }
}

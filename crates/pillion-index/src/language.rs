//! The languages that are read, and which of them a file or a project is written in.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::index::is_python;

/// The language that a map is about.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Python.
    #[default]
    Python,
    /// TypeScript.
    Typescript,
    /// JavaScript.
    Javascript,
    /// Go.
    Go,
    /// Rust.
    Rust,
    /// Java.
    Java,
    /// C.
    C,
    /// The one that the project's own files name.
    Auto,
}

/// How the edges of a map are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// By syntax, imports and declared types alone: what they do not settle is only possible.
    Syntactic,
}

/// Files that say which language a project is written in, in the order in which they count.
const MARKERS: &[(&str, Language)] = &[
    ("go.mod", Language::Go),
    ("pyproject.toml", Language::Python),
    ("setup.py", Language::Python),
    ("package.json", Language::Typescript),
    ("Cargo.toml", Language::Rust),
    ("build.gradle", Language::Java),
    ("pom.xml", Language::Java),
];

const SCRIPTS: &[&str] = &[".js", ".jsx", ".mjs", ".cjs"];
const TYPED: &[&str] = &[".ts", ".tsx", ".mts", ".cts"];

/// Whether a path is source of a language. A project of TypeScript includes its JavaScript.
pub fn is_source(language: Language, path: &str) -> bool {
    let ends = |endings: &[&str]| endings.iter().any(|end| path.ends_with(end));
    match language {
        Language::Python | Language::Auto => is_python(path),
        Language::Typescript => ends(TYPED) || ends(SCRIPTS),
        Language::Javascript => ends(SCRIPTS),
        Language::Go => ends(&[".go"]),
        Language::Rust => ends(&[".rs"]),
        Language::Java => ends(&[".java"]),
        Language::C => ends(&[".c", ".h"]),
    }
}

/// Whether a path is source of any language.
pub fn is_any_source(path: &str) -> bool {
    let all = [
        Language::Python,
        Language::Typescript,
        Language::Go,
        Language::Rust,
        Language::Java,
        Language::C,
    ];
    all.into_iter().any(|language| is_source(language, path))
}

impl Language {
    /// As callers write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Typescript => "typescript",
            Self::Javascript => "javascript",
            Self::Go => "go",
            Self::Rust => "rust",
            Self::Java => "java",
            Self::C => "c",
            Self::Auto => "auto",
        }
    }

    /// The language of the project at a root, if one of its files says so.
    pub fn of_project(root: &Path) -> Option<Self> {
        let mut markers = MARKERS.iter();
        let found = markers.find(|(marker, _)| root.join(marker).is_file());
        found.map(|(_, language)| *language)
    }

    /// The language to map at a root.
    pub fn mapped(self, root: &Path) -> Self {
        match self {
            Self::Auto => Self::of_project(root).unwrap_or_default(),
            other => other,
        }
    }

    /// All that maps are made of.
    pub fn mapped_names() -> &'static str {
        "python, typescript, javascript, go, rust, java, c"
    }

    /// The language of a file, by its name.
    pub fn of_file(path: &Path) -> Option<Self> {
        let all = [
            Self::Python,
            Self::Javascript,
            Self::Typescript,
            Self::Go,
            Self::Rust,
            Self::Java,
            Self::C,
        ];
        let path = path.to_str()?;
        all.into_iter().find(|language| is_source(*language, path))
    }

    /// How its edges are found, if that is less than Python's.
    pub fn precision(self) -> Option<Precision> {
        match self {
            Self::Python | Self::Auto => None,
            _ => Some(Precision::Syntactic),
        }
    }
}

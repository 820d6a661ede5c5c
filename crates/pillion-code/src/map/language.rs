//! The languages that maps are made of. A language that is to be mapped is added here and in
//! [`Language::mapped`]; everything else asks this file.

use std::path::Path;

use pillion_catalogue::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    pub(crate) fn of_project(root: &Path) -> Option<Self> {
        let mut markers = MARKERS.iter();
        let found = markers.find(|(marker, _)| root.join(marker).is_file());
        found.map(|(_, language)| *language)
    }

    /// The language to map at a root. One that cannot be mapped is an error: an empty map
    /// would say that there is nothing.
    pub(crate) fn mapped(self, root: &Path) -> Result<Self> {
        match self {
            Self::Python => Ok(Self::Python),
            Self::Auto => match Self::of_project(root) {
                None | Some(Self::Python) => Ok(Self::Python),
                Some(other) => other.mapped(root),
            },
            other => Err(Error::new(
                Code::InvalidParams,
                format!("no maps are made of `{}`", other.name()),
            )
            .hint("one of: python, auto")),
        }
    }
}

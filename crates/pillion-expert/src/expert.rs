//! Who is asked: what an expert's folder holds.

use std::path::PathBuf;

use serde_json::Value;

/// A named specialist.
#[derive(Debug, Clone, Default)]
pub struct Expert {
    /// Its name in requests.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// What it is good for.
    pub description: String,
    /// Its folder, which holds everything of it.
    pub folder: PathBuf,
    /// `principles.md`.
    pub principles: String,
    /// `knowledge/*.md`.
    pub knowledge: Vec<Document>,
    /// `skills/*.md`.
    pub skills: Vec<Skill>,
}

/// A page.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Its name.
    pub name: String,
    /// What it says.
    pub text: String,
}

/// Something that an expert can do.
#[derive(Debug, Clone, Default)]
pub struct Skill {
    /// Its name, by which the model calls it.
    pub name: String,
    /// What it is good for, in a sentence.
    pub description: String,
    /// Its page.
    pub text: String,
    /// Its Python, with a function `run`.
    pub python: Option<PathBuf>,
    /// What of the host its Python may use: `read`, `query`, `files`.
    pub tools: Vec<String>,
    /// The JSON schema of its arguments.
    pub parameters: Option<Value>,
    /// It runs before the model is asked.
    pub auto: bool,
}

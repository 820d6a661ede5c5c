//! The Python of a project, with proof that another look would find the same.

use std::path::PathBuf;

use pillion_protocol::{Code, Error, Result};
use serde_json::json;

use super::{Choice, DiscoveryError, Request, find};
use crate::{Dirs, Proof};

/// What was found, and what it depends on.
#[derive(Debug)]
pub struct Proven {
    outcome: Result<Choice>,
    proofs: Vec<(PathBuf, Option<Proof>)>,
}

impl Proven {
    /// Look for the project's Python.
    pub async fn find(request: Request<'_>, dirs: &Dirs) -> Self {
        // Proofs are taken before what they prove is read.
        let environments = [".venv", "venv"].map(|name| request.root.join(name));
        let mut proofs: Vec<_> = environments
            .map(|folder| with_proof(folder.join("pyvenv.cfg")))
            .into();
        let outcome = find(request, dirs).await.map_err(|error| no_python(&error));
        if let Ok(choice) = &outcome {
            let interpreter = &choice.interpreter;
            proofs.push(with_proof(interpreter.executable.clone()));
            // Installing or removing a package changes the folder that holds it.
            proofs.extend(interpreter.site_packages.iter().cloned().map(with_proof));
        }
        Self { outcome, proofs }
    }

    /// Whether all that was found is still so. A missing interpreter is looked for again.
    pub fn is_current(&self) -> bool {
        self.outcome.is_ok()
            && self
                .proofs
                .iter()
                .all(|(path, proof)| Proof::of(path).ok() == *proof)
    }

    /// The Python and why it was chosen, or why there is none.
    pub fn choice(&self) -> Result<&Choice> {
        self.outcome.as_ref().map_err(Clone::clone)
    }
}

fn with_proof(path: PathBuf) -> (PathBuf, Option<Proof>) {
    let proof = Proof::of(&path).ok();
    (path, proof)
}

fn no_python(error: &DiscoveryError) -> Error {
    Error::new(Code::PythonNotFound, error.to_string())
        .hint(error.hint())
        .data(json!({ "considered": error.considered() }))
}

//! `cargo xtask layering`: dependencies between the crates only point down, and within a
//! crate no modules depend on each other.
//!
//! The tables are the design. A crate may use a crate of ours only if its line says so: to
//! change a line is to change the design, and wants a reason in the change's message. What a cycle
//! between modules is, `modules/cycles.rs` says.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::modules::Tree;
use crate::repository::Repository;

/// Each crate of ours, from the top, with those of ours that it may use.
///
/// - The engine composes the services; the facade and the command line stand on it. So do the
///   benches, which are no part of what is shipped.
/// - Doors see the catalogue, never a service nor what services are built on.
/// - Services see neither a door, nor the client, nor each other.
/// - The service of code stands on crates that are each about one thing: refactorings, symbols,
///   the map, engines, changes, the index. The map and the engines do not know each other.
/// - Lanes are a library of services: any of them may run code behind walls.
/// - Projects are opened in one crate for all services and for lanes; what opens one knows
///   neither who asks nor what runs in it.
/// - The crates of the heart stand side by side.
/// - The client stands beside it all: what it links must stay small.
const MAY_USE: &[(&str, &[&str])] = &[
    (
        "pillion",
        &[
            "pillion-bench",
            "pillion-engine",
            "pillion-terminal",
            "pillion-doors",
            "pillion-index",
            "pillion-python",
            "pillion-exec",
            "pillion-notebook",
            "pillion-session",
            "pillion-install",
            "pillion-course",
            "pillion-kernel",
            "pillion-lanes",
            "pillion-workspace",
            "pillion-supervisor",
            "pillion-runtime",
            "pillion-model",
            "pillion-catalogue",
            "pillion-client",
            "pillion-sandbox",
            "pillion-process",
            "pillion-protocol",
            "pillion-bundle",
        ],
    ),
    (
        // A client like others, which also embeds an engine: of services it knows what any
        // caller knows.
        "pillion-bench",
        &[
            "pillion-engine",
            "pillion-terminal",
            "pillion-index",
            "pillion-course",
            "pillion-workspace",
            "pillion-runtime",
            "pillion-catalogue",
            "pillion-process",
            "pillion-protocol",
        ],
    ),
    (
        // Every service, and of the doors only what they lead to.
        "pillion-engine",
        &[
            "pillion-doors",
            "pillion-code",
            "pillion-python",
            "pillion-exec",
            "pillion-notebook",
            "pillion-session",
            "pillion-install",
            "pillion-lanes",
            "pillion-project",
            "pillion-supervisor",
            "pillion-runtime",
            "pillion-store",
            "pillion-catalogue",
            "pillion-process",
            "pillion-protocol",
        ],
    ),
    (
        // What commands write by: it knows no service.
        "pillion-terminal",
        &[
            "pillion-runtime",
            "pillion-catalogue",
            "pillion-process",
            "pillion-protocol",
        ],
    ),
    (
        "pillion-doors",
        &["pillion-catalogue", "pillion-process", "pillion-protocol"],
    ),
    (
        "pillion-code",
        &[
            "pillion-refactor",
            "pillion-symbols",
            "pillion-map",
            "pillion-engines",
            "pillion-changes",
            "pillion-index",
            "pillion-project",
            "pillion-workspace",
            "pillion-supervisor",
            "pillion-runtime",
            "pillion-catalogue",
            "pillion-process",
            "pillion-protocol",
        ],
    ),
    (
        "pillion-python",
        &[
            "pillion-project",
            "pillion-workspace",
            "pillion-supervisor",
            "pillion-runtime",
            "pillion-catalogue",
            "pillion-process",
            "pillion-protocol",
        ],
    ),
    (
        "pillion-exec",
        &[
            "pillion-lanes",
            "pillion-store",
            "pillion-workspace",
            "pillion-runtime",
            "pillion-catalogue",
            "pillion-sandbox",
            "pillion-protocol",
        ],
    ),
    (
        "pillion-notebook",
        &[
            "pillion-kernel",
            "pillion-lanes",
            "pillion-runtime",
            "pillion-catalogue",
            "pillion-protocol",
        ],
    ),
    (
        "pillion-session",
        &[
            "pillion-agents",
            "pillion-course",
            "pillion-expert",
            "pillion-model",
            "pillion-sync",
            "pillion-lanes",
            "pillion-store",
            "pillion-runtime",
            "pillion-catalogue",
            "pillion-process",
            "pillion-protocol",
        ],
    ),
    (
        "pillion-install",
        &[
            "pillion-runtime",
            "pillion-catalogue",
            "pillion-process",
            "pillion-protocol",
            "pillion-bundle",
        ],
    ),
    (
        // What it makes is a change set: who writes it is the business of the service of code.
        "pillion-refactor",
        &[
            "pillion-symbols",
            "pillion-engines",
            "pillion-changes",
            "pillion-index",
            "pillion-workspace",
            "pillion-supervisor",
            "pillion-runtime",
            "pillion-catalogue",
            "pillion-process",
        ],
    ),
    (
        // Not the map: what a name means is asked of index and engines.
        "pillion-symbols",
        &[
            "pillion-engines",
            "pillion-changes",
            "pillion-index",
            "pillion-workspace",
            "pillion-runtime",
            "pillion-catalogue",
        ],
    ),
    (
        // Not the engines: the graph is made of the code's own words, so it never waits for one.
        "pillion-map",
        &[
            "pillion-index",
            "pillion-workspace",
            "pillion-catalogue",
            "pillion-process",
        ],
    ),
    (
        "pillion-engines",
        &[
            "pillion-index",
            "pillion-project",
            "pillion-workspace",
            "pillion-supervisor",
            "pillion-runtime",
            "pillion-catalogue",
            "pillion-process",
        ],
    ),
    (
        // Files are changed without asking anybody what is in them.
        "pillion-changes",
        &[
            "pillion-index",
            "pillion-runtime",
            "pillion-catalogue",
            "pillion-process",
        ],
    ),
    (
        // What the text of files says: it asks no engine and starts no process.
        "pillion-index",
        &["pillion-workspace", "pillion-catalogue", "pillion-protocol"],
    ),
    (
        // A library of services, beside the lanes that skills of experts run in.
        "pillion-expert",
        &[
            "pillion-lanes",
            "pillion-course",
            "pillion-model",
            "pillion-catalogue",
            "pillion-process",
        ],
    ),
    (
        // A library of services, beside the lanes whose walls its kernels have.
        "pillion-kernel",
        &[
            "pillion-lanes",
            "pillion-project",
            "pillion-workspace",
            "pillion-supervisor",
            "pillion-runtime",
            "pillion-catalogue",
            "pillion-sandbox",
            "pillion-process",
            "pillion-protocol",
        ],
    ),
    (
        // Not the store: what is kept of a run is the service's business.
        "pillion-lanes",
        &[
            "pillion-project",
            "pillion-workspace",
            "pillion-supervisor",
            "pillion-runtime",
            "pillion-catalogue",
            "pillion-sandbox",
            "pillion-process",
        ],
    ),
    (
        // A library of services: what it delivers and when is theirs to say.
        "pillion-sync",
        &[
            "pillion-store",
            "pillion-catalogue",
            "pillion-process",
            "pillion-protocol",
        ],
    ),
    // A library of services that others can use without the rest: of ours it only
    // takes the type of its key.
    ("pillion-model", &["pillion-process"]),
    // What sessions are about is files: a library of services that knows no wire.
    ("pillion-course", &["pillion-process"]),
    // Types, prompts and rules: what is to be done about them is a service's business.
    ("pillion-agents", &[]),
    (
        // Not the supervisor: what was made of a project is told that it is another.
        "pillion-project",
        &[
            "pillion-workspace",
            "pillion-runtime",
            "pillion-catalogue",
            "pillion-process",
        ],
    ),
    (
        "pillion-workspace",
        &["pillion-catalogue", "pillion-process", "pillion-protocol"],
    ),
    (
        "pillion-supervisor",
        // Some of its children live behind walls.
        &[
            "pillion-catalogue",
            "pillion-sandbox",
            "pillion-process",
            "pillion-protocol",
        ],
    ),
    (
        "pillion-runtime",
        // A Python that came with a folder is asked behind walls who it is; one that came as a
        // bundle is known by its manifest.
        &[
            "pillion-bundle",
            "pillion-catalogue",
            "pillion-sandbox",
            "pillion-process",
            "pillion-protocol",
        ],
    ),
    // Its errors become the error object here, the same for every service.
    ("pillion-store", &["pillion-process", "pillion-protocol"]),
    ("pillion-catalogue", &["pillion-protocol"]),
    ("pillion-client", &["pillion-process", "pillion-protocol"]),
    // What black-box tests share: they see pillion from outside, and so does it.
    ("pillion-testing", &["pillion-process"]),
    ("pillion-sandbox", &["pillion-process"]),
    ("pillion-process", &[]),
    ("pillion-protocol", &[]),
    // The format of bundles: what is done with one is others' business.
    ("pillion-bundle", &[]),
];

/// Crates of others that must not be reached, not even through a third crate, and why.
const NEVER: &[(&str, &str, &str)] = &[
    ("pillion-protocol", "tokio", "wire types do no IO"),
    ("pillion-protocol", "rustix", "wire types do no IO"),
    ("pillion-agents", "tokio", "what agents say is pure data"),
    ("pillion-agents", "rustix", "what agents say is pure data"),
    (
        "pillion-bundle",
        "tokio",
        "the format of bundles does no IO",
    ),
    (
        "pillion-process",
        "serde_json",
        "processes know no protocol",
    ),
    ("pillion-catalogue", "axum", "only doors speak HTTP"),
    ("pillion-catalogue", "rmcp", "only doors speak MCP"),
    ("pillion-code", "rmcp", "only doors speak MCP"),
    ("pillion-python", "rmcp", "only doors speak MCP"),
    ("pillion-lanes", "rmcp", "only doors speak MCP"),
    ("pillion-lanes", "axum", "only doors speak HTTP"),
    ("pillion-supervisor", "axum", "only doors speak HTTP"),
    ("pillion-store", "axum", "only doors speak HTTP"),
    ("pillion-install", "axum", "only doors serve HTTP"),
    ("pillion-sync", "axum", "only doors serve HTTP"),
    (
        "pillion-model",
        "aws-lc-rs",
        "TLS is built without cmake and assembler",
    ),
    (
        "pillion-model",
        "openssl-sys",
        "TLS does not depend on the system's",
    ),
    ("pillion-python", "axum", "only doors speak HTTP"),
    (
        "pillion-client",
        "axum",
        "what the client links stays small",
    ),
    (
        "pillion-client",
        "clap",
        "what the client links stays small",
    ),
];

/// Check all lines of the tables, that every crate has one, and the modules of each.
pub(crate) fn check(repository: &Repository) -> Result<()> {
    let crates = crates(repository)?;
    let mut broken = Vec::new();
    for name in &crates {
        match MAY_USE.iter().find(|(row, _)| row == name) {
            Some((_, allowed)) => {
                let used = dependencies(repository, name, &["--depth", "1"])?;
                broken.extend(not_allowed(name, &used, &crates, allowed));
            }
            None => broken.push(format!("`{name}` has no line in xtask/src/layering.rs")),
        }
    }
    let rules = NEVER.iter().filter(|(name, ..)| has(&crates, name));
    for (name, banned, why) in rules {
        if has(&dependencies(repository, name, &[])?, banned) {
            broken.push(format!("`{name}` reaches `{banned}`: {why}"));
        }
    }
    if !broken.is_empty() {
        return Err(Error::new(broken.join("\nerror: "))
            .hint("`cargo tree --edges no-dev --package NAME --invert OTHER` shows the way"));
    }
    let folders = crates.iter().map(|name| Path::new("crates").join(name));
    for folder in folders.chain([PathBuf::from("xtask")]) {
        broken.extend(modules(&repository.root, &folder)?);
    }
    if !broken.is_empty() {
        return Err(Error::new(broken.join("\nerror: "))
            .hint("move what both sides use below them, or what uses both above them"));
    }
    println!(
        "{} crates, every dependency points down, also between modules",
        crates.len()
    );
    Ok(())
}

/// What is wrong with the modules of the crate in a folder.
fn modules(root: &Path, folder: &Path) -> Result<Vec<String>> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let mut cycles = Vec::new();
    for file in ["src/lib.rs", "src/main.rs"].map(|file| folder.join(file)) {
        if root.join(&file).is_file() {
            cycles.extend(Tree::read(root, &file)?.cycles());
        }
    }
    Ok(cycles
        .iter()
        .map(|cycle| format!("`{name}`: {cycle}"))
        .collect())
}

fn not_allowed(name: &str, used: &[String], crates: &[String], allowed: &[&str]) -> Vec<String> {
    used.iter()
        .filter(|other| *other != name && crates.contains(other))
        .filter(|other| !allowed.contains(&other.as_str()))
        .map(|other| format!("`{name}` must not use `{other}`"))
        .collect()
}

fn has(crates: &[String], name: &str) -> bool {
    crates.iter().any(|found| found == name)
}

/// The names of our crates, which are those of their folders.
fn crates(repository: &Repository) -> Result<Vec<String>> {
    let folder = repository.root.join("crates");
    let entries = folder
        .read_dir()
        .map_err(|error| Error::file(&folder, &error))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

/// The names of the crates that a crate uses, itself first. Tests may use anything.
fn dependencies(repository: &Repository, name: &str, more: &[&str]) -> Result<Vec<String>> {
    let tree = repository
        .cargo()
        .args(["tree", "--package", name, "--edges", "no-dev"])
        .args(["--prefix", "none", "--format", "{p}"])
        .args(more)
        .output()?
        .success()?;
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    Ok(names.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().copied().map(str::to_owned).collect()
    }

    #[test]
    fn the_table_itself_only_points_down() {
        for (at, (name, allowed)) in MAY_USE.iter().enumerate() {
            for other in *allowed {
                let below = MAY_USE.iter().position(|(row, _)| row == other).unwrap();
                assert!(below > at, "`{name}` uses `{other}`, which stands above it");
            }
        }
    }

    #[test]
    fn a_dependency_that_the_table_does_not_name_is_told() {
        let crates = names(&["pillion-doors", "pillion-python", "pillion-protocol"]);
        let used = names(&[
            "pillion-doors",
            "axum",
            "pillion-python",
            "pillion-protocol",
        ]);
        assert_eq!(
            not_allowed("pillion-doors", &used, &crates, &["pillion-protocol"]),
            ["`pillion-doors` must not use `pillion-python`"]
        );
    }
}

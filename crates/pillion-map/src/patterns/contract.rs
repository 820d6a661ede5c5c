//! The patterns that a contract names: one for each file in which some of a kind are, and what
//! plugins of agents are made of.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::Pattern;

/// What of ours is what of the contract, and how that is said.
const KINDS: &[(&str, &str, &str)] = &[
    ("http_handler", "http_handlers", "HTTP routes"),
    ("mcp_tool", "mcp_tools", "MCP tools"),
    ("middleware", "middleware_stack", "parts of middleware"),
    ("interface", "interface_impl", "interfaces"),
    ("cli_entry_point", "cli_commands", "commands"),
    ("test_fixture", "test_suite", "fixtures of tests"),
];
/// How sure the first one makes it, and each further one.
const FIRST: u8 = 60;
const FURTHER: u8 = 10;
const MOST: u8 = 95;

/// The contract's patterns, from those that were found.
pub fn patterns(root: &Path, found: &[&Pattern]) -> Vec<Pattern> {
    let mut files: BTreeMap<(&str, &Arc<str>), Vec<&Pattern>> = BTreeMap::new();
    for one in found {
        files.entry((one.kind, &one.file)).or_default().push(one);
    }
    let mut all = Vec::new();
    for ((kind, file), some) in files {
        let Some((_, named, what)) = KINDS.iter().find(|(ours, ..)| *ours == kind) else {
            continue;
        };
        let further = u8::try_from(some.len())
            .unwrap_or(u8::MAX)
            .saturating_mul(FURTHER);
        let surest = some.iter().map(|one| one.confidence).max().unwrap_or(0);
        all.push(Pattern {
            kind: named,
            file: Arc::clone(file),
            line: some.iter().map(|one| one.line).min().unwrap_or(1),
            confidence: FIRST.saturating_add(further).min(MOST).min(surest),
            description: format!("{} {what}", some.len()),
        });
    }
    all.extend(skills(root));
    all.extend(hooks(root));
    all
}

fn plugin(kind: &'static str, file: &str, description: String) -> Pattern {
    Pattern {
        kind,
        file: file.into(),
        line: 1,
        confidence: 95,
        description,
    }
}

/// Skills of agents: folders and texts in `skills`.
fn skills(root: &Path) -> Option<Pattern> {
    let entries = std::fs::read_dir(root.join("skills")).ok()?;
    let is_skill = |path: &Path| path.is_dir() || path.extension().is_some_and(|e| e == "md");
    let count = entries.flatten().filter(|e| is_skill(&e.path())).count();
    (count > 0).then(|| plugin("plugin_skills", "skills/", format!("{count} skills")))
}

/// Hooks that agents call.
fn hooks(root: &Path) -> Option<Pattern> {
    const FILE: &str = "hooks/hooks.json";
    let is_there = root.join(FILE).is_file();
    is_there.then(|| plugin("plugin_hooks", FILE, "hooks are registered".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_the_contract_are_made_of_ours() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        for folder in ["skills/one", "hooks"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("skills/two.md"), "").unwrap();
        std::fs::write(root.join("hooks/hooks.json"), "{}").unwrap();
        let ours = |kind, line| Pattern {
            kind,
            file: "a.py".into(),
            line,
            confidence: 95,
            description: String::new(),
        };
        let found = [ours("mcp_tool", 3), ours("mcp_tool", 9), ours("mvc", 1)];
        let found: Vec<&Pattern> = found.iter().collect();
        let all = patterns(root, &found);
        let all: Vec<_> = all
            .iter()
            .map(|p| (p.kind, &*p.file, &*p.description))
            .collect();
        assert_eq!(
            all,
            [
                ("mcp_tools", "a.py", "2 MCP tools"),
                ("plugin_skills", "skills/", "2 skills"),
                ("plugin_hooks", "hooks/hooks.json", "hooks are registered"),
            ]
        );
    }
}

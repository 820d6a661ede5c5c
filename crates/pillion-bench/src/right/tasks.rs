//! Which refactorings: all that a tree offers, and a random choice among them that is the same
//! for the same seed.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_process::Launch;
use serde::Deserialize;
use serde_json::Value;

const TARGETS: &str = include_str!("targets.py");
const TASK_TIMEOUT: Duration = Duration::from_secs(120);

/// A refactoring.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Task {
    /// `rename method`, `move` and so on.
    pub(super) kind: String,
    pub(super) operation: String,
    /// What it is about.
    pub(super) name: String,
    pub(super) params: Value,
}

impl Task {
    pub(super) fn line(&self) -> u64 {
        let line = self.params.get("line");
        let line = line.or_else(|| self.params.get("start_line"));
        line.and_then(Value::as_u64).unwrap_or_default()
    }
}

/// Numbers that look random (splitmix64).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64, name: &str) -> Self {
        let mix = |all: u64, byte: u8| all.wrapping_mul(31).wrapping_add(byte.into());
        Self(name.bytes().fold(seed, mix))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % end).unwrap_or_default()
    }
}

/// All refactorings that the modules of a folder offer.
pub(super) async fn find(python: &Path, root: &Path, source: &str) -> Result<Vec<Task>> {
    let found = root.with_extension("targets");
    let launch = Launch::new(python)
        .args(["-I", "-c", TARGETS])
        .arg(root)
        .arg(source)
        .arg(&found);
    let output = launch
        .output(TASK_TIMEOUT)
        .await
        .map_err(|error| Error::new(Code::StartFailed, error.to_string()))?;
    let text = std::fs::read_to_string(found).unwrap_or_default();
    let lines = text.lines();
    let tasks: Vec<Task> = lines.filter_map(|l| serde_json::from_str(l).ok()).collect();
    match tasks.is_empty() {
        true => Err(Error::internal(format!(
            "nothing to refactor: {}",
            output.stderr
        ))),
        false => Ok(tasks),
    }
}

/// So many of them at random, of all kinds alike.
pub(super) fn choose(
    all: Vec<Task>,
    kind: Option<&str>,
    count: usize,
    random: &mut Random,
) -> Vec<Task> {
    let mut kinds: BTreeMap<String, Vec<Task>> = BTreeMap::new();
    let wanted = |task: &Task| kind.is_none_or(|kind| task.kind.starts_with(kind));
    for task in all.into_iter().filter(wanted) {
        kinds.entry(task.kind.clone()).or_default().push(task);
    }
    let mut chosen = Vec::new();
    while chosen.len() < count && !kinds.is_empty() {
        let names: Vec<String> = kinds.keys().cloned().collect();
        let Some(name) = names.get(random.below(names.len())) else {
            break;
        };
        let Some(tasks) = kinds.get_mut(name) else {
            break;
        };
        let at = random.below(tasks.len());
        chosen.push(tasks.swap_remove(at));
        if tasks.is_empty() {
            kinds.remove(name);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_seed_gives_the_same_choice() {
        let all: Vec<Task> = (0..50)
            .map(|n| Task {
                kind: ["move", "inline variable"][n % 2].into(),
                operation: "move".into(),
                name: n.to_string(),
                params: json!({}),
            })
            .collect();
        let of = |seed, kind| {
            let chosen = choose(all.clone(), kind, 10, &mut Random::new(seed, "flask"));
            chosen.into_iter().map(|t| t.name).collect::<Vec<_>>()
        };
        assert_eq!(of(1, None), of(1, None));
        assert_ne!(of(1, None), of(2, None));
        assert_eq!(of(1, Some("inline")).len(), 10);
        let even = |name: &String| name.parse::<usize>().is_ok_and(|n| n % 2 == 0);
        assert!(of(1, Some("move")).iter().all(even));
    }
}

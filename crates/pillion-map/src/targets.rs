//! Which nodes a caller means by `func`, `Class.method` or `file:func`.

use pillion_catalogue::{Code, Error, Result};

use super::graph::Graph;
use super::world::{NodeId, NodeKind, own_name};

/// How many near names an error tells.
const NEAR: usize = 5;
/// How near a name must be to be told.
const SIMILAR: f64 = 0.75;

impl Graph {
    /// The nodes that a caller means, sorted; an error that names others if there are none.
    pub fn targets(&self, target: &str) -> Result<Vec<NodeId>> {
        let (file, name) = match target.rsplit_once(':') {
            Some((file, name)) => (Some(file), name),
            None => (None, target),
        };
        // As the outline writes it, too.
        let name = &*name.replace('/', ".");
        let found: Vec<NodeId> = self
            .named(own_name(name))
            .filter(|node| self.is_named(*node, name))
            .filter(|node| file.is_none_or(|file| is_file(self.path(*node), file)))
            .collect();
        if found.is_empty() || name.is_empty() {
            return Err(self.no_such(target, file, name));
        }
        Ok(found)
    }

    fn is_named(&self, node: NodeId, name: &str) -> bool {
        let full = self.name(node);
        full == name
            || full
                .strip_suffix(name)
                .is_some_and(|before| before.ends_with('.'))
    }

    fn no_such(&self, target: &str, file: Option<&str>, name: &str) -> Error {
        let error = Error::new(
            Code::NotFound,
            format!("no function or class is called `{target}`"),
        );
        let is_method = name.contains('.');
        let mut near: Vec<(f64, String)> = self
            .nodes()
            .filter(|node| self.kind(*node) != NodeKind::Module)
            .filter_map(|node| {
                let full = self.name(node);
                let other = if is_method { full } else { own_name(full) };
                let here = file.is_some_and(|file| is_file(self.path(node), file));
                let likeness = strsim::jaro_winkler(other, name) + f64::from(u8::from(here)) / 10.0;
                (likeness > SIMILAR).then(|| (likeness, format!("{}:{full}", self.path(node))))
            })
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let near: Vec<String> = near.into_iter().take(NEAR).map(|(_, name)| name).collect();
        if near.is_empty() {
            return error.hint("write `func`, `Class.method` or `file:func`");
        }
        let list: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
        error
            .hint(format!("did you mean {}?", list.join(", ")))
            .data(serde_json::json!({ "near": near }))
    }
}

/// Whether a path is the one that was written, or ends with it.
fn is_file(path: &str, written: &str) -> bool {
    let written = written.trim_start_matches("./");
    path == written
        || path
            .strip_suffix(written)
            .is_some_and(|before| before.ends_with('/'))
}

//! Where the agent stands, for calls that do not say which project they mean.

#![expect(
    deprecated,
    reason = "roots are on their way out of the protocol, and what today's agents offer"
)]

use std::path::PathBuf;
use std::time::Duration;

use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::Mutex;

/// How long an agent may take to say what its roots are.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(2);

/// The agent's first root that is a folder, asked for once.
#[derive(Debug, Default)]
pub(super) struct Roots {
    known: Mutex<Option<Option<PathBuf>>>,
}

impl Roots {
    /// The agent's root, if it offers one.
    pub(super) async fn first(&self, context: &RequestContext<RoleServer>) -> Option<PathBuf> {
        let mut known = self.known.lock().await;
        if let Some(root) = &*known {
            return root.clone();
        }
        let root = ask(context).await;
        known.insert(root).clone()
    }

    /// They are others now.
    pub(super) async fn forget(&self) {
        *self.known.lock().await = None;
    }
}

async fn ask(context: &RequestContext<RoleServer>) -> Option<PathBuf> {
    context.client_capabilities()?.roots?;
    let asked = context.peer.list_roots();
    let listed = tokio::time::timeout(ROOTS_TIMEOUT, asked)
        .await
        .ok()?
        .ok()?;
    let mut folders = listed.roots.iter().filter_map(|root| path_of(&root.uri));
    folders.find(|path| path.is_dir())
}

/// The path of a `file:` address on this machine.
pub(super) fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = path.starts_with('/').then(|| unescaped(path))??;
    Some(PathBuf::from(path))
}

/// Text of an address with its `%20` and the like read.
pub(super) fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        rest = more;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(more.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &more[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_addresses_are_paths() {
        let path = |uri| path_of(uri).map(|path| path.to_string_lossy().into_owned());
        assert_eq!(path("file:///a%20b/%C3%BC").as_deref(), Some("/a b/ü"));
        assert_eq!(path("file://localhost/a").as_deref(), Some("/a"));
        for bad in [
            "file://elsewhere/a",
            "http://x/a",
            "file:///a%2",
            "file:///%ff",
            "/a",
        ] {
            assert_eq!(path(bad), None, "{bad}");
        }
    }
}

//! Questions to a language server.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_supervisor::{Ask, CallRequest, Notice, Pool, SidecarSpec, Supervisor};
use serde::de::DeserializeOwned;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::changes::LspChangeKind;
use super::convert::{Converter, RawCompletions, RawHover, RawLocations, RawReport};
use super::launch::Make;
use super::lsp::{Capabilities, Diagnostic, Highlight, LspHover, LspLocation, LspPosition};
use super::opening::Session;
use super::uri;

/// A supervised language server. Paths are absolute; lines and columns count from 0, columns
/// in code points. Dropping it ends the process when it has finished what it does.
#[derive(Debug)]
pub struct LanguageServer {
    supervisor: Arc<Supervisor>,
    /// Its name among the supervisor's pools.
    key: String,
    spec: SidecarSpec,
    session: Arc<Session>,
}

impl LanguageServer {
    /// A server that starts with the first question.
    pub fn new(supervisor: &Arc<Supervisor>, make: &Make) -> Self {
        // Each has documents of its own, so each needs a process of its own.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let session = Arc::new(Session::new(make.root.clone(), make.settings()));
        Self {
            supervisor: Arc::clone(supervisor),
            key: format!("engine {number} {}", make.root.display()),
            spec: make.spec(Arc::clone(&session) as _),
            session,
        }
    }

    /// The pool of its process. The supervisor may have let it go to make room: then there
    /// is a new one.
    pub fn pool(&self) -> Arc<Pool> {
        self.supervisor.pool(&self.key, 1, || self.spec.clone())
    }

    /// What the server offers. Starts it if it never ran.
    pub async fn capabilities(&self, timeout: Duration) -> Result<Capabilities> {
        let known = || self.session.inner().capabilities.clone();
        if let Some(capabilities) = known() {
            return Ok(capabilities);
        }
        // No server knows this, and each has to say so; what counts is that it began.
        let asked = self.ask::<Value>("$/pillion", &Value::Null, timeout).await;
        match (known(), asked) {
            (Some(capabilities), _) => Ok(capabilities),
            (None, Err(error)) => Err(error),
            (None, Ok(_)) => Err(Error::internal("an engine answered before it began")),
        }
    }

    /// Where the name at this position is defined.
    pub async fn definition(
        &self,
        path: &Path,
        at: LspPosition,
        timeout: Duration,
    ) -> Result<Vec<LspLocation>> {
        self.places("textDocument/definition", path, at, json!({}), timeout)
            .await
    }

    /// Where the name at this position is declared: the stub, if there is one.
    pub async fn declaration(
        &self,
        path: &Path,
        at: LspPosition,
        timeout: Duration,
    ) -> Result<Vec<LspLocation>> {
        self.places("textDocument/declaration", path, at, json!({}), timeout)
            .await
    }

    /// Where the type of what is at this position is defined.
    pub async fn type_definition(
        &self,
        path: &Path,
        at: LspPosition,
        timeout: Duration,
    ) -> Result<Vec<LspLocation>> {
        self.places("textDocument/typeDefinition", path, at, json!({}), timeout)
            .await
    }

    /// Subclasses of a class, overrides of a method.
    pub async fn implementation(
        &self,
        path: &Path,
        at: LspPosition,
        timeout: Duration,
    ) -> Result<Vec<LspLocation>> {
        self.places("textDocument/implementation", path, at, json!({}), timeout)
            .await
    }

    /// Who mentions the name at this position.
    pub async fn references(
        &self,
        path: &Path,
        at: LspPosition,
        include_declaration: bool,
        timeout: Duration,
    ) -> Result<Vec<LspLocation>> {
        let more = json!({ "context": { "includeDeclaration": include_declaration } });
        self.places("textDocument/references", path, at, more, timeout)
            .await
    }

    /// What is known about the name at this position, for people.
    pub async fn hover(
        &self,
        path: &Path,
        at: LspPosition,
        timeout: Duration,
    ) -> Result<Option<LspHover>> {
        let mut converter = self.converter(timeout).await?;
        let params = position(path, converter.ask(path, at), json!({}));
        let found: Option<RawHover> = self.ask("textDocument/hover", &params, timeout).await?;
        Ok(found.and_then(|raw| converter.hover(path, &raw)))
    }

    /// Names that could stand at this position, in the server's order. What would have to be
    /// imported first is not among them.
    pub async fn completion(
        &self,
        path: &Path,
        at: LspPosition,
        timeout: Duration,
    ) -> Result<Vec<String>> {
        let mut converter = self.converter(timeout).await?;
        let params = position(path, converter.ask(path, at), json!({}));
        let found: Option<RawCompletions> = self
            .ask("textDocument/completion", &params, timeout)
            .await?;
        Ok(found.map(RawCompletions::names).unwrap_or_default())
    }

    /// Mentions of the name at this position in the same file.
    pub async fn document_highlight(
        &self,
        path: &Path,
        at: LspPosition,
        timeout: Duration,
    ) -> Result<Vec<Highlight>> {
        let mut converter = self.converter(timeout).await?;
        let params = position(path, converter.ask(path, at), json!({}));
        let found: Option<Vec<Highlight>> = self
            .ask("textDocument/documentHighlight", &params, timeout)
            .await?;
        let mut found = found.unwrap_or_default();
        for highlight in &mut found {
            highlight.range = converter.range(path, highlight.range);
        }
        Ok(found)
    }

    /// What is wrong in a file.
    pub async fn diagnostics(&self, path: &Path, timeout: Duration) -> Result<Vec<Diagnostic>> {
        let mut converter = self.converter(timeout).await?;
        let params = json!({ "textDocument": { "uri": uri::from_path(path) } });
        let report: Option<RawReport> = self
            .ask("textDocument/diagnostic", &params, timeout)
            .await?;
        let items = report.map(|report| report.items).unwrap_or_default();
        let items = items.into_iter();
        Ok(items.map(|raw| converter.diagnostic(path, raw)).collect())
    }

    /// Tell the server about changes on the disk, all at once. Questions asked after this
    /// see them.
    pub fn changed(&self, changes: &[(PathBuf, LspChangeKind)]) {
        if changes.is_empty() {
            return;
        }
        // Told under the lock: a folder before what others say of its files.
        let mut inner = self.session.inner();
        let told = inner.folders.tell(&self.session.root, changes);
        self.pool().notify(&Notice {
            method: "workspace/didChangeWatchedFiles".into(),
            params: json!({ "changes": told }),
            stamp: None,
        });
    }

    /// Give the server a document as text: one that it cannot read by itself. From now on
    /// the file on the disk does not count; give it the new text when the file changes.
    pub fn open_document(&self, path: &Path, text: &str) {
        let mut inner = self.session.inner();
        // Told under the lock: in the order of their numbers.
        if let Some(notice) = inner.documents.open(path, text) {
            self.pool().notify(&notice);
        }
    }

    /// From now on the file on the disk counts again.
    pub fn close_document(&self, path: &Path) {
        let mut inner = self.session.inner();
        if let Some(notice) = inner.documents.close(path) {
            self.pool().notify(&notice);
        }
    }

    /// End the process; returns when it is gone. The next question starts another.
    pub async fn stop(&self) {
        self.pool().stop().await;
    }

    /// For one question and its answer.
    pub(super) async fn converter(&self, timeout: Duration) -> Result<Converter<'_>> {
        let capabilities = self.capabilities(timeout).await?;
        Ok(Converter::new(&self.session, capabilities.encoding))
    }

    async fn places(
        &self,
        method: &'static str,
        path: &Path,
        at: LspPosition,
        more: Value,
        timeout: Duration,
    ) -> Result<Vec<LspLocation>> {
        let mut converter = self.converter(timeout).await?;
        let params = position(path, converter.ask(path, at), more);
        let places: Option<RawLocations> = self.ask(method, &params, timeout).await?;
        let places = places.map(RawLocations::into_vec).unwrap_or_default();
        let places = places.into_iter();
        Ok(places.filter_map(|p| converter.location(p)).collect())
    }

    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: &Value,
        timeout: Duration,
    ) -> Result<T> {
        let call = CallRequest {
            ask: Ask {
                method: method.into(),
                params: to_raw_value(params).ok(),
                project: String::new(),
            },
            // All questions are reads.
            safe: true,
            timeout,
            parts: None,
            budget: pillion_catalogue::SendBudget::default(),
        };
        let answer = self.pool().call(call).await?;
        serde_json::from_str(answer.result.get()).map_err(|error| {
            let what = format!(
                "`{}` answered `{method}` in no known way: {error}",
                self.spec.name
            );
            Error::new(Code::InvalidResult, what)
        })
    }
}

impl Drop for LanguageServer {
    fn drop(&mut self) {
        self.supervisor.let_go(&self.key);
    }
}

/// The parameters of a question about a position.
pub(super) fn position(path: &Path, at: LspPosition, mut more: Value) -> Value {
    more["textDocument"] = json!({ "uri": uri::from_path(path) });
    more["position"] = json!(at);
    more
}

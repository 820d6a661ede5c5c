//! Who calls whom, and who descends from whom.

use std::path::Path;
use std::time::Duration;

use pillion_catalogue::Result;
use serde::Deserialize;
use serde_json::{Value, json};

use super::LanguageServer;
use super::lsp::{CallSite, Item, LspPosition, LspRange};
use super::server::position;

/// An answer about calls: `from` for incoming ones, `to` for outgoing ones.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawCall {
    #[serde(alias = "from", alias = "to")]
    item: Value,
    from_ranges: Vec<LspRange>,
}

impl LanguageServer {
    /// The function or class at this position, to ask for its calls.
    pub async fn prepare_call_hierarchy(
        &self,
        path: &Path,
        at: LspPosition,
        timeout: Duration,
    ) -> Result<Vec<Item>> {
        self.prepare("textDocument/prepareCallHierarchy", path, at, timeout)
            .await
    }

    /// Who calls it. The calls are in the callers' files.
    pub async fn incoming_calls(&self, item: &Item, timeout: Duration) -> Result<Vec<CallSite>> {
        self.calls("callHierarchy/incomingCalls", item, None, timeout)
            .await
    }

    /// Whom it calls. The calls are in its own file.
    pub async fn outgoing_calls(&self, item: &Item, timeout: Duration) -> Result<Vec<CallSite>> {
        let own = Some(&*item.path);
        self.calls("callHierarchy/outgoingCalls", item, own, timeout)
            .await
    }

    /// The class at this position, to ask for its relatives.
    pub async fn prepare_type_hierarchy(
        &self,
        path: &Path,
        at: LspPosition,
        timeout: Duration,
    ) -> Result<Vec<Item>> {
        self.prepare("textDocument/prepareTypeHierarchy", path, at, timeout)
            .await
    }

    /// Its direct base classes.
    pub async fn supertypes(&self, item: &Item, timeout: Duration) -> Result<Vec<Item>> {
        let params = json!({ "item": item.raw });
        self.items("typeHierarchy/supertypes", &params, timeout)
            .await
    }

    /// Its direct subclasses.
    pub async fn subtypes(&self, item: &Item, timeout: Duration) -> Result<Vec<Item>> {
        let params = json!({ "item": item.raw });
        self.items("typeHierarchy/subtypes", &params, timeout).await
    }

    async fn prepare(
        &self,
        method: &'static str,
        path: &Path,
        at: LspPosition,
        timeout: Duration,
    ) -> Result<Vec<Item>> {
        let at = self.converter(timeout).await?.ask(path, at);
        self.items(method, &position(path, at, json!({})), timeout)
            .await
    }

    async fn items(
        &self,
        method: &'static str,
        params: &Value,
        timeout: Duration,
    ) -> Result<Vec<Item>> {
        let mut converter = self.converter(timeout).await?;
        let found: Option<Vec<Value>> = self.ask(method, params, timeout).await?;
        let found = found.unwrap_or_default().into_iter();
        Ok(found.filter_map(|raw| converter.item(raw)).collect())
    }

    /// `calls_in` is the file that the calls are in, if it is not the other item's.
    async fn calls(
        &self,
        method: &'static str,
        item: &Item,
        calls_in: Option<&Path>,
        timeout: Duration,
    ) -> Result<Vec<CallSite>> {
        let mut converter = self.converter(timeout).await?;
        let params = json!({ "item": item.raw });
        let found: Option<Vec<RawCall>> = self.ask(method, &params, timeout).await?;
        let found = found.unwrap_or_default().into_iter();
        let sites = found.filter_map(|raw| {
            let item = converter.item(raw.item)?;
            let file = calls_in.unwrap_or(&item.path).to_owned();
            let calls = raw.from_ranges.into_iter();
            let calls = calls.map(|range| converter.range(&file, range)).collect();
            Some(CallSite { item, calls })
        });
        Ok(sites.collect())
    }
}

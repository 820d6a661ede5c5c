//! The handle that programs hold.

use std::sync::Arc;
use std::time::Duration;

use pillion_protocol::endpoint::Endpoint;
use pillion_protocol::{Caller, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::launch::Started;
use crate::options::Options;
use crate::request::RequestBuilder;
use crate::shared::SharedConnection;
use crate::version::DaemonVersion;
use crate::wire;

/// A handle on the daemon: cheap to clone, and made to be used by many at once.
///
/// All calls share one connection, which is made when first needed and made again after
/// it broke. A client belongs to the tokio runtime it was first used on.
#[derive(Clone)]
pub struct Client {
    shared: Arc<SharedConnection>,
}

impl Client {
    /// Connect to a daemon that runs. None is ever started.
    pub async fn connect(endpoint: &Endpoint) -> Result<Self> {
        Self::connect_or_start(&Options::at(endpoint.clone()).start(false)).await
    }

    /// Connect to the daemon; start it if nobody listens and `options.start` is set.
    ///
    /// Returns when the daemon is known to answer. Racing clients start one daemon. Only a
    /// missing or refusing socket leads to a start: anything else in its place is an error.
    pub async fn connect_or_start(options: &Options) -> Result<Self> {
        let client = Self::lazy(options.clone());
        client.shared.connection().await?;
        Ok(client)
    }

    /// A client that connects, and starts the daemon if need be, with its first request.
    pub fn lazy(options: Options) -> Self {
        Self {
            shared: Arc::new(SharedConnection::new(options)),
        }
    }

    /// Ask for something, with the usual timeout.
    ///
    /// Dropping the future cancels the request. The result is JSON that was not looked into.
    pub async fn call(&self, method: &str, params: impl Serialize) -> Result<Box<RawValue>> {
        self.request(method, params).send().await
    }

    /// Ask for something, and read the result.
    pub async fn call_as<T: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize,
    ) -> Result<T> {
        self.request(method, params).send_as().await
    }

    /// A request with a timeout of its own, or one whose answer comes in parts.
    ///
    /// Parameters that cannot be sent are reported by sending it.
    pub fn request(&self, method: &str, params: impl Serialize) -> RequestBuilder {
        self.request_for(&Caller::default(), method, params)
    }

    /// The same, on behalf of somebody: where they stand, which Python is theirs, how long they
    /// wait.
    pub fn request_for(
        &self,
        caller: &Caller,
        method: &str,
        params: impl Serialize,
    ) -> RequestBuilder {
        let id = self.shared.next_id();
        let frame = wire::request_for(caller, id, method, &params);
        RequestBuilder::new(Arc::clone(&self.shared), id, method, frame)
    }

    /// What the daemon says about itself.
    pub async fn version(&self) -> Result<DaemonVersion> {
        self.call_as("system.version", ()).await
    }

    /// The daemon, if this client started it and it has not ended since.
    pub fn started(&self) -> Option<Started> {
        self.shared.started()
    }

    /// Where the daemon listens.
    pub fn endpoint(&self) -> &Endpoint {
        self.shared.endpoint()
    }

    /// Stop the daemon if this client started it, within `limit`.
    pub(crate) async fn stop_started(&self, limit: Duration) {
        self.shared.stop_started(limit).await;
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("socket", &self.endpoint().socket)
            .field("connected", &self.shared.live().is_some())
            .finish_non_exhaustive()
    }
}

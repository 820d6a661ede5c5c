//! The catalogue as a relay: its operations are known here, and answered by the daemon.

use std::path::PathBuf;
use std::sync::Arc;

use pillion::{Catalogue, Definition, Part, Request, Result, Safety, definitions};
use pillion_catalogue::DoorMode;
use pillion_client::{RequestBuilder, WireEvent};
use pillion_doors::DoorState;
use serde_json::value::RawValue;
use tokio::sync::{OnceCell, mpsc};
use tokio_util::sync::CancellationToken;

use super::Global;
use super::backend::Backend;

/// The way to whoever answers. Found when first needed; after that the client connects
/// again by itself when the daemon is gone, and repeats only what is a read.
pub(crate) struct Relay {
    global: Global,
    backend: OnceCell<Backend>,
}

impl Relay {
    pub(crate) fn new(global: Global) -> Self {
        Self {
            global,
            backend: OnceCell::new(),
        }
    }

    /// Start the daemon if need be. What goes wrong is told by the first call.
    pub(super) async fn warm_up(&self) {
        let _ = self.backend().await;
    }

    /// Leave nothing behind that is ours alone.
    pub(crate) async fn close(&self) {
        if let Some(Backend::Embedded(engine)) = self.backend.get() {
            engine.stop().await;
        }
    }

    async fn backend(&self) -> Result<&Backend> {
        let open = || Box::pin(Backend::open(&self.global));
        self.backend.get_or_try_init(open).await
    }

    async fn answer(
        &self,
        definition: Definition,
        params: &RawValue,
        request: Request,
    ) -> Result<Box<RawValue>> {
        match self.backend().await? {
            Backend::Embedded(engine) => {
                engine
                    .call_raw(definition.name, Some(params), request)
                    .await
            }
            Backend::Daemon(client) => {
                // The daemon sees a reader that takes everything.
                let _turn = request.budget.turn().await;
                match request.parts {
                    Some(parts) => {
                        let asked = client.request_for(&request.caller, definition.name, params);
                        stream(asked, &parts).await
                    }
                    None => {
                        let asked = client.request_for(&request.caller, definition.name, params);
                        let safe = definition.safety == Safety::Read;
                        asked.safe_to_repeat(safe).send().await
                    }
                }
            }
        }
    }
}

/// Pass on every part as it comes; a slow reader slows the sender down.
async fn stream(asked: RequestBuilder, parts: &mpsc::Sender<Part>) -> Result<Box<RawValue>> {
    let mut stream = asked.stream().await?;
    while let Some(event) = stream.next().await {
        let part = match event {
            WireEvent::Item(item) => Part::Item(item),
            WireEvent::Progress(progress) => Part::Progress(progress),
        };
        if parts.send(part).await.is_err() {
            break;
        }
    }
    stream.finish().await
}

/// The state of a door whose operations the relay answers.
pub(crate) fn state(relay: &Arc<Relay>, root: Option<PathBuf>) -> DoorState {
    let relay = Arc::clone(relay);
    let answer = move |definition, params: Box<RawValue>, request| {
        let relay = Arc::clone(&relay);
        async move { relay.answer(definition, &params, request).await }
    };
    let mut catalogue = Catalogue::default();
    catalogue.relay(definitions(), &Arc::new(answer));
    DoorState {
        catalogue: Arc::new(catalogue),
        shutdown: CancellationToken::new(),
        root,
        surroundings: pillion_catalogue::Caller::default(),
        peer: pillion_catalogue::Peer::default(),
        exposed: None,
        mode: DoorMode::Plain,
        event_types: &[],
    }
}

//! One child per call, while the breaker is open.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::{ActorContext, Sidecar};
use crate::message::{Outcome, Pending};
use crate::{CallRequest, SidecarSpec};

/// Run one call in a process of its own.
pub(super) async fn one_shot(
    spec: SidecarSpec,
    around: ActorContext,
    permits: Arc<Semaphore>,
    pending: Pending,
) {
    let Pending {
        ask,
        safe,
        parts,
        budget,
        mut way_back,
        load,
        ..
    } = pending;
    let _load = load;
    let mut spec = spec;
    spec.name = format!("{} (one-shot)", spec.name);
    let work = async {
        let _permit = permits.acquire().await;
        let sidecar = Sidecar::new(spec, around);
        // The caller's own deadline ends it: then its way back closes.
        let timeout = Duration::from_secs(24 * 3600);
        let outcome = Box::pin(sidecar.call(CallRequest {
            ask,
            safe,
            timeout,
            parts,
            budget,
        }))
        .await;
        sidecar.retire();
        outcome
    };
    tokio::select! {
        outcome = work => drop(way_back.send(Outcome::Done(outcome))),
        () = way_back.closed() => {}
    }
}

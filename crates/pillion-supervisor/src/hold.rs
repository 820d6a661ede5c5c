//! A process that somebody uses directly, for a while.

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use pillion_protocol::Result;

use crate::message::{ActorMessage, Grant};
use crate::{Cause, Ended, Sidecar};

/// A running process in the hands of somebody who speaks on its socket himself. To its
/// supervisor this is a call: while it lasts the process is busy, so it neither goes idle nor
/// is evicted, and one that is to be replaced ends when the last hold is let go of. Clones are
/// the same hold.
#[derive(Debug, Clone)]
pub struct Hold {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    // Let go of before the handle, which may be the last one.
    grant: Grant,
    _sidecar: Sidecar,
}

impl Hold {
    /// Have the process of a sidecar until this is dropped; one is started if there is none.
    /// Dropping the future gives up the wait, not the start.
    pub(crate) async fn of(sidecar: &Sidecar) -> Result<Self> {
        let inner = Arc::new(Inner {
            grant: sidecar.grant().await?,
            _sidecar: sidecar.clone(),
        });
        Ok(Self { inner })
    }

    /// The socket. It does not block.
    pub fn channel(&self) -> &UnixStream {
        &self.inner.grant.channel
    }

    /// Wait until the process has ended, and hear how; `None` where nobody can tell any more.
    /// It keeps nothing alive.
    pub fn ended(&self) -> impl Future<Output = Option<Ended>> + Send + 'static {
        let mut over = self.inner.grant.over.clone();
        async move {
            let ended = over.wait_for(Option::is_some).await.ok()?;
            ended.clone()
        }
    }

    /// Kill the process, with everything it started, whoever else may hold it.
    pub fn kill(&self, cause: Cause) {
        let grant = &self.inner.grant;
        if let Some(to_actor) = grant.to_actor.upgrade() {
            let process = grant.process;
            let _ = to_actor.send(ActorMessage::Kill { process, cause });
        }
    }

    /// Which process this is. Later ones have higher numbers, and no two the same, whatever
    /// became of their pool.
    pub fn process(&self) -> u64 {
        self.inner.grant.process
    }
}

//! What commands have in common that serve: ports, who is let in, and the end by a signal.

use std::ops::RangeInclusive;

use clap::Args;
use pillion::Result;
use pillion_doors::{daemon, http};
use tokio_util::sync::CancellationToken;

use super::caller::from_here;
use super::output;

/// Who is let in over HTTP.
#[derive(Debug, Args)]
pub(crate) struct AccessArgs {
    /// Let everybody in who can reach the port: every user of this machine, and every lane
    /// with network.
    #[arg(long)]
    no_token: bool,
}

impl AccessArgs {
    /// Who is let in at this port, and tell people how.
    pub(crate) fn open(&self, port: u16) -> Result<http::Access> {
        if self.no_token {
            output::warn(
                "`--no-token`: every user and every program on this machine, also code in a \
                 lane with network, can run code as you through this port",
            );
            return Ok(http::Access::everybody());
        }
        let uid = pillion_process::effective_uid();
        let folder =
            pillion_protocol::endpoint::runtime_dir(pillion_process::private_folder::variable, uid);
        let access = http::Access::guarded(port, &from_here(&folder))?;
        if let Some((token, file)) = access.token() {
            output::note(&format!(
                "programs of your own are let in; others need the token {token}\n\
                 which is also in {}",
                file.display()
            ));
        }
        if let Some(link) = access.link()? {
            output::note(&format!("a browser, once and soon: {link}"));
        }
        Ok(access)
    }
}

pub(crate) fn ports(text: &str) -> Result<RangeInclusive<u16>, String> {
    let number = |text: &str| {
        text.parse::<u16>()
            .map_err(|_| format!("`{text}` is no port"))
    };
    match text.split_once('-') {
        Some((first, last)) => Ok(number(first)?..=number(last)?),
        None => number(text).map(|port| port..=port),
    }
}

/// Serve until the peer is done or a signal comes.
pub(crate) async fn until_signal(shutdown: &CancellationToken, serving: impl Future<Output = ()>) {
    let signalled = daemon::signalled();
    tokio::pin!(serving);
    tokio::select! {
        () = &mut serving => {}
        cause = signalled => {
            tracing::info!(cause, "ending");
            shutdown.cancel();
            // What was read may still be answered, but not for ever.
            let _ = tokio::time::timeout(daemon::DRAIN, serving).await;
        }
    }
}

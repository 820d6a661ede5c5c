//! The requests: one delivery, and the session that it belongs to if the backend has none.

use std::error::Error as _;
use std::time::SystemTime;

use pillion_store::Outgoing;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Method};
use tokio::sync::OnceCell;

use crate::answer::{Verdict, judge};
use crate::backend::{BackendTarget, key};
use crate::timing::Timing;

/// This many connections to one backend are kept for the next requests.
const MAX_IDLE: usize = 2;

/// Says which delivery a request is about, so that the backend tells a repetition.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The HTTP clients, each made when it is first needed: the system's certificates are many.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    local: OnceCell<Client>,
    remote: OnceCell<Client>,
}

impl Clients {
    async fn client(&self, target: &BackendTarget, timing: Timing) -> Result<&Client, Verdict> {
        let is_local = target.is_local;
        let cell = if is_local { &self.local } else { &self.remote };
        let make = || async move {
            let made = pillion_catalogue::work(move |_| client(is_local, timing)).await;
            match made {
                Ok(Ok(client)) => Ok(client),
                Ok(Err(error)) => Err(Verdict::Later(told(error), None)),
                Err(error) => Err(Verdict::Later(error.to_string(), None)),
            }
        };
        cell.get_or_try_init(make).await
    }
}

fn client(is_local: bool, timing: Timing) -> reqwest::Result<Client> {
    // An error says that there is a provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("pillion/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .referer(false)
        .connect_timeout(timing.connect)
        .timeout(timing.request)
        .pool_max_idle_per_host(MAX_IDLE);
    match is_local {
        true => builder.no_proxy().tls_certs_only([]).build(),
        false => builder.build(),
    }
}

/// Deliver this to the backend. A session that the backend does not know is made first.
pub(crate) async fn deliver(
    clients: &Clients,
    target: &BackendTarget,
    timing: Timing,
    outgoing: &Outgoing,
) -> Verdict {
    let client = match clients.client(target, timing).await {
        Ok(client) => client,
        Err(verdict) => return verdict,
    };
    let Outgoing {
        session,
        kind,
        number,
        ..
    } = outgoing;
    let (method, url) = target.route(session, *kind);
    let key = key(session, *kind, *number);
    let attempt = || {
        let body = outgoing.body.get().to_owned();
        send(client, target, method.clone(), &url, Some(&key), body)
    };
    match attempt().await {
        Verdict::Missing => {}
        verdict => return verdict,
    }
    tracing::debug!(%session, "the backend does not know the session: it is made there");
    let (creation, body) = target.creation(session);
    match send(client, target, Method::POST, &creation, None, body).await {
        Verdict::Arrived => attempt().await,
        Verdict::Missing => {
            Verdict::Never("the backend knows neither the session nor its chapter (404)".into())
        }
        verdict => verdict,
    }
}

async fn send(
    client: &Client,
    target: &BackendTarget,
    method: Method,
    url: &str,
    key: Option<&str>,
    body: String,
) -> Verdict {
    let mut request = client
        .request(method, url)
        .header(CONTENT_TYPE, "application/json")
        .body(body);
    if let Some(key) = key {
        request = request.header(IDEMPOTENCY_KEY, key);
    }
    match target.authorization() {
        Ok(Some(token)) => request = request.header(AUTHORIZATION, token),
        Ok(None) => {}
        Err(error) => return Verdict::Refused(error.to_string()),
    }
    match request.send().await {
        // What else the answer says is not needed, and not read.
        Ok(answer) => {
            let retry_after = answer.headers().get(RETRY_AFTER);
            let retry_after = retry_after.and_then(|value| value.to_str().ok());
            judge(answer.status(), retry_after, SystemTime::now())
        }
        Err(error) => Verdict::Later(told(error), None),
    }
}

/// What went wrong, without the address.
fn told(error: reqwest::Error) -> String {
    let what = match &error {
        error if error.is_timeout() => "the backend did not answer in time",
        error if error.is_connect() => "there is no connection to the backend",
        error if error.is_builder() => "no connection can be prepared",
        _ => "the connection to the backend broke",
    };
    let error = error.without_url();
    let mut cause = error.source();
    while let Some(deeper) = cause.and_then(|cause| cause.source()) {
        cause = Some(deeper);
    }
    cause.map_or_else(|| what.to_owned(), |cause| format!("{what}: {cause}"))
}

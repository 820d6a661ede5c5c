//! Asking an endpoint: connection, attempts, limits, and what its refusals mean.
//!
//! The client is made by the first question, on a thread of its own: the system's certificates
//! are read for it. Redirects are not followed, so the key goes to no other host.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, SystemTime};

use pillion_process::Secret;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue,
};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::sync::{OnceCell, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use crate::draft::{Draft, Hear};
use crate::error::{Error, ModelErrorKind};
use crate::options::{self, RequestOptions};
use crate::prompt::{Completion, Prompt};
use crate::redact::Redactor;
use crate::settings::{ModelLimits, ModelSettings, Provider, is_loopback};
use crate::sse::{self, SseError};
use crate::{anthropic, openai, retry};

/// The only form that answers are read in: compressed ones would not come as they are said.
const PLAIN: &str = "identity";
/// How much of a refusal is read.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;
/// How much of a refusal is in the debug line.
const LOGGED_REFUSAL_CHARS: usize = 400;
/// How long a refusal may take to come.
const REFUSAL_TIME: Duration = Duration::from_secs(5);
/// How long the end of an answer is waited for once all of it came, so that its connection can
/// be used again.
const END_TIME: Duration = Duration::from_millis(2);
/// Connections that are kept for later.
const MAX_IDLE_CONNECTIONS: usize = 8;
/// For how long they are.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// One provider's address, with everything that asking it takes.
#[derive(Debug)]
pub(crate) struct Endpoint {
    provider: Provider,
    model: String,
    url: Url,
    host: String,
    key: Option<Secret>,
    limits: ModelLimits,
    redactor: Redactor,
    client: OnceCell<Client>,
    /// What this server does not take, see [`RequestOptions`].
    without: AtomicU8,
}

/// An attempt that failed.
struct Failure {
    error: Error,
    /// Whether another attempt makes sense: the reason may pass, and nothing was heard.
    again: bool,
    /// What the server does not take; without it, it is asked again.
    leave_out: RequestOptions,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            again: error.kind.is_passing(),
            error,
            leave_out: RequestOptions::default(),
        }
    }
}

impl From<SseError> for Error {
    fn from(error: SseError) -> Self {
        match error {
            SseError::TooLarge => Self::new(
                ModelErrorKind::TooLarge,
                "a piece of the model's answer is longer than allowed",
            ),
            SseError::NotUtf8 => {
                Self::new(ModelErrorKind::BadAnswer, "the model's answer is not text")
            }
        }
    }
}

impl Endpoint {
    pub(crate) fn new(settings: &ModelSettings) -> Result<Self, Error> {
        let url = settings.url()?;
        let mut host = url.host_str().unwrap_or_default().to_owned();
        if let Some(port) = url.port() {
            host = format!("{host}:{port}");
        }
        if url.scheme() == "http" && !is_loopback(&url) {
            tracing::warn!(
                host,
                "the model is asked without encryption, and the key with it"
            );
        }
        Ok(Self {
            provider: settings.provider,
            model: settings.model.clone(),
            url,
            host,
            key: settings.key.clone(),
            limits: settings.limits.clone(),
            redactor: Redactor::new(settings.key.clone()),
            client: OnceCell::new(),
            without: AtomicU8::new(0),
        })
    }

    /// Ask until it answers, within the limits.
    pub(crate) async fn ask(
        &self,
        prompt: &Prompt,
        hear: &mut Hear<'_>,
    ) -> Result<Completion, Error> {
        let deadline = Instant::now() + self.limits.whole;
        let attempts = Box::pin(self.attempts(prompt, deadline, hear));
        match timeout_at(deadline, attempts).await {
            Ok(result) => result,
            Err(_) => Err(self.timed_out("did not finish its answer within", self.limits.whole)),
        }
    }

    async fn attempts(
        &self,
        prompt: &Prompt,
        deadline: Instant,
        hear: &mut Hear<'_>,
    ) -> Result<Completion, Error> {
        let known = RequestOptions::from_bits(self.without.load(Ordering::Relaxed));
        let mut without = known;
        let mut repeated = 0;
        loop {
            let failure = match self.attempt(prompt, without, hear).await {
                Ok(answer) => {
                    let learned = without & !known;
                    self.without.fetch_or(learned.bits(), Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(failure) => failure,
            };
            let fresh = failure.leave_out & !without;
            if !fresh.is_empty() {
                tracing::debug!(host = self.host, ?fresh, "asking without refused options");
                without = without | fresh;
                continue;
            }
            let error = failure.error;
            // Who is asked sooner than it wants refuses again.
            let is_far = error.retry_after.is_some_and(retry::is_too_far);
            if !failure.again || is_far || repeated >= self.limits.retries {
                return Err(error);
            }
            let wait = retry::wait(
                self.limits.backoff,
                repeated,
                error.retry_after,
                retry::chance(),
            );
            // A wait that ends after the deadline would only hide why.
            if Instant::now() + wait >= deadline {
                return Err(error);
            }
            repeated += 1;
            tracing::debug!(host = self.host, kind = %error.kind, repeated, ?wait, "asking again");
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt(
        &self,
        prompt: &Prompt,
        without: RequestOptions,
        hear: &mut Hear<'_>,
    ) -> Result<Completion, Failure> {
        let (body, sent) = match self.provider {
            Provider::Anthropic => anthropic::request(prompt, &self.model, without),
            provider => openai::request(prompt, provider, &self.model, without),
        };
        let client = self.client.get_or_try_init(|| self.connect()).await?;
        let request = client
            .post(self.url.clone())
            .headers(self.headers()?)
            .json(&body);
        let first_byte = Instant::now() + self.limits.first_byte;
        let response = match timeout_at(first_byte, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.unreachable(&error).into()),
            Err(_) => return Err(self.no_answer().into()),
        };
        if !response.status().is_success() {
            return Err(self.refusal(response, sent).await);
        }
        let encoding = response.headers().get(CONTENT_ENCODING);
        if encoding.is_some_and(|encoding| encoding != PLAIN) {
            return Err(self.compressed().into());
        }
        let mut draft = Draft::new(self.limits.max_answer_bytes);
        match self.read(response, first_byte, &mut draft, hear).await {
            Ok(()) => Ok(draft.finish(prompt)),
            Err(error) => Err(Failure {
                again: error.kind.is_passing() && !draft.was_heard(),
                error,
                leave_out: RequestOptions::default(),
            }),
        }
    }

    /// Read the answer into the draft, as it comes.
    async fn read(
        &self,
        mut response: Response,
        first_byte: Instant,
        draft: &mut Draft,
        hear: &mut Hear<'_>,
    ) -> Result<(), Error> {
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or("");
        let kind = kind.to_ascii_lowercase();
        let whole = kind.contains("application/json");
        let is_stream = kind.contains("event-stream");
        let event = |data: &str, draft: &mut Draft, hear: &mut Hear<'_>| match self.provider {
            Provider::Anthropic => anthropic::event(data, draft, hear),
            _ => openai::event(data, draft, hear),
        };
        let mut decoder = sse::EventDecoder::new();
        let mut body = Vec::new();
        let mut deadline = first_byte;
        let mut begun = false;
        while let Some(bytes) = match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(error)) => return Err(self.broken(&error)),
            Err(_) if begun => return Err(self.timed_out("was silent for", self.limits.silence)),
            Err(_) => return Err(self.no_answer()),
        } {
            begun = true;
            deadline = Instant::now() + self.limits.silence;
            if whole {
                if body.len() + bytes.len() > sse::MAX_EVENT_BYTES {
                    return Err(SseError::TooLarge.into());
                }
                body.extend_from_slice(&bytes);
                continue;
            }
            decoder.push(&bytes, |data| {
                // What comes after the end is nobody's.
                if draft.done {
                    Ok(())
                } else {
                    event(data, draft, hear)
                }
            })?;
            if draft.done {
                let _ = timeout(END_TIME, response.chunk()).await;
                return Ok(());
            }
        }
        if whole {
            let text = std::str::from_utf8(&body).map_err(|_| SseError::NotUtf8)?;
            event(text, draft, hear)?;
        } else if let Ok(Some(rest)) = decoder.rest() {
            match event(&rest, draft, hear) {
                // Half an event: the stream was cut off, which is told below.
                Err(error) if error.kind == ModelErrorKind::BadAnswer => {}
                taken => taken?,
            }
        }
        match draft.stop {
            Some(_) => Ok(()),
            // Such as a page for people: the address is wrong, and stays so.
            None if !is_stream && !draft.was_heard() => Err(self.no_sense()),
            None => Err(Error::new(
                ModelErrorKind::Unreachable,
                format!("`{}` broke off in the middle of the answer", self.host),
            )),
        }
    }

    fn headers(&self) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(PLAIN));
        let secret = |text: &str| {
            let mut value = HeaderValue::from_str(text)
                .map_err(|_| Error::new(ModelErrorKind::Settings, "LLM_API_KEY cannot be sent"))?;
            value.set_sensitive(true);
            Ok::<_, Error>(value)
        };
        if self.provider == Provider::Anthropic {
            let version = HeaderValue::from_static(anthropic::VERSION);
            headers.insert("anthropic-version", version);
            if let Some(key) = &self.key {
                headers.insert("x-api-key", secret(key.expose())?);
            }
        } else if let Some(key) = &self.key {
            headers.insert(AUTHORIZATION, secret(&format!("Bearer {}", key.expose()))?);
        }
        Ok(headers)
    }

    /// Make the client, off the runtime's thread.
    async fn connect(&self) -> Result<Client, Error> {
        let encrypted = self.url.scheme() == "https";
        let direct = is_loopback(&self.url);
        let connect = self.limits.connect;
        let (sender, made) = oneshot::channel();
        let make = move || {
            let _ = sender.send(client(encrypted, direct, connect));
        };
        let failed = || {
            Error::new(
                ModelErrorKind::Unreachable,
                "cannot prepare connections to the model",
            )
            .hint("check the certificates of this system, and the proxy's variables")
        };
        std::thread::Builder::new()
            .name("model-client".to_owned())
            .spawn(make)
            .map_err(|_| failed())?;
        let made = made.await.map_err(|_| failed())?;
        made.map_err(|why| {
            tracing::debug!(why, "no HTTP client");
            failed()
        })
    }

    /// What an answer that is none means.
    async fn refusal(&self, mut response: Response, sent: RequestOptions) -> Failure {
        let status = response.status();
        let asked = asked_wait(response.headers());
        let mut body = Vec::new();
        let read = async {
            while let Ok(Some(bytes)) = response.chunk().await {
                let room = MAX_REFUSAL_BYTES - body.len();
                body.extend_from_slice(&bytes[..bytes.len().min(room)]);
                if body.len() == MAX_REFUSAL_BYTES {
                    break;
                }
            }
        };
        let _ = timeout(REFUSAL_TIME, read).await;
        let text = String::from_utf8_lossy(&body);
        let shown = self.redactor.text(&text);
        let shown: String = shown.chars().take(LOGGED_REFUSAL_CHARS).collect();
        tracing::debug!(host = self.host, %status, body = shown, "the model's provider refused");

        let lower = text.to_ascii_lowercase();
        let mut error = self.refused(status, &lower).after(asked);
        if let Some(wait) = asked.filter(|wait| retry::is_too_far(*wait)) {
            let minutes = wait.as_secs().div_ceil(60);
            error = error.hint(format!("it wants to be asked again in {minutes} minutes"));
        }
        let mut again = error.kind.is_passing();
        let mut leave_out = RequestOptions::default();
        if matches!(status.as_u16(), 400 | 422) {
            leave_out = RequestOptions::refused(sent, &lower);
        }
        if lower.contains("insufficient_quota") {
            again = false;
            error = error.hint("the account has no quota left: look at its billing");
        }
        Failure {
            error,
            again,
            leave_out,
        }
    }

    fn refused(&self, status: StatusCode, lower: &str) -> Error {
        let host = &self.host;
        let code = status.as_u16();
        match code {
            401 | 403 => Error::new(
                ModelErrorKind::Unauthorized,
                format!("`{host}` does not accept the key (HTTP {code})"),
            ),
            408 => Error::new(
                ModelErrorKind::Timeout,
                format!("`{host}` waited too long (HTTP 408)"),
            ),
            429 => Error::new(
                ModelErrorKind::RateLimited,
                format!("`{host}` limits how often it is asked (HTTP 429)"),
            ),
            500.. => Error::new(
                ModelErrorKind::Overloaded,
                format!("`{host}` has a problem of its own (HTTP {code})"),
            ),
            413 => Error::new(
                ModelErrorKind::TooLarge,
                format!("the question is too long for `{host}`"),
            ),
            300..=399 => Error::new(
                ModelErrorKind::Refused,
                format!("`{host}` points to another address (HTTP {code})"),
            )
            .hint("set LLM_BASE_URL to the address that it points to"),
            _ if options::about_length(lower) => Error::new(
                ModelErrorKind::TooLarge,
                format!("the conversation is too long for `{}`", self.model),
            )
            .hint("choose a model with a longer context, or begin a new session"),
            404 => Error::new(
                ModelErrorKind::Refused,
                format!(
                    "`{host}` does not know the model `{}` or the address (HTTP 404)",
                    self.model
                ),
            ),
            _ => Error::new(
                ModelErrorKind::Refused,
                format!("`{host}` refused the request (HTTP {code})"),
            ),
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> Error {
        self.log(error);
        if error.is_timeout() && !error.is_connect() {
            return self.no_answer();
        }
        let what = if error.is_connect() {
            "cannot reach"
        } else {
            "lost the connection to"
        };
        Error::new(
            ModelErrorKind::Unreachable,
            format!("{what} `{}`", self.host),
        )
    }

    fn broken(&self, error: &reqwest::Error) -> Error {
        self.log(error);
        Error::new(
            ModelErrorKind::Unreachable,
            format!(
                "the connection to `{}` broke in the middle of the answer",
                self.host
            ),
        )
    }

    fn no_answer(&self) -> Error {
        self.timed_out("sent nothing for", self.limits.first_byte)
    }

    fn no_sense(&self) -> Error {
        Error::new(
            ModelErrorKind::BadAnswer,
            format!(
                "`{}` answered something that is no model's answer",
                self.host
            ),
        )
    }

    fn compressed(&self) -> Error {
        Error::new(
            ModelErrorKind::BadAnswer,
            format!(
                "`{}` compressed its answer, and was asked not to",
                self.host
            ),
        )
        .hint("turn compression off in the server, or in what stands in front of it")
    }

    fn timed_out(&self, what: &str, time: Duration) -> Error {
        let seconds = time.as_secs_f64();
        Error::new(
            ModelErrorKind::Timeout,
            format!("`{}` {what} {seconds} s", self.host),
        )
    }

    fn log(&self, error: &reqwest::Error) {
        let text = format!("{error:?}");
        let text: String = self
            .redactor
            .text(&text)
            .chars()
            .take(LOGGED_REFUSAL_CHARS)
            .collect();
        tracing::debug!(host = self.host, error = text, "no connection to the model");
    }
}

fn client(encrypted: bool, direct: bool, connect: Duration) -> Result<Client, String> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    // Without encryption the system's certificates are neither needed nor read.
    let config = if encrypted {
        config
            .with_platform_verifier()
            .map_err(|error| error.to_string())?
    } else {
        config.with_root_certificates(RootCertStore::empty())
    };
    let mut builder = Client::builder()
        .tls_backend_preconfigured(config.with_no_client_auth())
        .redirect(Policy::none())
        .connect_timeout(connect)
        .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
        .pool_idle_timeout(IDLE_TIME)
        .user_agent(concat!("pillion/", env!("CARGO_PKG_VERSION")));
    if direct {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| format!("{error:?}"))
}

/// When the server wants to be asked again.
fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let millis = text("retry-after-ms").and_then(|millis| millis.trim().parse().ok());
    millis.map(Duration::from_millis).or_else(|| {
        text("retry-after").and_then(|header| retry::retry_after(header, SystemTime::now()))
    })
}

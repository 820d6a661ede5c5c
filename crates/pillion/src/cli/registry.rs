//! `pillion registry serve`: a folder of artifacts over HTTP, with the question that desktops ask.
//!
//! It is a command and no operation: it opens a port and runs until it is ended. It serves files
//! that are meant for everybody and asks for no token; by default only this machine reaches it.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path as UrlPath, Query, State};
use axum::http::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HOST, IF_RANGE, RANGE,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use clap::{Args, Subcommand};
use pillion::{Code, Error, Result};
use pillion_bundle::registry::{ArtifactQuery, NAME, Offered};
use pillion_bundle::{BundleType, Compression, Platform, Version};
use pillion_doors::daemon;
use pillion_install::operations::nothing_fits;
use pillion_install::registry;
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use super::caller::from_here;
use super::{Global, output};

/// So many bytes of a file are read at once.
const CHUNK: usize = 64 << 10;

/// List artifacts for desktops, and serve them.
#[derive(Debug, Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Registry {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Serve a folder of artifacts, and the question which one a desktop should get.
    Serve(Serve),
}

/// Serve a folder of artifacts, and the question which one a desktop should get.
///
/// `GET /v1/bundles/python_runtime?platform=P&desktop_version=V` answers with the newest that
/// fits; `GET /artifacts/NAME` is a file of the folder, also in parts.
#[derive(Debug, Args)]
struct Serve {
    /// The folder, with the `index.json` of `pillion registry build`.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The port; 0 is any.
    #[arg(long, default_value_t = 8090)]
    port: u16,
    /// The address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// The address of the artifacts that is told to desktops, where another host serves them.
    #[arg(long, value_name = "URL")]
    artifacts_url: Option<String>,
}

impl Registry {
    pub(crate) async fn run(self, _: &Global) -> Result<ExitCode> {
        let Action::Serve(serve) = self.action;
        serve.run().await
    }
}

/// What is served.
#[derive(Debug)]
struct Served {
    folder: PathBuf,
    address: SocketAddr,
    artifacts_url: Option<String>,
}

impl Serve {
    async fn run(self) -> Result<ExitCode> {
        let folder = from_here(&self.folder);
        // Told now, and not to the first desktop that asks.
        let known = registry::read(&folder)?.bundles.len();
        let signalled = daemon::signalled();
        let wanted = SocketAddr::new(self.host, self.port);
        let listener = tokio::net::TcpListener::bind(wanted)
            .await
            .map_err(|error| {
                Error::new(
                    Code::StartFailed,
                    format!("cannot listen on {wanted}: {error}"),
                )
                .hint("name another port with `--port`; 0 is any")
            })?;
        let address = listener.local_addr().map_err(Error::internal)?;
        let served = Arc::new(Served {
            folder,
            address,
            artifacts_url: self.artifacts_url,
        });
        let routes = Router::new()
            .route("/v1/bundles/{type}", get(choose))
            .route("/artifacts/{name}", get(artifact))
            .with_state(served);
        output::say(&format!("{known} artifacts on http://{address}"));
        axum::serve(listener, routes)
            .with_graceful_shutdown(async move {
                signalled.await;
            })
            .await
            .map_err(Error::internal)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// What a desktop asks.
#[derive(Debug, Deserialize)]
struct Asked {
    platform: Option<String>,
    desktop_version: Option<String>,
    scope_id: Option<String>,
    /// `tar.gz` for desktops that know no other.
    format: Option<String>,
    #[serde(default)]
    prerelease: bool,
}

async fn choose(
    State(served): State<Arc<Served>>,
    UrlPath(kind): UrlPath<String>,
    headers: HeaderMap,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Response {
    let asked = match asked {
        Ok(Query(asked)) => asked,
        Err(error) => return failed(&Error::new(Code::InvalidParams, error.body_text())),
    };
    match chosen(&served, &kind, &headers, &asked) {
        Ok(offered) => axum::Json(offered).into_response(),
        Err(error) => failed(&error),
    }
}

fn chosen(served: &Served, kind: &str, headers: &HeaderMap, asked: &Asked) -> Result<Offered> {
    let wrong = |message: String| {
        Error::new(Code::InvalidParams, message)
            .hint("ask with `?platform=linux-x64&desktop_version=1.0.0`")
    };
    let kind: BundleType = kind
        .parse()
        .map_err(|message| Error::new(Code::NotFound, message))?;
    let platform = asked.platform.as_deref().map(str::parse::<Platform>);
    let version = asked.desktop_version.as_deref().map(str::parse::<Version>);
    let version = version.transpose().map_err(wrong)?;
    let platform = platform.transpose().map_err(wrong)?;
    if kind == BundleType::PythonRuntime && (platform.is_none() || version.is_none()) {
        return Err(wrong(
            "`platform` and `desktop_version` are missing".to_owned(),
        ));
    }
    let compression = match asked.format.as_deref() {
        None => None,
        Some("tar.zst") => Some(Compression::Zstd),
        Some("tar.gz") => Some(Compression::Gzip),
        Some(other) => return Err(wrong(format!("`{other}` is neither tar.zst nor tar.gz"))),
    };
    let question = ArtifactQuery {
        bundle_type: kind,
        scope_id: asked.scope_id.as_deref(),
        platform,
        desktop_version: version.as_ref(),
        pre_releases: asked.prerelease,
        compression,
    };
    // Read each time: it is small, and somebody may have added a version.
    let registry = registry::read(&served.folder)?;
    let chosen = registry
        .choose(&question)
        .ok_or_else(|| nothing_fits(&question))?;
    let base = served.artifacts_url.clone().unwrap_or_else(|| {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let host = host.map_or_else(|| served.address.to_string(), str::to_owned);
        format!("http://{host}/artifacts")
    });
    Ok(Offered::of(chosen, &base))
}

/// A file of the folder, whole or from some byte on.
async fn artifact(
    State(served): State<Arc<Served>>,
    UrlPath(name): UrlPath<String>,
    headers: HeaderMap,
) -> Response {
    let Some(path) = file_of(&served.folder, &name) else {
        let message = format!("there is no artifact `{name}`");
        return failed(&Error::new(Code::NotFound, message));
    };
    match send(&path, &headers).await {
        Ok(response) => response,
        Err(error) => failed(&Error::new(Code::NotFound, error.to_string())),
    }
}

/// An artifact, what lies beside one, or the list; nothing else of the folder.
fn file_of(folder: &Path, name: &str) -> Option<PathBuf> {
    let stem = name
        .strip_suffix(pillion_bundle::signature::ENDING)
        .or_else(|| name.strip_suffix(".sha256"))
        .unwrap_or(name);
    let is_plain = !name.contains(['/', '\\']) && !name.starts_with('.');
    let is_ours = name == NAME || Compression::of_name(stem).is_some();
    let path = folder.join(name);
    (is_plain && is_ours && path.is_file()).then_some(path)
}

async fn send(path: &Path, headers: &HeaderMap) -> std::io::Result<Response> {
    let mut file = tokio::fs::File::open(path).await?;
    let meta = file.metadata().await?;
    let total = meta.len();
    let changed = meta.modified()?.duration_since(std::time::UNIX_EPOCH);
    let tag = format!("\"{total:x}-{:x}\"", changed.unwrap_or_default().as_nanos());
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let is_same = text(IF_RANGE).is_none_or(|known| known == tag);
    let range = text(RANGE).filter(|_| is_same).and_then(|range| {
        let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
        let last = match last {
            "" => None,
            last => Some(last.parse::<u64>().ok()?),
        };
        let first = first.parse::<u64>().ok()?;
        // A part that ends before it begins is none, and all of it is sent.
        last.is_none_or(|last| first <= last)
            .then_some((first, last))
    });
    let (status, first, end) = match range {
        None => (StatusCode::OK, 0, total),
        Some((first, _)) if first >= total => {
            let range = [(CONTENT_RANGE, format!("bytes */{total}"))];
            return Ok((StatusCode::RANGE_NOT_SATISFIABLE, range).into_response());
        }
        Some((first, last)) => {
            let end = last.map_or(total, |last| last.saturating_add(1).min(total));
            (StatusCode::PARTIAL_CONTENT, first, end)
        }
    };
    file.seek(std::io::SeekFrom::Start(first)).await?;
    let left = end - first;
    let chunks = futures::stream::try_unfold((file, left), |(mut file, left)| async move {
        if left == 0 {
            return Ok::<_, std::io::Error>(None);
        }
        let size = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        let mut buffer = vec![0; size];
        let count = file.read(&mut buffer).await?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        buffer.truncate(count);
        let left = left - count as u64;
        Ok(Some((Bytes::from(buffer), (file, left))))
    });
    let mut response = (status, Body::from_stream(chunks)).into_response();
    let mut set = |name, value: String| {
        if let Ok(value) = value.parse() {
            response.headers_mut().insert(name, value);
        }
    };
    set(CONTENT_TYPE, "application/octet-stream".to_owned());
    set(CONTENT_LENGTH, left.to_string());
    set(ACCEPT_RANGES, "bytes".to_owned());
    set(ETAG, tag);
    if status == StatusCode::PARTIAL_CONTENT {
        let last = end.saturating_sub(1);
        set(CONTENT_RANGE, format!("bytes {first}-{last}/{total}"));
    }
    Ok(response)
}

fn failed(error: &Error) -> Response {
    let status = StatusCode::from_u16(error.code.http_status());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, axum::Json(error)).into_response()
}

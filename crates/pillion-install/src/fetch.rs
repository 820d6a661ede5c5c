//! Archives from other hosts: resumable, bounded, tried again a few times.
//!
//! What has arrived lies in the store's folder of downloads under a name made of the address.
//! The next attempt, of this process or another, asks for the rest only, on the condition that
//! it is still the same file there.
//!
//! A place may be that of a registry's list: then it is the artifact of the list that fits.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pillion_bundle::paths::excerpt;
use pillion_bundle::registry::{self, Artifact};
use pillion_bundle::{BundleLimits, parse_checksum, signature};
use pillion_runtime::managed::ProgressListener;
use reqwest::header::{CONTENT_RANGE, ETAG, HeaderValue, IF_RANGE, LAST_MODIFIED, RANGE};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use tokio::io::AsyncWriteExt;

use crate::download_file::{Held, tag_of};
use crate::error::{Error, Result};
use crate::store::{ArchiveFile, BundleStore, VersionFilter, WaitLimit};
use crate::trust::TrustPolicy;

/// So often it is tried.
const ATTEMPTS: u32 = 5;
/// The pause before the second attempt; it doubles.
const PAUSE: Duration = Duration::from_millis(300);
/// So long a connection may take.
const CONNECT: Duration = Duration::from_secs(15);
/// So long nothing may come.
const SILENCE: Duration = Duration::from_secs(30);
/// Redirects that are followed.
const REDIRECTS: usize = 5;

/// Where an archive is: a file, or an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveLocation {
    /// A file of this machine.
    File(PathBuf),
    /// An address.
    Url(Url),
}

impl ArchiveLocation {
    /// What a text means: `https://...`, `file://...`, or a path seen from a folder.
    pub fn parse(text: &str, from: &Path) -> Result<Self> {
        let is_address = ["http://", "https://", "file://"]
            .iter()
            .any(|start| text.starts_with(start));
        if !is_address {
            return Ok(Self::File(from.join(text)));
        }
        let wrong = |why: String| Error::Input {
            what: format!("`{text}` is no address: {why}"),
            hint: "name a file, or an address that begins with `https://`".to_owned(),
        };
        let url = Url::parse(text).map_err(|error| wrong(error.to_string()))?;
        match url.scheme() {
            "file" => {
                let path = url.to_file_path();
                path.map(Self::File)
                    .map_err(|()| wrong("no path is in it".to_owned()))
            }
            _ => Ok(Self::Url(url)),
        }
    }
}

impl ArchiveLocation {
    /// Whether it is that of a registry's list, or of the folder that one is in.
    pub fn is_list(&self) -> bool {
        match self {
            Self::File(path) => path.ends_with(registry::NAME) || path.is_dir(),
            Self::Url(url) => {
                url.path().ends_with('/') || url.path().ends_with(&format!("/{}", registry::NAME))
            }
        }
    }

    /// The list's own place, where that of its folder was given.
    fn list(&self) -> Self {
        match self {
            Self::File(path) if path.is_dir() => Self::File(path.join(registry::NAME)),
            Self::Url(url) if url.path().ends_with('/') => {
                let mut url = url.clone();
                url.set_path(&format!("{}{}", url.path(), registry::NAME));
                Self::Url(url)
            }
            other => other.clone(),
        }
    }

    /// The place of an artifact of the list at this place.
    fn beside(&self, artifact: &Artifact) -> Result<Self> {
        let name = &artifact.artifact_url;
        let wrong = || Error::Input {
            what: format!(
                "the registry names an artifact that is nowhere: `{}`",
                excerpt(name)
            ),
            hint: "`pillion registry build DIR` makes the list anew".to_owned(),
        };
        match self {
            Self::File(path) => Ok(Self::File(path.with_file_name(artifact.file_name()))),
            Self::Url(list) => {
                let url = list.join(name).map_err(|_| wrong())?;
                let gives_up = list.scheme() == "https" && url.scheme() != "https";
                match url.scheme() {
                    "http" | "https" if !gives_up => Ok(Self::Url(url)),
                    _ => Err(wrong()),
                }
            }
        }
    }
}

/// The artifact that fits best of a registry's list, and where it is.
pub async fn choose(
    place: &ArchiveLocation,
    which: &VersionFilter,
) -> Result<(ArchiveLocation, Artifact)> {
    let place = place.list();
    let registry = match &place {
        ArchiveLocation::File(path) => {
            let path = path.clone();
            let read = pillion_catalogue::work(move |_| crate::registry::read_file(&path)).await;
            read.map_err(|error| Error::Input {
                what: error.to_string(),
                hint: "try again".to_owned(),
            })??
        }
        ArchiveLocation::Url(url) => {
            let text = small(&client(url).await?, url, registry::MAX_SIZE).await?;
            let text = text.ok_or_else(|| refused_by_host(url, StatusCode::NOT_FOUND))?;
            crate::registry::parse(text.as_bytes(), url.path())?
        }
    };
    let chosen = crate::registry::fitting(registry, which)?;
    let chosen_place = place.beside(&chosen)?;
    Ok((chosen_place, chosen))
}

/// An archive that is here.
#[derive(Debug)]
pub struct Fetched {
    /// It, and what lies beside it.
    pub source: ArchiveFile,
    /// Nobody else downloads it from there as long as this is held.
    download: Option<Held>,
}

impl Fetched {
    /// Forget the download: it is installed or refused by now.
    pub fn done(self) {
        if let Some(held) = self.download {
            held.forget();
        }
    }
}

/// Bring an archive here, with what lies beside it and what a list says of it. A file is where it
/// is already; what nobody signed who is trusted is refused before it comes from elsewhere.
pub async fn fetch(
    place: &ArchiveLocation,
    listed: Option<Artifact>,
    store: &BundleStore,
    trust: &TrustPolicy,
    limit: WaitLimit,
    progress: &dyn ProgressListener,
) -> Result<Fetched> {
    let url = match place {
        ArchiveLocation::File(path) => {
            let path = path.clone();
            let read = pillion_catalogue::work(move |_| ArchiveFile::beside(&path)).await;
            let read = read.map_err(|error| Error::Input {
                what: error.to_string(),
                hint: "try again".to_owned(),
            })?;
            let mut source = read?;
            if let Some(listed) = listed {
                source.checksum = Some(listed.sha256);
                source.signature = source.signature.take().or(listed.signature);
            }
            return Ok(Fetched {
                source,
                download: None,
            });
        }
        ArchiveLocation::Url(url) => url,
    };
    let client = client(url).await?;
    let name = url.path_segments().and_then(|mut parts| parts.next_back());
    let name = name.filter(|name| !name.is_empty()).unwrap_or("archive");
    let checksum = match small(&client, &beside(url, ".sha256"), signature::MAX_SIZE).await? {
        Some(text) => Some(parse_checksum(&text).map_err(Error::refused(name))?),
        None => None,
    };
    let signature = small(
        &client,
        &beside(url, signature::ENDING),
        signature::MAX_SIZE,
    )
    .await?;
    let (checksum, signature) = match listed {
        Some(listed) => (Some(listed.sha256), signature.or(listed.signature)),
        None => (checksum, signature),
    };
    if let Err(refusal) = trust.expects(signature.as_deref()) {
        // That it is not there at all says more.
        return match client.get(url.clone()).send().await {
            Ok(answer) if is_final(answer.status()) => Err(refused_by_host(url, answer.status())),
            _ => Err(Error::refused(name)(refusal)),
        };
    }
    let held = Held::take(url.as_str(), name, &store.downloads(), limit, progress).await?;
    progress.step(&format!("downloading {name}"));
    download(&client, url, &held.path, progress).await?;
    let source = ArchiveFile {
        path: held.path.clone(),
        name: name.to_owned(),
        signature,
        checksum,
    };
    Ok(Fetched {
        source,
        download: Some(held),
    })
}

async fn client(url: &Url) -> Result<Client> {
    let is_local = url.host_str().is_some_and(|host| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost"
            || host
                .parse()
                .is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
    });
    let is_encrypted = url.scheme() == "https";
    // The system's certificates are many.
    let made = pillion_catalogue::work(move |_| {
        // An error says that there is a provider already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = || {
            let builder = Client::builder()
                .user_agent(concat!("pillion/", env!("CARGO_PKG_VERSION")))
                .redirect(redirects())
                .referer(false)
                .connect_timeout(CONNECT)
                .read_timeout(SILENCE);
            match is_local {
                true => builder.no_proxy(),
                false => builder,
            }
        };
        match builder().build() {
            // A machine without certificates can still ask without encryption.
            Err(_) if !is_encrypted => builder().tls_certs_only([]).build(),
            made => made,
        }
    });
    let made = made.await.map_err(|error| failed(url, &error))?;
    made.map_err(|error| failed(url, &told(&error)))
}

/// Redirects are followed, but for those that give up encryption.
fn redirects() -> Policy {
    Policy::custom(|attempt| {
        let before = attempt.previous().last();
        let was_encrypted = before.is_some_and(|url| url.scheme() == "https");
        match was_encrypted && attempt.url().scheme() != "https" {
            true => attempt.error("it gives up encryption"),
            false => Policy::limited(REDIRECTS).redirect(attempt),
        }
    })
}

/// A small file, if there is one.
async fn small(client: &Client, url: &Url, most: u64) -> Result<Option<String>> {
    let mut last = String::new();
    for attempt in 0..ATTEMPTS {
        pause(attempt).await;
        match client.get(url.clone()).send().await {
            Ok(answer) if answer.status() == StatusCode::NOT_FOUND => return Ok(None),
            Ok(answer) if answer.status().is_success() => match bounded(answer, most).await {
                Ok(bytes) => return Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
                Err(why) => last = why,
            },
            Ok(answer) if is_final(answer.status()) => {
                return Err(refused_by_host(url, answer.status()));
            }
            Ok(answer) => last = answer.status().to_string(),
            Err(error) if is_untrusted(&error) => return Err(failed(url, &told(&error))),
            Err(error) => last = told(&error),
        }
    }
    Err(failed(url, &last))
}

async fn bounded(mut answer: Response, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| told(&error))? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() as u64 > most {
            return Err(format!("it is larger than {most} bytes"));
        }
    }
    Ok(bytes)
}

/// How an attempt ended.
enum Attempt {
    Done,
    /// Trying again may help.
    Again(String),
    /// It will not.
    Never(Error),
}

async fn download(
    client: &Client,
    url: &Url,
    path: &Path,
    progress: &dyn ProgressListener,
) -> Result<()> {
    let mut last = String::new();
    let mut attempt = 0;
    let mut had = 0;
    while attempt < ATTEMPTS {
        pause(attempt).await;
        match once(client, url, path, progress).await {
            Attempt::Done => return Ok(()),
            Attempt::Never(error) => return Err(error),
            Attempt::Again(why) => last = why,
        }
        let has = path.metadata().map_or(0, |meta| meta.len());
        // Whoever gets on starts anew to count.
        attempt = if has > had { 1 } else { attempt + 1 };
        had = had.max(has);
    }
    Err(failed(url, &last))
}

async fn once(client: &Client, url: &Url, path: &Path, progress: &dyn ProgressListener) -> Attempt {
    let limit = BundleLimits::default().packed;
    let have = path.metadata().map_or(0, |meta| meta.len());
    let tag = std::fs::read_to_string(tag_of(path)).ok();
    let tag = tag.and_then(|tag| HeaderValue::from_str(&tag).ok());
    let mut request = client.get(url.clone());
    let tag = tag.filter(|_| have > 0);
    if let Some(tag) = &tag {
        request = request
            .header(RANGE, format!("bytes={have}-"))
            .header(IF_RANGE, tag);
    }
    let mut answer = match request.send().await {
        Ok(answer) => answer,
        Err(error) if is_untrusted(&error) => return Attempt::Never(failed(url, &told(&error))),
        Err(error) => return Attempt::Again(told(&error)),
    };
    let start = match answer.status() {
        StatusCode::PARTIAL_CONTENT => match first_byte(&answer) {
            // Not every host knows the condition.
            Some(_) if tag_in(&answer).is_some_and(|now| Some(now) != tag.as_ref()) => {
                return restart(path, "the file at the host has changed");
            }
            Some(first) if first == have => have,
            _ => return restart(path, "the host gave another part than was asked for"),
        },
        // All of it is here already, or it is another file by now.
        StatusCode::RANGE_NOT_SATISFIABLE => match total(&answer) {
            Some(total) if total == have => return Attempt::Done,
            _ => return restart(path, "the file at the host has changed"),
        },
        status if status.is_success() => 0,
        status if is_final(status) => return Attempt::Never(refused_by_host(url, status)),
        status => return Attempt::Again(status.to_string()),
    };
    // A host may give less at once than was asked for; then the rest is asked for again.
    let total = match answer.status() {
        StatusCode::PARTIAL_CONTENT => total(&answer),
        _ => answer.content_length(),
    };
    if total.is_some_and(|total| total > limit) {
        return Attempt::Never(too_large(url, limit));
    }
    let written = async {
        remember_tag(path, &answer)?;
        let mut options = tokio::fs::File::options();
        match start {
            0 => options.create(true).write(true).truncate(true),
            _ => options.append(true),
        };
        let mut file = options.open(path).await?;
        let mut done = start;
        let outcome = loop {
            match answer.chunk().await {
                Ok(Some(chunk)) => {
                    done += chunk.len() as u64;
                    if done > limit {
                        break Attempt::Never(too_large(url, limit));
                    }
                    file.write_all(&chunk).await?;
                    progress.bytes(done, total);
                }
                Ok(None) if total.is_some_and(|total| done < total) => {
                    break Attempt::Again("the connection ended too early".to_owned());
                }
                Ok(None) => break Attempt::Done,
                Err(error) => break Attempt::Again(told(&error)),
            }
        };
        file.flush().await?;
        Ok::<_, io::Error>(outcome)
    };
    match written.await {
        Ok(outcome) => outcome,
        Err(error) => Attempt::Never(Error::io("write", path)(error)),
    }
}

/// What says later that the file at the host is still the same.
fn tag_in(answer: &Response) -> Option<&HeaderValue> {
    let headers = answer.headers();
    // A weak tag does not promise the same bytes.
    let tag = headers
        .get(ETAG)
        .filter(|tag| !tag.as_bytes().starts_with(b"W/"));
    tag.or_else(|| headers.get(LAST_MODIFIED))
}

fn remember_tag(path: &Path, answer: &Response) -> io::Result<()> {
    match tag_in(answer) {
        Some(tag) => std::fs::write(tag_of(path), tag.as_bytes()),
        None => match std::fs::remove_file(tag_of(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    }
}

fn restart(path: &Path, why: &str) -> Attempt {
    match std::fs::remove_file(path) {
        Ok(()) => Attempt::Again(why.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Attempt::Again(why.to_owned()),
        Err(error) => Attempt::Never(Error::io("remove", path)(error)),
    }
}

/// The first byte of a part: `bytes 5-9/10`.
fn first_byte(answer: &Response) -> Option<u64> {
    let range = answer.headers().get(CONTENT_RANGE)?.to_str().ok()?;
    let (first, _) = range.strip_prefix("bytes ")?.split_once('-')?;
    first.parse().ok()
}

/// The size of the whole: `bytes */10`.
fn total(answer: &Response) -> Option<u64> {
    let range = answer.headers().get(CONTENT_RANGE)?.to_str().ok()?;
    range.rsplit_once('/')?.1.parse().ok()
}

/// Whether asking again will not help.
fn is_final(status: StatusCode) -> bool {
    status.is_client_error()
        && status != StatusCode::TOO_MANY_REQUESTS
        && status != StatusCode::REQUEST_TIMEOUT
}

async fn pause(attempt: u32) {
    if attempt > 0 {
        tokio::time::sleep(PAUSE * 2_u32.pow(attempt - 1)).await;
    }
}

/// The address of what lies beside an archive.
fn beside(url: &Url, ending: &str) -> Url {
    let mut url = url.clone();
    let path = format!("{}{ending}", url.path());
    url.set_path(&path);
    url
}

fn too_large(url: &Url, limit: u64) -> Error {
    Error::refused(url.path())(pillion_bundle::Error::TooLarge {
        what: "the archive".to_owned(),
        limit,
    })
}

/// The host has said that it does not have it, or does not give it.
fn refused_by_host(url: &Url, status: StatusCode) -> Error {
    match failed(url, &status) {
        Error::Download { url, why, .. } => Error::Download {
            url,
            why,
            is_final: true,
        },
        other => other,
    }
}

fn failed(url: &Url, why: &dyn std::fmt::Display) -> Error {
    let mut shown = url.clone();
    let _ = shown.set_password(None);
    let _ = shown.set_username("");
    // What is behind the path is often a token.
    shown.set_query(None);
    Error::Download {
        url: shown.to_string(),
        why: why.to_string(),
        is_final: false,
    }
}

/// Whether somebody answers there whom this machine does not know.
fn is_untrusted(error: &reqwest::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(one) = cause {
        if let Some(rustls::Error::InvalidCertificate(_)) = one.downcast_ref() {
            return true;
        }
        // The source of an error of the system is that of what is in it.
        let inside = one.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = match inside {
            Some(inside) => Some(inside),
            None => one.source(),
        };
    }
    false
}

/// What went wrong, without the address.
fn told(error: &reqwest::Error) -> String {
    match error {
        error if is_untrusted(error) => {
            "its certificate is none that this machine trusts".to_owned()
        }
        error if error.is_timeout() => "it did not answer in time".to_owned(),
        error if error.is_connect() => "there is no connection to it".to_owned(),
        error if error.is_redirect() => {
            "it leads from one address to the next, or to one without encryption".to_owned()
        }
        _ => "the connection broke".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_path_or_an_address() {
        let here = Path::new("/here");
        let place = |text: &str| ArchiveLocation::parse(text, here).unwrap();
        assert_eq!(
            place("a.tar.zst"),
            ArchiveLocation::File("/here/a.tar.zst".into())
        );
        assert_eq!(
            place("/a.tar.zst"),
            ArchiveLocation::File("/a.tar.zst".into())
        );
        assert_eq!(
            place("file:///b%20c.tar.gz"),
            ArchiveLocation::File("/b c.tar.gz".into())
        );
        let ArchiveLocation::Url(url) = place("https://user:secret@host/x/a.tar.zst?token=t")
        else {
            panic!("an address");
        };
        assert_eq!(beside(&url, ".sha256").path(), "/x/a.tar.zst.sha256");
        let told = failed(&url, &"no").to_string();
        assert!(
            !told.contains("secret") && !told.contains("token=t"),
            "{told}"
        );
        assert!(ArchiveLocation::parse("http://", here).is_err());
    }
}

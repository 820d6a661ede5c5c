//! Which agents work where: what a service on the network says about it.
//!
//! Only plain HTTP is spoken: such a service runs on the same machine.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, HOST};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// How long all of it may take.
const MODEL_TIMEOUT: Duration = Duration::from_secs(5);
/// A longer answer is not read.
const MAX_BYTES: usize = 4 << 20;
/// Projects whose reservations are asked for.
const MAX_PROJECTS: usize = 64;
/// Agents that are told of.
const MAX_AGENTS: usize = 1_000;

/// What a service says about agents.
#[derive(Debug, Default)]
pub struct Known {
    /// The agents as the service describes them, each with its reservations.
    pub agents: Vec<(Value, Vec<Value>)>,
    /// Whether the service answered at all.
    pub is_available: bool,
    /// What went wrong.
    pub error: Option<String>,
}

/// Ask the service at an address. What goes wrong is a part of the answer.
pub async fn ask(url: &str) -> Known {
    let mut known = Known::default();
    let seconds = MODEL_TIMEOUT.as_secs();
    match tokio::time::timeout(MODEL_TIMEOUT, fill(url, &mut known)).await {
        Ok(Ok(())) => {}
        Ok(Err(why)) => known.error = Some(why),
        Err(_) => known.error = Some(format!("`{url}` did not answer within {seconds} s")),
    }
    known
}

async fn fill(url: &str, known: &mut Known) -> Result<(), String> {
    let service = Service::at(url)?;
    let agents = service.list("/api/agents", "agents").await?;
    known.is_available = true;
    known.agents = agents
        .into_iter()
        .map(|agent| (agent, Vec::new()))
        .collect();
    known.agents.truncate(MAX_AGENTS);
    let projects = known.agents.iter().map(|(agent, _)| text(agent, "project"));
    let projects: BTreeSet<String> = projects.filter(|name| !name.is_empty()).collect();
    let mut held: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for project in projects.iter().take(MAX_PROJECTS) {
        let path = format!("/api/reservations?project={}", escaped(project));
        let all = service.list(&path, "reservations").await?;
        for reservation in all.into_iter().filter(is_active) {
            let agent = text(&reservation, "agent_id");
            held.entry(agent).or_default().push(reservation);
        }
    }
    for (agent, reservations) in &mut known.agents {
        *reservations = held.remove(&id(agent)).unwrap_or_default();
    }
    Ok(())
}

/// Whether a reservation holds still: it is not given back, and its time is not over.
fn is_active(reservation: &Value) -> bool {
    let member = |name| reservation.get(name).filter(|value| !value.is_null());
    let says_no = ["is_active", "active"]
        .into_iter()
        .any(|name| member(name) == Some(&Value::Bool(false)));
    let is_over = member("expires_at")
        .and_then(Value::as_str)
        .and_then(|text| text.parse::<jiff::Timestamp>().ok())
        .is_some_and(|end| end < jiff::Timestamp::now());
    !says_no && member("released_at").is_none() && !is_over
}

/// The id of an agent.
pub fn id(agent: &Value) -> String {
    let id = text(agent, "agent_id");
    if id.is_empty() { text(agent, "id") } else { id }
}

/// A member that is text, or is empty.
pub fn text(value: &Value, name: &str) -> String {
    let text = value.get(name).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// Where a service is.
struct Service<'a> {
    url: &'a str,
    host: &'a str,
    /// What all of its paths begin with.
    base: &'a str,
}

impl<'a> Service<'a> {
    fn at(url: &'a str) -> Result<Self, String> {
        let rest = url.strip_prefix("http://").ok_or_else(|| {
            format!("`{url}` is no address that can be asked: it must begin with `http://`")
        })?;
        let (host, base) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if host.is_empty() || host.contains('@') {
            return Err(format!("`{url}` names no host"));
        }
        Ok(Self {
            url,
            host,
            base: base.trim_end_matches('/'),
        })
    }

    /// The list that a path gives, bare or under a name.
    async fn list(&self, path: &str, name: &str) -> Result<Vec<Value>, String> {
        let body = self.get(path).await?;
        let value: Value = serde_json::from_slice(&body)
            .map_err(|error| format!("`{}{path}` answered no JSON: {error}", self.url))?;
        match value {
            Value::Array(all) => Ok(all),
            Value::Object(mut members) => match members.remove(name) {
                Some(Value::Array(all)) => Ok(all),
                Some(Value::Null) => Ok(Vec::new()),
                _ => Err(format!("`{}{path}` answered no list `{name}`", self.url)),
            },
            _ => Err(format!("`{}{path}` answered no list", self.url)),
        }
    }

    async fn get(&self, path: &str) -> Result<Bytes, String> {
        let failed = |why: &dyn std::fmt::Display| format!("`{}` cannot be asked: {why}", self.url);
        let address = match self.host.rsplit_once(':') {
            Some((_, port)) if port.parse::<u16>().is_ok() => self.host.to_owned(),
            _ => format!("{}:80", self.host),
        };
        let stream = TcpStream::connect(address).await.map_err(|e| failed(&e))?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|e| failed(&e))?;
        let request = Request::get(format!("{}{path}", self.base))
            .header(HOST, self.host)
            .header(ACCEPT, "application/json")
            .body(Empty::<Bytes>::new())
            .map_err(|e| failed(&e))?;
        let answer = async {
            let response = sender.send_request(request).await.map_err(|e| failed(&e))?;
            let status = response.status();
            if !status.is_success() {
                return Err(format!("`{}{path}` answered {status}", self.url));
            }
            let body = Limited::new(response.into_body(), MAX_BYTES)
                .collect()
                .await;
            Ok(body.map_err(|e| failed(&e))?.to_bytes())
        };
        // The connection does its work as long as somebody waits for the answer.
        tokio::pin!(answer, connection);
        let mut is_open = true;
        loop {
            tokio::select! {
                answer = &mut answer => return answer,
                _ = &mut connection, if is_open => is_open = false,
            }
        }
    }
}

/// A text as it is written in a query.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let of = |url: &'static str| Service::at(url).map(|s| (s.host, s.base));
        assert_eq!(of("http://localhost:7338"), Ok(("localhost:7338", "")));
        assert_eq!(of("http://[::1]:1/x/y/"), Ok(("[::1]:1", "/x/y")));
        assert!(of("https://localhost").unwrap_err().contains("http://"));
        assert!(of("localhost:7338").is_err() && of("http:///x").is_err());
        assert_eq!(escaped("a b/ü&"), "a%20b%2F%C3%BC%26");
    }
}

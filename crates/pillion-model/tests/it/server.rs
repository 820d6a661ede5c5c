//! A server that plays the steps it is given, one list for each connection.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pillion_model::{
    ChatMessage, Completion, Error, Model, ModelLimits, ModelSettings, Prompt, Provider,
};
use pillion_process::Secret;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

pub(crate) const KEY: &str = "sk-test-0123456789-secret";
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// What the server does once it read a request.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Send these bytes.
    Send(Vec<u8>),
    /// Wait until the client closes the connection, and tell `gone`.
    WaitForEnd,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Value,
}

pub(crate) struct Server {
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
    /// Told when a client left in [`Step::WaitForEnd`].
    pub(crate) gone: mpsc::UnboundedReceiver<()>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    /// Answers the nth connection by the nth list; later ones by the last.
    pub(crate) async fn start(plays: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (left, gone) = mpsc::unbounded_channel();
        let seen = requests.clone();
        let task = tokio::spawn(async move {
            let mut count = 0;
            while let Ok((stream, _)) = listener.accept().await {
                let play = plays[count.min(plays.len() - 1)].clone();
                count += 1;
                tokio::spawn(serve(stream, play, seen.clone(), left.clone()));
            }
        });
        Self {
            port,
            requests,
            gone,
            task,
        }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn settings(&self, provider: Provider) -> ModelSettings {
        ModelSettings {
            provider,
            model: "test-model".to_owned(),
            base_url: Some(format!("http://127.0.0.1:{}", self.port)),
            key: Some(Secret::new(KEY.to_owned())),
            limits: ModelLimits {
                backoff: Duration::from_millis(10),
                ..ModelLimits::default()
            },
            ..ModelSettings::default()
        }
    }

    pub(crate) fn model(&self, provider: Provider) -> Model {
        Model::new(self.settings(provider)).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    play: Vec<Step>,
    seen: Arc<Mutex<Vec<Request>>>,
    left: mpsc::UnboundedSender<()>,
) {
    let Some(request) = read(&mut stream).await else {
        return;
    };
    seen.lock().unwrap().push(request);
    for step in play {
        match step {
            Step::Send(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
                let _ = stream.flush().await;
                tokio::task::yield_now().await;
            }
            Step::WaitForEnd => {
                let mut rest = [0; 64];
                while matches!(stream.read(&mut rest).await, Ok(count) if count > 0) {}
                let _ = left.send(());
                return;
            }
        }
    }
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream
            .read(&mut buffer)
            .await
            .ok()
            .filter(|count| *count > 0)?;
        bytes.extend_from_slice(&buffer[..count]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let lower = head.to_ascii_lowercase();
        let length = lower
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.unwrap().trim().parse().unwrap();
        if bytes.len() >= end + 4 + length {
            let body = serde_json::from_slice(&bytes[end + 4..end + 4 + length]).unwrap();
            return Some(Request { head, body });
        }
    }
}

pub(crate) fn send(text: &str) -> Step {
    Step::Send(text.as_bytes().to_vec())
}

/// The head of a streamed answer whose end is the connection's.
pub(crate) fn stream_head() -> Step {
    send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
}

/// A whole answer with this status and these further headers.
pub(crate) fn status(status: u16, headers: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![send(&format!(
        "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))]
}

pub(crate) fn openai_text(text: &str) -> String {
    let event = serde_json::json!({"choices": [{"delta": {"content": text}}]});
    format!("data: {event}\n\n")
}

pub(crate) const OPENAI_END: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
     data: {\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":4}}\n\n\
     data: [DONE]\n\n";

/// A good answer of OpenAI's.
pub(crate) fn good(text: &str) -> Vec<Step> {
    vec![stream_head(), send(&openai_text(text)), send(OPENAI_END)]
}

pub(crate) fn prompt() -> Prompt {
    Prompt {
        agent: "CA".to_owned(),
        system: "be kind".to_owned(),
        messages: vec![ChatMessage::User("hello".to_owned())],
        ..Prompt::default()
    }
}

/// Ask, with a deadline that only a hanging test reaches.
pub(crate) async fn ask(
    model: &Model,
    prompt: &Prompt,
) -> (Vec<String>, Result<Completion, Error>) {
    let mut heard = Vec::new();
    let mut hear = |text: &str| heard.push(text.to_owned());
    let asked = tokio::time::timeout(DEADLINE, model.ask(prompt, &mut hear));
    let result = asked.await.expect("the model hangs");
    (heard, result)
}

//! A server on a real socket whose every move the test makes by hand.
#![expect(clippy::unwrap_used, reason = "test support")]

use std::time::Duration;

use bytes::BytesMut;
use futures::StreamExt;
use pillion_client::{Client, Endpoint, Options};
use pillion_protocol::frame::{ContentLength, write_content_length};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixListener;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::codec::FramedRead;

/// So long that only a hanging test reaches it.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) struct Server {
    pub(crate) listener: UnixListener,
    pub(crate) endpoint: Endpoint,
    _temp: TempDir,
}

impl Server {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let socket = temp.path().join("daemon.sock");
        Self {
            listener: UnixListener::bind(&socket).unwrap(),
            endpoint: Endpoint { socket },
            _temp: temp,
        }
    }

    /// A server, a client, and the server's side of its connection.
    pub(crate) async fn with_client() -> (Self, Client, Peer) {
        let server = Self::new();
        let (client, peer) = tokio::join!(Client::connect(&server.endpoint), server.accept());
        (server, client.unwrap(), peer)
    }

    pub(crate) fn options(&self) -> Options {
        Options::at(self.endpoint.clone()).start(false)
    }

    /// Take a connection for calls, which begins with a ping.
    pub(crate) async fn accept(&self) -> Peer {
        let mut peer = self.accept_stream().await;
        let ping = peer.request().await;
        assert_eq!(ping["method"], "system.ping");
        peer.answer(&ping, json!({"pong": true})).await;
        peer
    }

    /// Take a connection for a stream.
    pub(crate) async fn accept_stream(&self) -> Peer {
        let (socket, _) = tokio::time::timeout(LONG, self.listener.accept())
            .await
            .unwrap()
            .unwrap();
        let (read, write) = socket.into_split();
        Peer {
            frames: FramedRead::new(read, ContentLength::default()),
            write,
        }
    }
}

/// The server's side of one connection.
pub(crate) struct Peer {
    frames: FramedRead<OwnedReadHalf, ContentLength>,
    write: OwnedWriteHalf,
}

impl Peer {
    /// The next message of the client, or nothing when it hung up.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let frame = tokio::time::timeout(LONG, self.frames.next())
            .await
            .unwrap()?
            .unwrap();
        Some(serde_json::from_slice(&frame).unwrap())
    }

    pub(crate) async fn request(&mut self) -> Value {
        self.next().await.unwrap()
    }

    pub(crate) async fn answer(&mut self, request: &Value, result: Value) {
        let answer = json!({"jsonrpc": "2.0", "result": result, "id": request["id"]});
        self.send(&answer).await;
    }

    pub(crate) async fn progress(&mut self, request: &Value, mut news: Value) {
        news["id"] = request["id"].clone();
        self.send(&json!({"jsonrpc": "2.0", "method": "$/progress", "params": news}))
            .await;
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        let mut frame = BytesMut::new();
        write_content_length(message.to_string().as_bytes(), &mut frame);
        self.raw(&frame).await;
    }

    pub(crate) async fn raw(&mut self, bytes: &[u8]) {
        self.write.write_all(bytes).await.unwrap();
    }

    /// Expect the cancel of this request.
    pub(crate) async fn cancel_of(&mut self, request: &Value) {
        let message = self.request().await;
        assert_eq!(message["method"], "$/cancelRequest");
        assert_eq!(message["params"]["id"], request["id"]);
        assert!(message.get("id").is_none());
    }
}

//! A client of Jupyter's in conversation with a kernel, over whatever carries frames.
//!
//! Everything that the kernel publishes goes to every client, and replies to who asked. A kernel
//! that dies is started again and its clients are told `restarting`; one that was shut down, or
//! dies again and again, is `dead`, and the conversation ends. A client that reads slowly loses
//! outputs, and is told so; one that does not read at all loses the conversation
//! ([`pillion_kernel::Listening`]). What comes for a client that went away is kept for a while.

use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::{Code, Duplex, DuplexEnds, Error, Frame, Result};
use pillion_kernel::{
    Channel, Heard, KernelClient, KernelLife, Listening, News, ReadyKernel, Silence,
};
use pillion_protocol::jupyter::{Header, VERSION};
use pillion_protocol::websocket::{self, ClientMessage, Form, Framed, V1};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::mpsc;

use crate::NotebookService;
use crate::gateway::{Served, written};

/// How often it is looked whether a kernel that nobody listens to is still at work.
const POLL_EVERY: Duration = Duration::from_secs(1);

/// How a conversation with one process of a kernel ended.
enum End {
    /// The client is gone.
    Left,
    /// The client says what is no message.
    Wrong(String),
    /// The client reads too slowly.
    TooSlow,
    /// The process is gone.
    KernelGone,
    /// Somebody shut the kernel down.
    ShutDown,
}

/// Be the client's way to a kernel until one of both is gone. `name` is the client's own.
pub(crate) async fn converse(
    service: &NotebookService,
    served: &Arc<Served>,
    duplex: &Duplex,
    name: Option<String>,
) -> Result<()> {
    let _inside = served.enter()?;
    let form = match duplex.protocol() {
        Some(V1) => Form::V1,
        _ => Form::Json,
    };
    let nobody = || Error::new(Code::Cancelled, "the caller went away");
    let DuplexEnds {
        mut incoming,
        outgoing,
    } = duplex.open().ok_or_else(nobody)?;
    let mut to_client = ToClient {
        form,
        outgoing,
        about: None,
    };
    loop {
        let ready = tokio::select! {
            biased;
            () = served.gone.cancelled() => return to_client.dead().await,
            ready = service.ready_again(served) => ready,
        };
        let ready = match ready {
            Ok(ready) => ready,
            Err(error) => {
                to_client.dead().await?;
                return Err(error);
            }
        };
        let client = &ready.client;
        let kept = name.as_ref().and_then(|name| served.kept_for(name, client));
        let listening = kept.unwrap_or_else(|| client.listen());
        let mut from_client = FromClient {
            form,
            served,
            asked_to_end: false,
        };
        let end = tokio::select! {
            end = from_client.pass_on(&mut incoming, client, &listening) => end,
            end = to_client.pass_on(served, &listening) => end,
            () = served.gone.cancelled() => End::ShutDown,
        };
        match end {
            End::Left => {
                leave(served, name, ready, listening);
                return Ok(());
            }
            End::Wrong(what) => return Err(Error::new(Code::InvalidRequest, what)),
            End::TooSlow => {
                let what = "the kernel says more than you read";
                return Err(Error::new(Code::Busy, what).hint("connect again"));
            }
            End::ShutDown => return to_client.dead().await,
            End::KernelGone => {
                drop((ready, listening));
                if !comes_back(service, served, from_client.asked_to_end) {
                    return to_client.dead().await;
                }
                to_client.tell_state("restarting").await?;
            }
        }
    }
}

/// Whether a kernel whose process is gone is to be had again.
fn comes_back(service: &NotebookService, served: &Served, asked_to_end: bool) -> bool {
    if served.gone.is_cancelled() {
        return false;
    }
    if served.is_restarting() {
        return true;
    }
    let kernel = service.kernels().find(&served.session);
    match kernel.map(|kernel| kernel.life()) {
        Some(KernelLife::Starting | KernelLife::Idle | KernelLife::Busy) => true,
        Some(KernelLife::Dead) => !asked_to_end && served.died(),
        // It was shut down.
        Some(KernelLife::Absent) | None => false,
    }
}

/// A client went away: what comes is kept for it, and a kernel at work is not taken for idle.
fn leave(served: &Arc<Served>, name: Option<String>, ready: ReadyKernel, listening: Listening) {
    if let Some(name) = name {
        served.keep_for(name, Arc::clone(&ready.client), listening);
    }
    if ready.client.is_busy() {
        tokio::spawn(async move {
            while ready.client.is_busy() && !ready.client.is_over() {
                tokio::time::sleep(POLL_EVERY).await;
            }
        });
    }
}

/// What a client says.
struct FromClient<'a> {
    form: Form,
    served: &'a Served,
    /// It told the kernel to end.
    asked_to_end: bool,
}

impl FromClient<'_> {
    /// Pass on what it says for as long as it is there.
    async fn pass_on(
        &mut self,
        incoming: &mut mpsc::Receiver<Frame>,
        client: &KernelClient,
        listening: &Listening,
    ) -> End {
        while let Some(frame) = incoming.recv().await {
            let framed = match frame {
                Frame::Text(text) => Framed::Text(text),
                Frame::Binary(bytes) => Framed::Binary(bytes),
            };
            let said = match websocket::decode(self.form, &framed) {
                Ok(said) => said,
                Err(error) => return End::Wrong(format!("this is no message: {error}")),
            };
            if Channel::to_speak_on(&said.channel).is_none() {
                return End::Wrong(format!("nobody speaks on `{}`", said.channel));
            }
            self.served.touch();
            self.asked_to_end |= ends_kernel(&said);
            if let Err(error) = client.send_for(listening, &said).await {
                tracing::debug!(%error, "a kernel did not get a message");
                // That it is gone is heard on the other way.
                std::future::pending::<()>().await;
            }
        }
        End::Left
    }
}

/// Whether a message ends the kernel for good.
fn ends_kernel(said: &ClientMessage) -> bool {
    let content = || serde_json::from_str::<serde_json::Value>(said.texts[3].get());
    said.header.msg_type == "shutdown_request"
        && content().is_ok_and(|content| content["restart"] != true)
}

/// What a client hears.
struct ToClient {
    form: Form,
    outgoing: mpsc::Sender<Frame>,
    /// The header of what the last output belongs to.
    about: Option<Box<RawValue>>,
}

impl ToClient {
    /// Pass on what the kernel says for as long as it does.
    async fn pass_on(&mut self, served: &Served, listening: &Listening) -> End {
        loop {
            let sent = match listening.next().await {
                Ok(News::Heard(heard)) => {
                    served.touch();
                    self.heard(&heard).await
                }
                Ok(News::LeftOut(count)) => self.left_out(count).await,
                Err(Silence::Gone) => return End::KernelGone,
                Err(Silence::TooSlow) => return End::TooSlow,
            };
            if sent.is_err() {
                return End::Left;
            }
        }
    }

    async fn heard(&mut self, heard: &Heard) -> Result<()> {
        let message = &heard.message;
        let Some(content) = &message.content else {
            return Ok(());
        };
        if heard.channel == Channel::Iopub {
            self.about = Some(message.parent.clone());
        }
        let texts = [
            &*message.raw_header,
            &*message.parent,
            &*message.metadata,
            &**content,
        ];
        self.send(heard.channel, texts, &message.buffers).await
    }

    /// Say where outputs are missing that they are.
    async fn left_out(&mut self, count: u64) -> Result<()> {
        let text = format!(
            "\n[pillion: {count} outputs were left out, because they came faster than they were read]\n"
        );
        let content = json!({ "name": "stderr", "text": text });
        self.tell("stream", &content).await
    }

    /// Say what became of the kernel.
    async fn tell_state(&mut self, state: &str) -> Result<()> {
        self.about = None;
        self.tell("status", &json!({ "execution_state": state }))
            .await
    }

    /// Say that it will not come back by itself.
    async fn dead(&mut self) -> Result<()> {
        self.tell_state("dead").await
    }

    /// Say something of our own, as the kernel would.
    async fn tell(&mut self, kind: &str, content: &serde_json::Value) -> Result<()> {
        let header = Header {
            msg_id: pillion_kernel::new_id().map_err(Error::internal)?,
            session: "pillion".to_owned(),
            username: "pillion".to_owned(),
            date: written(jiff::Timestamp::now()),
            msg_type: kind.to_owned(),
            version: VERSION.to_owned(),
        };
        let raw = |value: &serde_json::Value| to_raw_value(value).map_err(Error::internal);
        let header = to_raw_value(&header).map_err(Error::internal)?;
        let nothing = raw(&json!({}))?;
        let content = raw(content)?;
        let about = self.about.clone().unwrap_or_else(|| nothing.clone());
        let texts = [&*header, &*about, &*nothing, &*content];
        self.send(Channel::Iopub, texts, &[]).await
    }

    async fn send(
        &self,
        channel: Channel,
        texts: [&RawValue; 4],
        buffers: &[bytes::Bytes],
    ) -> Result<()> {
        let framed = websocket::encode(self.form, channel.name(), texts, buffers);
        let frame = match framed {
            Ok(Framed::Text(text)) => Frame::Text(text),
            Ok(Framed::Binary(bytes)) => Frame::Binary(bytes),
            Err(error) => {
                tracing::debug!(%error, "a message of a kernel was left out");
                return Ok(());
            }
        };
        let gone = |_| Error::new(Code::Cancelled, "the caller went away");
        self.outgoing.send(frame).await.map_err(gone)
    }
}

//! The bridge's thread: a runtime on one thread, a client, and a task per request.

use std::time::Duration;

use pillion_protocol::{Code, Error};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Command, Response, ResponsePart};
use crate::client::Client;
use crate::options::Options;
use crate::pending::Outcome;
use crate::wire::WireEvent;

pub(super) struct Worker {
    pub(super) options: Options,
    pub(super) commands: mpsc::Receiver<Command>,
    pub(super) responses: mpsc::Sender<Response>,
    pub(super) stop: CancellationToken,
    /// How long saying goodbye may take.
    pub(super) limit: Duration,
}

impl Worker {
    /// Work until the bridge is dropped.
    pub(super) fn run(self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        match runtime {
            Ok(runtime) => runtime.block_on(self.serve()),
            Err(error) => self.refuse(&Error::internal(format!("no runtime: {error}"))),
        }
    }

    async fn serve(mut self) {
        let client = Client::lazy(self.options.clone());
        let mut tasks = JoinSet::new();
        loop {
            tokio::select! {
                () = self.stop.cancelled() => break,
                Some(_) = tasks.join_next() => {}
                command = self.commands.recv() => match command {
                    Some(command) => {
                        tasks.spawn(serve_one(client.clone(), command, self.responses.clone()));
                    }
                    None => break,
                }
            }
        }
        // Ending the tasks sends their cancels, and undoes a start that is not finished.
        tasks.shutdown().await;
        client.stop_started(self.limit * 3 / 4).await;
    }

    /// Nothing can work: answer everything with the reason.
    fn refuse(mut self, reason: &Error) {
        while let Some(command) = self.commands.blocking_recv() {
            let response = command.response(ResponsePart::Done(Err(reason.clone())));
            if self.stop.is_cancelled() || self.responses.blocking_send(response).is_err() {
                return;
            }
        }
    }
}

/// One request, from its place in the queue to its last response.
async fn serve_one(client: Client, command: Command, responses: mpsc::Sender<Response>) {
    let outcome = tokio::select! {
        // An outcome that is there beats a cancellation.
        biased;
        outcome = answer(&client, &command, &responses) => outcome,
        () = command.cancel.cancelled() => Err(Error::new(
            Code::Cancelled,
            format!("`{}` was cancelled", command.method),
        )),
    };
    // Room for this is waited for: if nobody polls, nothing is lost.
    let _ = responses
        .send(command.response(ResponsePart::Done(outcome)))
        .await;
}

async fn answer(client: &Client, command: &Command, responses: &mpsc::Sender<Response>) -> Outcome {
    let request = client.request(&command.method, &command.params);
    if !command.stream {
        return request.send().await;
    }
    let mut stream = request.stream().await?;
    while let Some(event) = stream.next().await {
        let part = match event {
            WireEvent::Item(item) => ResponsePart::Item(item),
            WireEvent::Progress(progress) => ResponsePart::Progress(progress),
        };
        let _ = responses.send(command.response(part)).await;
    }
    stream.finish().await
}

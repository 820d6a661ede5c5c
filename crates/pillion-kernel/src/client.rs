//! A client of one process of a kernel: what is asked, and who gets what comes back.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pillion_process::Secret;
use pillion_protocol::jupyter::{Header, JupyterMessage, Signer, VERSION};
use pillion_protocol::websocket::ClientMessage;
use pillion_protocol::zmtp::Socket;
use serde::Serialize;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::channel::{self, Receiver, Sender};
use crate::connection::SocketAddresses;
use crate::failures::Failures;
use crate::listening::{Listening, News, Queue};
use crate::received::{Channel, Heard};

/// Bytes that may wait for one who asked. What is over it is dropped, except for states, replies
/// and questions: who waits waits for them.
const MAX_WAITING: usize = 64 << 20;
/// Bytes that may wait at all: a kernel may say anything, without end.
const TOO_MUCH: usize = 2 * MAX_WAITING;
/// How long it may take until outputs are heard after the sockets are there.
const HEARING: Duration = Duration::from_secs(20);

/// Every so many times a kernel is asked on its shell socket instead of the one for control.
const CONTROL_TRIES: u64 = 4;

/// How far a cell is, as the kernel tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellProgress {
    /// It waits for its turn.
    Waiting,
    /// The kernel works on it.
    Running,
    /// It is replied to, or the kernel works on it no more.
    Ended,
}

/// A client of one process of a kernel. Dropping the last handle hangs up.
#[derive(Debug)]
pub struct KernelClient {
    shell: tokio::sync::Mutex<Sender>,
    control: tokio::sync::Mutex<Sender>,
    stdin: tokio::sync::Mutex<Sender>,
    /// A subscriber says nothing more, but must not hang up.
    _iopub: Sender,
    /// Our name among the kernel's clients.
    name: String,
    key: Arc<Secret>,
    next: AtomicU64,
    /// The subshell for questions while a cell runs, if the kernel has made one.
    pub(crate) beside: tokio::sync::OnceCell<Option<String>>,
    shared: Arc<Shared>,
    reading: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    asked: Mutex<HashMap<String, Waiting>>,
    /// Who hears everything, as long as they are there.
    everything: Mutex<Vec<Weak<Queue>>>,
    /// Our cells that have not ended, whether anybody waits for them or not.
    cells: Mutex<HashMap<String, CellProgress>>,
    /// The cell that it is at work on, whoever asked for it, as it said last.
    running: Mutex<Option<String>>,
    /// Which cells have failed, and whether one has run since.
    failures: Failures,
    /// When it said something last, whatever it was.
    heard: Mutex<Instant>,
    hung_up: watch::Sender<bool>,
    /// Where its sockets are, as long as it lives: longer, and nothing of its box could go.
    folder: Mutex<Option<OwnedFd>>,
    prefix: String,
}

#[derive(Debug)]
struct Waiting {
    to: mpsc::UnboundedSender<Heard>,
    bytes: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
}

/// What comes back for one request, in its order. Dropping it stops listening.
#[derive(Debug)]
pub struct ReplyStream {
    id: String,
    from: mpsc::UnboundedReceiver<Heard>,
    bytes: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
    shared: Arc<Shared>,
}

impl ReplyStream {
    /// The id of the request.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What comes next; `None` when the kernel is gone.
    pub async fn next(&mut self) -> Option<Heard> {
        let heard = self.from.recv().await?;
        self.bytes.fetch_sub(heard.size(), Ordering::Relaxed);
        Some(heard)
    }

    /// When the kernel said something last, to whomever: outputs come in one line, so ours may be
    /// behind those of others.
    pub fn heard_last(&self) -> Instant {
        *self.shared.heard()
    }

    /// Messages that were dropped because too much waited.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Wait for the reply itself.
    pub async fn reply(mut self) -> Option<Heard> {
        loop {
            let heard = self.next().await?;
            if matches!(heard.channel, Channel::Shell | Channel::Control) {
                return Some(heard);
            }
        }
    }
}

impl Drop for ReplyStream {
    fn drop(&mut self) {
        self.shared.asked().remove(&self.id);
    }
}

impl Shared {
    fn asked(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn heard(&self) -> MutexGuard<'_, Instant> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Give a message to whoever asked, and to who listens to everything.
    fn hand_on(&self, heard: &Heard) {
        *self.heard() = Instant::now();
        self.failures.note(heard);
        // Questions make it busy, too, for a moment; people mean cells.
        if heard.channel == Channel::Iopub
            && heard.kind() == "status"
            && heard.message.parent_type == "execute_request"
            && !heard.is_beside()
            && let Some(state) = heard.content()["execution_state"].as_str()
        {
            let id = heard.message.parent_id.clone().unwrap_or_default();
            match state {
                "busy" => self.begin_cell(&id),
                _ => self.end_cell(&id),
            }
            *self.running() = (state == "busy").then_some(id);
        }
        if heard.channel == Channel::Shell
            && let Some(id) = &heard.message.parent_id
        {
            self.end_cell(id);
        }
        if let Some(id) = &heard.message.parent_id
            && let Some(waiting) = self.asked().get(id)
        {
            let size = heard.size();
            let waits = waiting.bytes.fetch_add(size, Ordering::Relaxed) + size;
            if waits > TOO_MUCH || (waits > MAX_WAITING && !heard.is_needed()) {
                waiting.bytes.fetch_sub(size, Ordering::Relaxed);
                waiting.dropped.fetch_add(1, Ordering::Relaxed);
            } else if waiting.to.send(heard.clone()).is_err() {
                waiting.bytes.fetch_sub(size, Ordering::Relaxed);
            }
        }
        self.everything().retain(|listener| {
            let listener = listener.upgrade();
            if let Some(listener) = &listener {
                listener.offer(heard);
            }
            listener.is_some()
        });
    }

    fn cells(&self) -> MutexGuard<'_, HashMap<String, CellProgress>> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> MutexGuard<'_, Option<String>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin_cell(&self, id: &str) {
        if let Some(progress) = self.cells().get_mut(id) {
            *progress = CellProgress::Running;
        }
    }

    fn end_cell(&self, id: &str) {
        self.cells().remove(id);
    }

    fn folder(&self) -> MutexGuard<'_, Option<OwnedFd>> {
        self.folder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn everything(&self) -> MutexGuard<'_, Vec<Weak<Queue>>> {
        self.everything
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The kernel is gone: whoever waits hears it.
    fn end(&self) {
        self.hung_up.send_replace(true);
        drop(self.folder().take());
        self.asked().clear();
        let all = self.everything();
        all.iter().filter_map(Weak::upgrade).for_each(|q| q.end());
    }
}

impl KernelClient {
    /// Connect to the sockets `PREFIX-N` in `folder`.
    pub(crate) async fn connect(
        folder: OwnedFd,
        prefix: &str,
        key: &Arc<Secret>,
    ) -> io::Result<Self> {
        // Nobody else has this name.
        let name = Secret::random()?.expose().to_owned();
        let signer = Signer::new(key.expose().as_bytes());
        let open = |number: u8, socket| {
            let (path, name, signer) = (format!("{prefix}-{number}"), name.clone(), &signer);
            let folder = folder.as_fd();
            async move { channel::connect(folder, &path, socket, &name, signer).await }
        };
        // Shell and stdin are one client to the kernel: it asks who asked it.
        let (shell, iopub, stdin, control) = tokio::try_join!(
            open(1, Socket::Dealer),
            open(2, Socket::Sub),
            open(3, Socket::Dealer),
            open(4, Socket::Dealer),
        )?;
        let us = (name, Arc::clone(key), Some((folder, prefix.to_owned())));
        Self::over(us, shell, iopub, stdin, control).await
    }

    /// Connect to the sockets at these places.
    pub(crate) async fn attach(places: &SocketAddresses, key: &Arc<Secret>) -> io::Result<Self> {
        let name = Secret::random()?.expose().to_owned();
        let signer = Signer::new(key.expose().as_bytes());
        let open = |place, socket| channel::connect_to(place, socket, &name, &signer);
        let (shell, iopub, stdin, control) = tokio::try_join!(
            open(&places.shell, Socket::Dealer),
            open(&places.iopub, Socket::Sub),
            open(&places.stdin, Socket::Dealer),
            open(&places.control, Socket::Dealer),
        )?;
        let us = (name, Arc::clone(key), None);
        Self::over(us, shell, iopub, stdin, control).await
    }

    /// A client of these sockets, by its name, key, and where there are more of them.
    async fn over(
        (name, key, home): (String, Arc<Secret>, Option<(OwnedFd, String)>),
        shell: (Sender, Receiver),
        iopub: (Sender, Receiver),
        stdin: (Sender, Receiver),
        control: (Sender, Receiver),
    ) -> io::Result<Self> {
        let (folder, prefix) = home.unzip();
        let shared = Arc::new(Shared {
            asked: Mutex::default(),
            everything: Mutex::default(),
            cells: Mutex::default(),
            running: Mutex::default(),
            failures: Failures::default(),
            heard: Mutex::new(Instant::now()),
            hung_up: watch::Sender::new(false),
            folder: Mutex::new(folder),
            prefix: prefix.unwrap_or_default(),
        });
        let reading = [
            (Channel::Shell, shell.1),
            (Channel::Iopub, iopub.1),
            (Channel::Stdin, stdin.1),
            (Channel::Control, control.1),
        ]
        .map(|(channel, receiver)| tokio::spawn(read(channel, receiver, Arc::clone(&shared))));
        let client = Self {
            shell: tokio::sync::Mutex::new(shell.0),
            control: tokio::sync::Mutex::new(control.0),
            stdin: tokio::sync::Mutex::new(stdin.0),
            _iopub: iopub.0,
            name,
            key,
            next: AtomicU64::new(1),
            beside: tokio::sync::OnceCell::new(),
            shared,
            reading: reading.into(),
        };
        client.until_outputs_are_heard().await?;
        Ok(client)
    }

    /// A subscription takes effect some time after it was sent, and what was published before
    /// is lost: ask until something comes that way.
    async fn until_outputs_are_heard(&self) -> io::Result<()> {
        let everything = self.listen();
        let heard = async {
            let mut tries = 0;
            loop {
                tries += 1;
                // Some kernels publish nothing about what they are asked on their control socket.
                // The other one is asked seldom: what comes there waits behind cells.
                let channel = match tries % CONTROL_TRIES {
                    0 => Channel::Shell,
                    _ => Channel::Control,
                };
                let nothing = serde_json::json!({});
                let asked = self.ask(channel, "kernel_info_request", &nothing);
                let _answer = asked.await?;
                let again = tokio::time::sleep(Duration::from_millis(50));
                tokio::pin!(again);
                loop {
                    tokio::select! {
                        heard = everything.next() => match heard {
                            Ok(News::Heard(heard)) if heard.channel == Channel::Iopub => {
                                return Ok(());
                            }
                            Ok(_) => {}
                            Err(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
                        },
                        () = &mut again => break,
                    }
                }
            }
        };
        tokio::time::timeout(HEARING, heard).await?
    }

    /// Send a request; what it leads to comes by the answer.
    pub async fn ask(
        &self,
        channel: Channel,
        kind: &str,
        content: &impl Serialize,
    ) -> io::Result<ReplyStream> {
        let id = self.new_id();
        let header = serde_json::to_value(self.header(&id, kind))?;
        if kind == "execute_request" {
            self.shared
                .cells()
                .insert(id.clone(), CellProgress::Waiting);
        }
        self.ask_as(channel, id, &header, content).await
    }

    /// Send a request to a subshell of the kernel.
    pub(crate) async fn ask_beside(
        &self,
        subshell: &str,
        kind: &str,
        content: &impl Serialize,
    ) -> io::Result<ReplyStream> {
        let id = self.new_id();
        let mut header = serde_json::to_value(self.header(&id, kind))?;
        header["subshell_id"] = subshell.into();
        self.ask_as(Channel::Shell, id, &header, content).await
    }

    async fn ask_as(
        &self,
        channel: Channel,
        id: String,
        header: &Value,
        content: &impl Serialize,
    ) -> io::Result<ReplyStream> {
        let (to, from) = mpsc::unbounded_channel();
        let (bytes, dropped) = (Arc::<AtomicUsize>::default(), Arc::<AtomicU64>::default());
        let waiting = Waiting {
            to,
            bytes: Arc::clone(&bytes),
            dropped: Arc::clone(&dropped),
        };
        self.shared.asked().insert(id.clone(), waiting);
        let answer = ReplyStream {
            id,
            from,
            bytes,
            dropped,
            shared: Arc::clone(&self.shared),
        };
        let content = serde_json::to_string(content)?;
        let header = header.to_string();
        self.send(channel, [&header, "{}", "{}", &content], &[])
            .await?;
        Ok(answer)
    }

    /// Answer a question of the kernel's.
    pub async fn answer(&self, question: &JupyterMessage, value: &str) -> io::Result<()> {
        let header = serde_json::to_string(&self.header(&self.new_id(), "input_reply"))?;
        let content = serde_json::json!({ "value": value }).to_string();
        let parent = question.raw_header.get();
        self.send(Channel::Stdin, [&header, parent, "{}", &content], &[])
            .await
    }

    /// Send a message as it is: header, parent header, metadata and content.
    pub async fn send(
        &self,
        channel: Channel,
        texts: [&str; 4],
        buffers: &[Bytes],
    ) -> io::Result<()> {
        let sender = match channel {
            Channel::Shell => &self.shell,
            Channel::Control => &self.control,
            Channel::Stdin => &self.stdin,
            Channel::Iopub => return Err(io::Error::other("nobody speaks on iopub")),
        };
        sender.lock().await.send(texts, buffers).await
    }

    /// What messages are signed with.
    pub(crate) fn key(&self) -> &Secret {
        &self.key
    }

    /// Hear everything from now on.
    pub fn listen(&self) -> Listening {
        let listening = Listening(Arc::default());
        self.shared.everything().push(Arc::downgrade(&listening.0));
        // It may have ended before we were heard of.
        if self.is_over() {
            listening.0.end();
        }
        listening
    }

    /// Send somebody's message, as it is; what answers it is theirs to hear.
    pub async fn send_for(&self, listening: &Listening, message: &ClientMessage) -> io::Result<()> {
        let channel = Channel::to_speak_on(&message.channel)
            .ok_or_else(|| io::Error::other(format!("nobody speaks on `{}`", message.channel)))?;
        listening.asks(&message.header.msg_id);
        let [header, parent, metadata, content] = &message.texts;
        let texts = [header.get(), parent.get(), metadata.get(), content.get()];
        self.send(channel, texts, &message.buffers).await
    }

    /// Which cells have failed, and in which order cells are asked after that.
    pub(crate) fn failures(&self) -> &Failures {
        &self.shared.failures
    }

    /// Connect to one of its sockets, to speak with it in one's own words.
    pub(crate) async fn reach(&self, number: u8) -> io::Result<UnixStream> {
        let folder = match &*self.shared.folder() {
            Some(folder) => folder.try_clone()?,
            None => return Err(io::ErrorKind::NotConnected.into()),
        };
        let name = format!("{}-{number}", self.shared.prefix);
        channel::reach(folder.as_fd(), &name).await
    }

    /// When the kernel said something last.
    pub(crate) fn heard_last(&self) -> Instant {
        *self.shared.heard()
    }

    /// Whether the kernel said last that it is at work.
    pub fn is_busy(&self) -> bool {
        self.shared.running().is_some()
    }

    /// How far one of our cells is.
    pub(crate) fn progress(&self, cell: &str) -> CellProgress {
        let progress = self.shared.cells().get(cell).copied();
        progress.unwrap_or(CellProgress::Ended)
    }

    /// The cell that it said last to work on, whoever asked for it.
    pub(crate) fn running(&self) -> Option<String> {
        self.shared.running().clone()
    }

    /// Whether its sockets are closed.
    pub fn is_over(&self) -> bool {
        *self.shared.hung_up.borrow()
    }

    /// Wait until its sockets are closed.
    pub async fn hung_up(&self) {
        let mut over = self.shared.hung_up.subscribe();
        // It is dropped with us.
        let _ = over.wait_for(|over| *over).await;
    }

    fn new_id(&self) -> String {
        format!(
            "{}-{}",
            self.name,
            self.next.fetch_add(1, Ordering::Relaxed)
        )
    }

    fn header(&self, id: &str, kind: &str) -> Header {
        Header {
            msg_id: id.to_owned(),
            session: self.name.clone(),
            username: "pillion".to_owned(),
            date: jiff::Timestamp::now().to_string(),
            msg_type: kind.to_owned(),
            version: VERSION.to_owned(),
        }
    }
}

impl Drop for KernelClient {
    fn drop(&mut self) {
        self.reading.iter().for_each(JoinHandle::abort);
    }
}

/// Read one socket to its end.
async fn read(channel: Channel, mut receiver: Receiver, shared: Arc<Shared>) {
    loop {
        match receiver.next().await {
            Ok(Some(Ok(message))) => shared.hand_on(&Heard {
                channel,
                message: Arc::new(message),
            }),
            Ok(Some(Err(error))) => tracing::debug!(?channel, %error, "not a message"),
            Ok(None) => break,
            Err(error) => {
                tracing::debug!(?channel, %error, "a kernel is not understood any more");
                break;
            }
        }
    }
    shared.end();
}

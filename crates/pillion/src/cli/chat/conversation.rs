//! The conversation: messages and commands, one after the other.

use std::cell::RefCell;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

use pillion::{Code, Error, Result};
use pillion_model::{ModelSettings, Provider};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::MissedTickBehavior;

use super::super::output;
use super::super::repl::terminal::{AsBefore, Silent};
use super::commands::{Skip, Typed, read};
use super::editor::{Editor, Line};
use super::events::Ending;
use super::screen::{Screen, Way};
use super::texts::{file_table, help, said, skip_text, tasks};
use super::tutor::{ChapterEntry, SessionInfo, Subject, Tutor};

/// How often the sign of waiting turns.
const TICK: Duration = Duration::from_millis(100);
/// Bytes of all messages that come from a pipe.
const INPUT: u64 = 16 << 20;
/// So many Ctrl-C in a row leave.
const ENOUGH: usize = 2;
/// As a shell says that it was interrupted.
const INTERRUPTED: u8 = 130;

/// A conversation.
pub(super) struct Conversation {
    pub(super) tutor: Tutor,
    /// Written to while a turn is waited for.
    pub(super) screen: RefCell<Screen>,
    pub(super) way: Way,
    pub(super) is_typed: bool,
    editor: Option<Editor>,
    pub(super) interrupts: Signal,
    ends: Signal,
    hang_ups: Signal,
    /// We were told to leave.
    is_over: bool,
}

/// What comes after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    GoOn,
    Failed,
    Leave,
}

impl Conversation {
    pub(super) fn new(tutor: Tutor, screen: Screen, is_typed: bool) -> Result<Self> {
        Ok(Self {
            tutor,
            way: screen.way,
            screen: RefCell::new(screen),
            is_typed,
            editor: None,
            interrupts: signal(SignalKind::interrupt()).map_err(Error::internal)?,
            ends: signal(SignalKind::terminate()).map_err(Error::internal)?,
            hang_ups: signal(SignalKind::hangup()).map_err(Error::internal)?,
            is_over: false,
        })
    }

    /// Leave nothing behind that is ours alone.
    pub(super) async fn close(self) {
        self.tutor.backend.close().await;
    }

    /// Begin a session.
    pub(super) async fn begin(&mut self, subject: &Subject, id: Option<&str>) -> Result<()> {
        let begun = self.tutor.begin(subject, id).await?;
        match self.way {
            Way::Json => {
                let mut first = begun.raw;
                if let Some(members) = first.as_object_mut() {
                    members.insert("type".to_owned(), "session".into());
                    members.insert("chapter_id".to_owned(), subject.chapter.as_str().into());
                }
                output::try_say(&first.to_string());
            }
            Way::Terminal => {
                self.greet(&subject.chapter);
                self.tell_model();
                self.screen.get_mut().show(&begun.initial_message);
                let names: Vec<&str> = begun.workspace.files.iter().map(|f| &*f.name).collect();
                if !names.is_empty() {
                    let files = format!("(files to begin with: {})", names.join(", "));
                    self.screen.get_mut().quiet(&files);
                }
            }
            Way::Pipe => self.tell_model(),
        }
        Ok(())
    }

    /// Go on with a session.
    pub(super) async fn resume(&mut self, session: &SessionInfo) -> Result<()> {
        self.tutor.session.clone_from(&session.session_id);
        // Also so that a session that cannot be read is told of at once.
        let state = self.tutor.stand().await?.state;
        match self.way {
            Way::Terminal => {
                self.greet(&session.chapter_id);
                let turns = format!(
                    "(goes on after {} turns; `/history` shows what was said)",
                    state.turn_index
                );
                self.screen.get_mut().quiet(&turns);
            }
            Way::Json => {
                let first = serde_json::json!({
                    "type": "session",
                    "session_id": session.session_id,
                    "chapter_id": session.chapter_id,
                    "turn_index": state.turn_index,
                });
                output::try_say(&first.to_string());
            }
            Way::Pipe => {}
        }
        Ok(())
    }

    fn greet(&mut self, chapter: &str) {
        let first = format!(
            "pillion {} · {chapter} · session `{}`",
            pillion::VERSION,
            self.tutor.session
        );
        let screen = self.screen.get_mut();
        screen.quiet(&first);
        if self.is_typed {
            screen.quiet("Enter sends, `/help` lists commands, Ctrl-C cancels, Ctrl-D leaves");
        }
    }

    /// Say that no model answers, if so. Sessions use the model of whoever asks, so what is set
    /// here is what counts; settings that make no sense are told by the first turn.
    fn tell_model(&mut self) {
        let settings = ModelSettings::from_vars(|name| std::env::var(name).ok());
        if !settings.is_ok_and(|settings| settings.provider == Provider::Scripted) {
            return;
        }
        let text = "offline: scripted model; set LLM_API_KEY (and LLM_PROVIDER, LLM_MODEL) for a \
                    real one";
        match self.way {
            Way::Terminal => self.screen.get_mut().quiet(text),
            Way::Pipe => output::note(text),
            Way::Json => {}
        }
    }

    /// Let somebody choose a chapter.
    pub(super) async fn choose(&mut self, chapters: &[ChapterEntry]) -> Result<Option<String>> {
        let mut list = String::from("Which chapter?\n\n");
        for (at, chapter) in chapters.iter().enumerate() {
            list += &format!("{}. {} (`{}`)\n", at + 1, chapter.title, chapter.chapter_id);
        }
        self.screen.get_mut().show(&list);
        loop {
            let Some(answer) = self.ask("chapter").await? else {
                return Ok(None);
            };
            let number = answer.parse::<usize>().ok();
            let chosen = number.and_then(|number| chapters.get(number.checked_sub(1)?));
            let named = chapters.iter().find(|chapter| chapter.chapter_id == answer);
            if let Some(chosen) = chosen.or(named) {
                return Ok(Some(chosen.chapter_id.clone()));
            }
            let most = chapters.len();
            let advice = format!("a number from 1 to {most}; Ctrl-D leaves");
            self.screen.get_mut().quiet(&advice);
        }
    }

    /// One message, and its reply.
    pub(super) async fn one(&mut self, message: &str) -> Result<ExitCode> {
        let ending = self.turn(message).await?;
        Ok(self.exit_code(ending == Ending::Kept))
    }

    /// A message or a command for each line of standard input.
    pub(super) async fn piped(&mut self) -> Result<ExitCode> {
        let input = BufReader::new(tokio::io::stdin().take(INPUT));
        let mut lines = input.lines();
        let mut is_well = true;
        while !self.is_over {
            let line = tokio::select! {
                line = lines.next_line() => line,
                _ = self.interrupts.recv() => return Ok(ExitCode::from(INTERRUPTED)),
                _ = self.ends.recv() => return Ok(ExitCode::from(INTERRUPTED)),
            };
            let line = line.map_err(|error| {
                let message = format!("cannot read standard input: {error}");
                Error::new(Code::InvalidParams, message)
            })?;
            let Some(line) = line else { break };
            match self.understand(&line).await? {
                Next::GoOn => {}
                Next::Failed => is_well = false,
                Next::Leave => break,
            }
        }
        Ok(self.exit_code(is_well))
    }

    /// Read messages and commands until whoever types leaves.
    pub(super) async fn typed(&mut self) -> Result<ExitCode> {
        let _as_before = AsBefore::now();
        let mut clears = 0;
        while !self.is_over {
            output::print_as_it_is("\n");
            let next = match self.line("you").await? {
                Line::End => break,
                Line::Cleared => {
                    clears += 1;
                    if clears >= ENOUGH {
                        break;
                    }
                    let advice = "(one more Ctrl-C leaves, and so does Ctrl-D)";
                    self.screen.get_mut().quiet(advice);
                    continue;
                }
                Line::Text(line) => self.understand(&line).await,
            };
            clears = 0;
            match next {
                Ok(Next::Leave) => return Ok(ExitCode::SUCCESS),
                Ok(_) => {}
                // The next one may do better.
                Err(error) => output::fail(&error, false),
            }
        }
        let again = format!("(`pillion chat --session {}` goes on)", self.tutor.session);
        self.screen.get_mut().quiet(&again);
        Ok(ExitCode::SUCCESS)
    }

    fn exit_code(&self, is_well: bool) -> ExitCode {
        match (self.is_over, is_well) {
            (true, _) => ExitCode::from(INTERRUPTED),
            (false, true) => ExitCode::SUCCESS,
            (false, false) => ExitCode::FAILURE,
        }
    }

    /// A line behind this prompt.
    async fn line(&mut self, prompt: &'static str) -> Result<Line> {
        if self.editor.is_none() {
            self.editor = Some(Editor::start()?);
        }
        let Some(editor) = &mut self.editor else {
            return Ok(Line::End);
        };
        editor.read(prompt)?;
        tokio::select! {
            line = editor.line() => line,
            _ = self.ends.recv() => {
                self.is_over = true;
                Ok(cut_off())
            }
            _ = self.hang_ups.recv() => {
                self.is_over = true;
                Ok(cut_off())
            }
        }
    }

    /// An answer to a question of ours; none if nobody wants to answer.
    pub(super) async fn ask(&mut self, prompt: &'static str) -> Result<Option<String>> {
        match self.line(prompt).await? {
            Line::Text(text) if !text.trim().is_empty() => Ok(Some(text.trim().to_owned())),
            _ => Ok(None),
        }
    }

    async fn understand(&mut self, line: &str) -> Result<Next> {
        match read(line) {
            Typed::Nothing => {}
            Typed::Message(message) => {
                let ending = self.turn(&message).await?;
                if ending != Ending::Kept {
                    return Ok(Next::Failed);
                }
            }
            Typed::Help => self.show(&help()),
            Typed::Tasks => {
                let stand = self.tutor.stand().await?;
                self.show(&tasks(&stand));
            }
            Typed::Skip(skip) => return self.skip(skip).await,
            Typed::Run(what) => return self.run(what).await,
            Typed::Upload(paths) => {
                let names = self.tutor.upload(&paths).await?;
                self.note(&format!("uploaded {}", names.join(", ")));
            }
            Typed::Files => {
                let mut files = self.tutor.files().await?;
                files.extend(self.tutor.uploads().await?);
                self.show(&file_table(&files));
            }
            Typed::Report => match self.tutor.report().await? {
                report if report.trim().is_empty() => self.note("there is no report yet"),
                report => self.show(&report),
            },
            Typed::History => {
                let turns = self.tutor.history().await?;
                match turns.is_empty() {
                    true => self.note("nothing was said yet"),
                    false => self.show(&said(&turns)),
                }
            }
            Typed::Usage => {
                let usage = &self.screen.get_mut().total;
                match usage.is_empty() {
                    true => self.note("no tokens were used yet"),
                    false => {
                        let table = usage.table();
                        self.show(&table);
                    }
                }
            }
            Typed::End => {
                let report = self.tutor.end().await?;
                self.show(&report);
                self.note("the session has ended");
                return Ok(Next::Leave);
            }
            Typed::Quit => {
                let again = format!("`pillion chat --session {}` goes on", self.tutor.session);
                self.note(&again);
                return Ok(Next::Leave);
            }
            Typed::Wrong(why) => {
                output::note(&why);
                return Ok(Next::Failed);
            }
        }
        Ok(Next::GoOn)
    }

    /// A text that is the answer to a command.
    pub(super) fn show(&mut self, text: &str) {
        match self.way {
            Way::Json => {
                let line = serde_json::json!({ "type": "text", "content": text });
                output::try_say(&line.to_string());
            }
            Way::Terminal | Way::Pipe => self.screen.get_mut().show(text),
        }
    }

    /// A line that says what was done.
    pub(super) fn note(&mut self, text: &str) {
        self.screen.get_mut().quiet(&format!("({text})"));
    }

    /// A message and all that follows from it.
    async fn turn(&mut self, message: &str) -> Result<Ending> {
        let _silent = Silent::begin(self.is_typed);
        let (tutor, screen) = (&self.tutor, &self.screen);
        screen.borrow_mut().begin();
        let send = tutor.send(message, |event, raw| {
            screen.borrow_mut().hear(&event, raw);
        });
        tokio::pin!(send);
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut cancel: Option<Aside<'_>> = None;
        let mut stops = 0;
        let outcome = loop {
            tokio::select! {
                outcome = &mut send => break outcome,
                () = done(&mut cancel), if cancel.is_some() => cancel = None,
                _ = ticks.tick() => screen.borrow_mut().tick(),
                _ = self.interrupts.recv() => {
                    stops += 1;
                    // Without somebody who types, nobody has a use for the next turn.
                    self.is_over |= !self.is_typed;
                    if stops >= ENOUGH {
                        self.is_over = true;
                        break Ok(());
                    }
                    screen.borrow_mut().wait_for("cancelling");
                    cancel = Some(Box::pin(async {
                        if let Err(error) = tutor.cancel().await {
                            screen.borrow_mut().quiet(&format!("({error})"));
                        }
                    }));
                }
                // The turn goes on without us, and is there for whoever comes back.
                _ = self.ends.recv() => {
                    self.is_over = true;
                    break Ok(());
                }
                _ = self.hang_ups.recv() => {
                    self.is_over = true;
                    break Ok(());
                }
            }
        };
        let ending = screen.borrow_mut().end();
        outcome.map(|()| ending)
    }

    async fn skip(&mut self, skip: Skip) -> Result<Next> {
        let mut skipped = self.tutor.skip(&skip).await?;
        if skipped.needs_reason {
            let advice =
                "Why? `mastered`, `not_interested`, `too_hard`, `too_wordy`, or your own words.";
            if !self.is_typed {
                self.show(advice);
                return Ok(Next::Failed);
            }
            self.show(advice);
            let Some(reason) = self.ask("reason").await? else {
                self.note("nothing was skipped");
                return Ok(Next::GoOn);
            };
            let Typed::Skip(skip) = read(&format!("/skip {reason}")) else {
                return Ok(Next::GoOn);
            };
            skipped = self.tutor.skip(&skip).await?;
        }
        self.show(&skip_text(&skipped));
        Ok(Next::GoOn)
    }
}

/// Something that is done while a turn goes on.
type Aside<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

async fn done(aside: &mut Option<Aside<'_>>) {
    match aside {
        Some(aside) => aside.await,
        None => std::future::pending().await,
    }
}

/// The end of typing in the middle of a line: pastes are marked no more.
fn cut_off() -> Line {
    output::print_as_it_is("\u{1b}[?2004l\r\n");
    Line::End
}

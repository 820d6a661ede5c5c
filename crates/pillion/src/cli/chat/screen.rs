//! What a turn looks like: on a terminal while it goes on, elsewhere when it is done.
//!
//! On a terminal a reply is written as it comes, and a quiet line below it says what is waited
//! for. A pipe gets only the reply that counts, at the end of the turn: one that was begun anew
//! would else be there twice. With `--json` every event is a line.

use std::io::IsTerminal;

use nu_ansi_term::{Color, Style};
use serde_json::value::RawValue;

use super::super::output;
use super::events::{Ending, Event, Usage};
use super::markdown::Markdown;
use super::painter::Painter;
use super::rows::paint;

/// Bytes of a reply that are kept for `/run`, and for a pipe.
const LONGEST_REPLY: usize = 1 << 20;
/// What turns while something is waited for.
const FRAMES: &[char] = &['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// Columns and rows of a terminal that does not say how large it is.
const SIZE: (u16, u16) = (80, 24);

/// Where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Terminal,
    Pipe,
    Json,
}

/// Shows turns.
#[derive(Debug)]
pub(super) struct Screen {
    pub(super) way: Way,
    colours: bool,
    markdown: Markdown,
    painter: Painter,
    /// What is waited for, and how far the sign of it has turned.
    waits: Option<String>,
    frame: usize,
    /// The reply of this turn.
    reply: String,
    usage: Usage,
    ending: Ending,
    /// The last whole reply.
    pub(super) last_reply: String,
    pub(super) total: Usage,
}

impl Screen {
    pub(super) fn new(way: Way) -> Self {
        let colours = std::io::stdout().is_terminal() && !output::no_colour();
        Self {
            way,
            colours,
            markdown: Markdown::new(SIZE.0.into(), colours),
            painter: Painter::new(SIZE.0.into(), SIZE.1.into()),
            waits: None,
            frame: 0,
            reply: String::new(),
            usage: Usage::default(),
            ending: Ending::Kept,
            last_reply: String::new(),
            total: Usage::default(),
        }
    }

    /// A turn begins, on a line of its own.
    pub(super) fn begin(&mut self) {
        self.fresh();
        self.reply.clear();
        self.usage = Usage::default();
        self.ending = Ending::Kept;
        self.wait_for("thinking");
    }

    /// Begin on a terminal as large as it is now.
    fn fresh(&mut self) {
        let (columns, rows) = crossterm::terminal::size()
            .ok()
            .filter(|(columns, rows)| *columns > 0 && *rows > 0)
            .unwrap_or(SIZE);
        self.markdown = Markdown::new(columns.into(), self.colours);
        self.painter = Painter::new(columns.into(), rows.into());
    }

    /// Something happened; `raw` is how it was said.
    pub(super) fn hear(&mut self, event: &Event, raw: &RawValue) -> bool {
        if self.way == Way::Json {
            let is_read = output::try_say(raw.get());
            self.keep(event);
            return is_read;
        }
        self.keep(event);
        match event {
            Event::CompanionChunk { content } => self.text(content),
            Event::CompanionStart => self.wait_for("thinking"),
            Event::CompanionComplete => {
                self.end_text();
                self.wait_for("taking notes");
            }
            Event::ConsultationStart { expert_id, title } => {
                self.end_text();
                let title = title.as_deref().filter(|title| !title.is_empty());
                self.wait_for(&format!("asking {}", title.unwrap_or(expert_id)));
            }
            Event::ConsultationComplete { expert_id } => {
                self.quiet(&format!("(`{expert_id}` was asked)"));
                self.wait_for("thinking");
            }
            Event::ConsultationError { expert_id, error } => {
                let why = match error.as_str() {
                    "" => String::new(),
                    error => format!(": {error}"),
                };
                self.quiet(&format!("(`{expert_id}` could not help{why})"));
                self.wait_for("thinking");
            }
            Event::Error { message } => self.failed(message),
            Event::LlmError { error } => self.failed(error),
            Event::Start
            | Event::TokenUsage { .. }
            | Event::Complete
            | Event::Cancelled
            | Event::Other => {}
        }
        true
    }

    /// Note what is needed later.
    fn keep(&mut self, event: &Event) {
        match event {
            Event::CompanionChunk { content }
                if self.reply.len() + content.len() <= LONGEST_REPLY =>
            {
                self.reply.push_str(content);
            }
            // What was said before is said anew, with more guidance.
            Event::CompanionStart if !self.reply.is_empty() => {
                self.reply.clear();
                self.quiet("(thinking again with new guidance)");
            }
            Event::TokenUsage {
                agent,
                input_tokens,
                output_tokens,
            } => self.usage.add(agent, *input_tokens, *output_tokens),
            Event::Error { .. } | Event::LlmError { .. } => self.ending = Ending::Failed,
            Event::Cancelled => self.ending = Ending::Cancelled,
            _ => {}
        }
    }

    /// Show that a turn ended, and how.
    pub(super) fn end(&mut self) -> Ending {
        self.waits = None;
        self.end_text();
        if self.ending == Ending::Cancelled {
            self.quiet("(cancelled: nothing of this turn is kept)");
        }
        if self.way == Way::Pipe && self.ending == Ending::Kept {
            output::say(&plain_text(&self.reply));
        }
        self.total.add_all(&self.usage);
        if self.way == Way::Terminal && !self.usage.is_empty() {
            self.quiet(&self.usage.line());
        }
        if self.ending == Ending::Kept {
            self.last_reply = std::mem::take(&mut self.reply);
        }
        self.ending
    }

    /// Time passed: the sign of waiting turns.
    pub(super) fn tick(&mut self) {
        if self.waits.is_some() && self.way == Way::Terminal {
            self.frame = (self.frame + 1) % FRAMES.len();
            self.draw(&[]);
        }
    }

    /// Say what is waited for.
    pub(super) fn wait_for(&mut self, what: &str) {
        self.waits = Some(what.to_owned());
        self.draw(&[]);
    }

    /// A whole text in markdown, which is the result of a command.
    pub(super) fn show(&mut self, text: &str) {
        if self.way != Way::Terminal {
            return output::say(&plain_text(text));
        }
        self.fresh();
        let mut rows = self.markdown.push(text);
        rows.extend(self.markdown.finish());
        self.draw(&rows);
    }

    /// A line beside the conversation.
    pub(super) fn quiet(&mut self, text: &str) {
        match self.way {
            Way::Terminal => {
                let mut rows = self.markdown.finish();
                rows.push(self.painted(text, Style::new().dimmed()));
                self.draw(&rows);
            }
            // Whoever looks at the terminal while a pipe is filled.
            Way::Pipe if std::io::stderr().is_terminal() => output::note(text),
            Way::Pipe | Way::Json => {}
        }
    }

    /// Something went wrong that is told in the conversation.
    fn failed(&mut self, text: &str) {
        match self.way {
            Way::Terminal => {
                let word = self.painted("error", Style::new().fg(Color::Red).bold());
                let mut rows = self.markdown.finish();
                rows.push(format!("{word}: {}", plain_text(text).replace('\n', " ")));
                self.draw(&rows);
            }
            Way::Pipe => output::note(&format!("error: {text}")),
            Way::Json => {}
        }
    }

    fn painted(&self, text: &str, style: Style) -> String {
        let text = output::spelled_out(text).replace(['\n', '\t'], " ");
        match self.colours {
            true => paint(&text, style),
            false => text,
        }
    }

    fn text(&mut self, text: &str) {
        if self.way != Way::Terminal {
            return;
        }
        self.waits = None;
        let rows = self.markdown.push(text);
        self.draw(&rows);
    }

    fn end_text(&mut self) {
        let rows = self.markdown.finish();
        self.draw(&rows);
    }

    /// Bring the terminal up to date; these rows are there for good now.
    fn draw(&mut self, done: &[String]) {
        if self.way != Way::Terminal {
            return;
        }
        let mut live = self.markdown.live();
        if let Some(waits) = &self.waits {
            let sign = FRAMES[self.frame % FRAMES.len()];
            live.push(self.painted(&format!("{sign} {waits}"), Style::new().dimmed()));
        }
        let commands = self.painter.paint(done, live);
        if !commands.is_empty() {
            output::print_as_it_is(&commands);
        }
    }
}

/// Text of others for a pipe: nothing of it is a command to a terminal that shows it later.
fn plain_text(text: &str) -> String {
    output::spelled_out(&text.replace('\r', ""))
        .trim_end()
        .to_owned()
}

//! The message that is being typed.
//!
//! As in the repl, the editor blocks and so has a thread of its own. Enter sends, Alt-Enter
//! begins a new line, a paste is one message however many lines it has.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use nu_ansi_term::{Color, Style};
use pillion::{Code, Error, Result};
use reedline::{
    ColumnarMenu, Completer, CompletionResult, DefaultHinter, EditCommand, Emacs, Highlighter,
    KeyCode, KeyModifiers, MenuBuilder, Reedline, ReedlineEvent, ReedlineMenu, Signal, Span,
    StyledText, Suggestion, default_emacs_keybindings,
};
use tokio::sync::mpsc;

use super::super::output;
use super::super::prompt::LinePrompt;
use super::super::repl::editor::with_history;
use super::commands::COMMANDS;

/// The file of what was typed.
const HISTORY: &str = "chat-history";
const MENU: &str = "commands";

/// What comes of typing.
#[derive(Debug)]
pub(super) enum Line {
    /// A message or a command.
    Text(String),
    /// Ctrl-C: the line is gone.
    Cleared,
    /// Ctrl-D: no more is to come.
    End,
}

/// The thread that edits.
#[derive(Debug)]
pub(super) struct Editor {
    orders: SyncSender<&'static str>,
    lines: mpsc::UnboundedReceiver<Result<Line>>,
}

impl Editor {
    /// Start the thread of the editor.
    pub(super) fn start() -> Result<Self> {
        let (orders, ordered) = sync_channel(1);
        let (tell, lines) = mpsc::unbounded_channel();
        std::thread::Builder::new()
            .name("editor".to_owned())
            .spawn(move || edit(&ordered, &tell))
            .map_err(Error::internal)?;
        Ok(Self { orders, lines })
    }

    /// Let it read a line behind this prompt; [`Self::line`] gives it.
    pub(super) fn read(&self, prompt: &'static str) -> Result<()> {
        self.orders.send(prompt).map_err(Error::internal)
    }

    /// The line that was typed. Cancel-safe.
    pub(super) async fn line(&mut self) -> Result<Line> {
        self.lines.recv().await.unwrap_or(Ok(Line::End))
    }
}

fn edit(orders: &Receiver<&'static str>, tell: &mpsc::UnboundedSender<Result<Line>>) {
    let mut editor = editor();
    while let Ok(prompt) = orders.recv() {
        let line = match editor.read_line(&before(prompt)) {
            Ok(Signal::Success(text)) => Ok(Line::Text(text)),
            Ok(Signal::CtrlD) => Ok(Line::End),
            Ok(_) => Ok(Line::Cleared),
            Err(error) => Err(Error::new(
                Code::Unsupported,
                format!("the terminal cannot be used: {error}"),
            )
            .hint("give messages by standard input: `echo hello | pillion chat`")),
        };
        // At once, so that another terminal has it, too.
        let _ = editor.sync_history();
        if tell.send(line).is_err() {
            break;
        }
    }
}

fn editor() -> Reedline {
    let colours = !output::no_colour();
    let mut keys = default_emacs_keybindings();
    keys.add_binding(
        KeyModifiers::NONE,
        KeyCode::Tab,
        ReedlineEvent::UntilFound(vec![
            ReedlineEvent::Menu(MENU.to_owned()),
            ReedlineEvent::MenuNext,
        ]),
    );
    let new_line = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, new_line);
    let menu = ColumnarMenu::default().with_name(MENU);
    let editor = Reedline::create()
        .with_completer(Box::new(Commands))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_highlighter(Box::new(Colours(colours)))
        .with_edit_mode(Box::new(Emacs::new(keys)))
        .with_ansi_colors(colours)
        .use_bracketed_paste(true);
    // Without colours nobody could tell what was typed from what is only suggested.
    let editor = match colours {
        true => editor.with_hinter(Box::new(
            DefaultHinter::default().with_style(Style::new().fg(Color::DarkGray)),
        )),
        false => editor,
    };
    with_history(editor, HISTORY)
}

/// What stands before the line.
fn before(name: &'static str) -> LinePrompt {
    LinePrompt {
        name: name.into(),
        sign: "> ",
        more: "· ",
    }
}

/// Commands stand out.
struct Colours(bool);

impl Highlighter for Colours {
    fn highlight(&self, line: &str, _: usize) -> StyledText {
        let mut text = StyledText::new();
        let is_command = line.starts_with('/') && !line.starts_with("//");
        let style = match self.0 && is_command {
            true => Style::new().fg(Color::Cyan),
            false => Style::new(),
        };
        text.push((style, line.to_owned()));
        text
    }
}

/// Completes the names of commands.
struct Commands;

impl Completer for Commands {
    fn complete(&mut self, line: &str, at: usize) -> CompletionResult {
        let typed = line.get(..at).unwrap_or(line);
        let found: Vec<Suggestion> = matching(typed)
            .map(|name| Suggestion {
                value: name.to_owned(),
                span: Span { start: 0, end: at },
                append_whitespace: true,
                ..Suggestion::default()
            })
            .collect();
        CompletionResult::fresh(found)
    }
}

/// The commands that begin so.
fn matching(typed: &str) -> impl Iterator<Item = &'static str> {
    let names = COMMANDS
        .iter()
        .filter_map(|(name, _)| name.split(' ').next());
    names.filter(move |name| typed.starts_with('/') && name.starts_with(typed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_complete() {
        assert_eq!(matching("/re").collect::<Vec<_>>(), ["/report"]);
        assert_eq!(matching("/").count(), COMMANDS.len());
        assert_eq!(matching("re").count(), 0);
    }
}

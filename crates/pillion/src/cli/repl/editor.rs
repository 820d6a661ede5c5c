//! The line that is being typed.
//!
//! reedline does the editing: of the two libraries that are kept well it is the one whose
//! completions are a menu, whose lines of a cell have a prompt each, and whose paste is one
//! event; rustyline has neither of the first two. It blocks, so it has a thread of its own, and
//! asks whoever waits for the line when it needs completions.

use std::fs::{OpenOptions, Permissions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nu_ansi_term::{Color, Style};
use pillion::{Code, Error, Result};
use pillion_notebook::file::{TokenKind, tokens};
use pillion_notebook::operations::Completions;
use pillion_runtime::Dirs;
use reedline::{
    ColumnarMenu, Completer, CompletionOrigin, CompletionResult, CompletionStatus, DefaultHinter,
    FileBackedHistory, Highlighter, MenuBuilder, Reedline, ReedlineMenu, Signal, Span, StyledText,
    Suggestion, Suggestions, ValidationResult, Validator,
};
use tokio::sync::mpsc;

use super::super::output;
use super::super::prompt::LinePrompt;
use super::keys::{self, Keys, Typed};
use super::language::Language;

/// How long completions may take, and for how much of that a key waits: typing goes on meanwhile.
pub(crate) const COMPLETION: Duration = Duration::from_secs(15);
const AT_ONCE: Duration = Duration::from_millis(60);
/// Cells that are remembered, and the bytes of the file they are in.
const REMEMBERED: usize = 5000;
const MOST_BYTES: u64 = 4 << 20;
/// The file of what was typed.
const HISTORY: &str = "repl-history";

/// What comes of typing.
#[derive(Debug)]
pub(crate) enum Line {
    /// A cell.
    Cell(String),
    /// Ctrl-C: the line is gone.
    Cleared,
    /// Ctrl-D: no more is to come.
    End,
}

/// What the thread that edits has to say.
#[derive(Debug)]
pub(crate) enum News {
    /// A line, or why there is none.
    Line(Result<Line>),
    /// It wants completions of this code at this character.
    Complete {
        code: String,
        cursor: usize,
        to: SyncSender<Completions>,
    },
}

/// The thread that edits.
#[derive(Debug)]
pub(crate) struct Editor {
    orders: SyncSender<u64>,
    pub(crate) news: mpsc::UnboundedReceiver<News>,
}

impl Editor {
    /// Start the thread of the editor.
    pub(crate) fn start(language: Language) -> Result<Self> {
        let (orders, ordered) = sync_channel(1);
        let (tell, news) = mpsc::unbounded_channel();
        std::thread::Builder::new()
            .name("editor".to_owned())
            .spawn(move || edit(language, &ordered, &tell))
            .map_err(Error::internal)?;
        Ok(Self { orders, news })
    }

    /// Let it read the cell of this number; [`News::Line`] is the answer.
    pub(crate) fn read(&self, number: u64) -> Result<()> {
        self.orders.send(number).map_err(Error::internal)
    }
}

fn edit(language: Language, orders: &Receiver<u64>, tell: &mpsc::UnboundedSender<News>) {
    let reads = Arc::<AtomicU64>::default();
    let mut editor = editor(language, tell.clone(), Arc::clone(&reads));
    while let Ok(number) = orders.recv() {
        reads.fetch_add(1, Ordering::Relaxed);
        let line = match editor.read_line(&numbered(number)) {
            Ok(Signal::Success(code)) => Ok(Line::Cell(code)),
            Ok(Signal::CtrlD) => Ok(Line::End),
            Ok(_) => Ok(Line::Cleared),
            Err(error) => Err(Error::new(
                Code::Unsupported,
                format!("the terminal cannot be used: {error}"),
            )
            .hint("give cells by standard input: `pillion repl < cells.py`")),
        };
        // At once, so that another terminal has it, too.
        let _ = editor.sync_history();
        if tell.send(News::Line(line)).is_err() {
            break;
        }
    }
}

fn editor(
    language: Language,
    tell: mpsc::UnboundedSender<News>,
    reads: Arc<AtomicU64>,
) -> Reedline {
    let typed = Arc::new(Mutex::new(Typed::new(language)));
    let colours = !output::no_colour();
    let menu = ColumnarMenu::default().with_name(keys::MENU);
    let editor = Reedline::create()
        .with_completer(Box::new(Names::new(tell, reads)))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_highlighter(Box::new(Colours {
            typed: Arc::clone(&typed),
            // Words of other languages are no words of Python.
            colours: colours && language == Language::Python,
        }))
        .with_validator(Box::new(Whole(language)))
        .with_edit_mode(Box::new(Keys::new(typed)))
        .with_ansi_colors(colours)
        .use_bracketed_paste(true);
    // Without colours nobody could tell what was typed from what is only suggested.
    let editor = match colours {
        true => editor.with_hinter(Box::new(
            DefaultHinter::default().with_style(style(TokenKind::Comment)),
        )),
        false => editor,
    };
    with_history(editor, HISTORY)
}

/// Let an editor remember what was typed, in the file of this name.
pub(crate) fn with_history(editor: Reedline, name: &str) -> Reedline {
    match history(&Dirs::from_env(), name) {
        Ok(history) => editor.with_history(Box::new(history)),
        Err(why) => {
            output::warn(&format!("what you type is not remembered: {why}"));
            editor
        }
    }
}

fn history(dirs: &Dirs, name: &str) -> Result<FileBackedHistory, String> {
    dirs.writable_state().map_err(|error| error.to_string())?;
    let file = dirs.usable_state().join(name);
    make_private(&file).map_err(|error| format!("`{}`: {error}", file.display()))?;
    FileBackedHistory::with_file(REMEMBERED, file).map_err(|error| error.to_string())
}

/// Make the file if it is not there, for nobody else to read, and let go of the begin of one that
/// has become too large.
fn make_private(file: &Path) -> std::io::Result<()> {
    let mut open = OpenOptions::new();
    open.create(true).read(true).write(true).mode(0o600);
    let mut opened = open.open(file)?;
    opened.set_permissions(Permissions::from_mode(0o600))?;
    let length = opened.metadata()?.len();
    if length > MOST_BYTES {
        opened.seek(SeekFrom::Start(length - MOST_BYTES / 2))?;
        let mut rest = Vec::new();
        opened.take(MOST_BYTES).read_to_end(&mut rest)?;
        // The first line of it may be half a line.
        let whole = rest.iter().position(|byte| *byte == b'\n');
        std::fs::write(file, &rest[whole.map_or(rest.len(), |at| at + 1)..])?;
    }
    Ok(())
}

/// `In [n]: `, and as many columns before the lines that follow.
fn numbered(number: u64) -> LinePrompt {
    LinePrompt {
        name: format!("In [{number}]").into(),
        sign: ": ",
        more: "...: ",
    }
}

/// Whether a cell is whole.
struct Whole(Language);

impl Validator for Whole {
    fn validate(&self, line: &str) -> ValidationResult {
        match self.0.is_whole(line) {
            true => ValidationResult::Complete,
            false => ValidationResult::Incomplete,
        }
    }
}

/// Python in colours; and a note of what stands there, for the keys.
struct Colours {
    typed: Arc<Mutex<Typed>>,
    colours: bool,
}

impl Highlighter for Colours {
    fn highlight(&self, line: &str, cursor: usize) -> StyledText {
        Typed::is_shown(&self.typed, line, cursor);
        let mut text = StyledText::new();
        if !self.colours {
            text.push((Style::new(), line.to_owned()));
            return text;
        }
        for (kind, token) in tokens(line) {
            text.push((style(kind), token.to_owned()));
        }
        text
    }
}

/// The colours of Python.
pub(crate) fn style(kind: TokenKind) -> Style {
    let plain = Style::new();
    match kind {
        TokenKind::Plain => plain,
        TokenKind::Comment => plain.fg(Color::DarkGray),
        TokenKind::Magic => plain.fg(Color::Purple),
        TokenKind::String => plain.fg(Color::Yellow),
        TokenKind::Number => plain.fg(Color::Cyan),
        TokenKind::Definition => plain.fg(Color::Blue).bold(),
        TokenKind::Keyword => plain.fg(Color::Green).bold(),
        TokenKind::Builtin => plain.fg(Color::Green),
    }
}

/// Asks for the names that live in the kernel.
struct Names {
    tell: mpsc::UnboundedSender<News>,
    /// Counts cells: what was found before one ran may be found no more behind it.
    reads: Arc<AtomicU64>,
    asked: Option<Asked>,
    found: Option<Found>,
}

/// What an answer said.
struct Found {
    read: u64,
    origin: CompletionOrigin,
    names: Suggestions,
}

/// A question that was not answered yet.
struct Asked {
    line: String,
    at: usize,
    until: Instant,
    from: Receiver<Completions>,
}

impl Names {
    fn new(tell: mpsc::UnboundedSender<News>, reads: Arc<AtomicU64>) -> Self {
        Self {
            tell,
            reads,
            asked: None,
            found: None,
        }
    }

    fn ask(&mut self, line: &str, at: usize) {
        let (to, from) = sync_channel(1);
        let question = News::Complete {
            code: line.to_owned(),
            cursor: line.get(..at).unwrap_or(line).chars().count(),
            to,
        };
        // If nobody is there any more, nobody answers.
        let _ = self.tell.send(question);
        self.asked = Some(Asked {
            line: line.to_owned(),
            at,
            until: Instant::now() + COMPLETION,
            from,
        });
    }

    /// Whether an answer came within this time, which may be that there is none.
    fn hear(&mut self, limit: Duration) -> bool {
        let Some(asked) = &self.asked else {
            return false;
        };
        let names = match asked.from.recv_timeout(limit) {
            Ok(found) => suggestions(&asked.line, &found),
            Err(RecvTimeoutError::Timeout) if Instant::now() < asked.until => return false,
            Err(_) => Vec::new(),
        };
        self.found = Some(Found {
            read: self.reads.load(Ordering::Relaxed),
            origin: CompletionOrigin::new(asked.line.clone(), asked.at),
            names: names.into(),
        });
        self.asked = None;
        true
    }
}

impl Completer for Names {
    fn complete(&mut self, line: &str, at: usize) -> CompletionResult {
        let asked = self.asked.as_ref();
        let is_asked = asked.is_some_and(|asked| asked.line == line && asked.at == at);
        let read = self.reads.load(Ordering::Relaxed);
        let fits = |found: &&Found| found.read == read && found.origin.matches(line, at);
        if !is_asked && self.found.as_ref().filter(fits).is_none() {
            self.ask(line, at);
            self.hear(AT_ONCE);
        }
        match self.found.as_ref().filter(fits) {
            Some(found) => CompletionResult::fresh(Arc::clone(&found.names)),
            None => CompletionResult::Pending,
        }
    }

    fn poll_completion(&mut self) -> CompletionStatus {
        match (self.asked.is_some(), self.hear(Duration::ZERO)) {
            (false, _) => CompletionStatus::Idle,
            (true, false) => CompletionStatus::Pending,
            (true, true) => CompletionStatus::Ready,
        }
    }
}

/// What the kernel said could stand there. Names are made by code of others: what would be a
/// command to the terminal is no name.
fn suggestions(line: &str, found: &Completions) -> Vec<Suggestion> {
    let byte = |character: usize| {
        let mut starts = line.char_indices().map(|(at, _)| at);
        starts.nth(character).unwrap_or(line.len())
    };
    let span = Span {
        start: byte(found.start.min(found.end)),
        end: byte(found.end),
    };
    let names = found.matches.iter();
    let names = names.filter(|name| !name.contains(|c| c == '\n' || output::is_command(c)));
    names
        .map(|name| Suggestion {
            value: name.clone(),
            span,
            ..Suggestion::default()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_where_characters_are_and_commands_are_none() {
        let found = Completions {
            matches: vec!["näme".to_owned(), "\u{1b}]0;x\u{7}".to_owned()],
            start: 4,
            end: 6,
            ..Completions::default()
        };
        let found = suggestions("é = nä + 1", &found);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].span, Span::new(5, 8));
        let beyond = Completions {
            matches: vec!["x".to_owned()],
            start: 90,
            end: 80,
            ..Completions::default()
        };
        assert_eq!(suggestions("ab", &beyond)[0].span, Span::new(2, 2));
    }

    #[test]
    fn what_was_typed_is_private_and_bounded() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path());
        let file = dirs.usable_state().join(HISTORY);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let line = "x".repeat(99) + "\n";
        let lines = usize::try_from(MOST_BYTES).unwrap() / 100 + 2;
        std::fs::write(&file, line.repeat(lines)).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        drop(history(&dirs, HISTORY).unwrap());
        let meta = std::fs::metadata(&file).unwrap();
        assert_eq!(meta.permissions().mode() & 0o777, 0o600);
        assert!(meta.len() <= MOST_BYTES / 2);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.lines().all(|line| line.len() == 99));
        assert!(text.lines().count() <= REMEMBERED);
    }
}

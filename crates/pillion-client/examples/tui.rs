//! A terminal interface that stays awake while Python works:
//! `cargo run -p pillion-client --example tui`.
//!
//! The loop draws about 30 frames a second whatever Python does, since a [`Bridge`] never
//! makes it wait.
#![expect(clippy::print_stderr, reason = "it is a program")]

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use pillion_client::{Bridge, Error, Options, RequestId, Response, ResponsePart};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, List, Paragraph};
use ratatui::{DefaultTerminal, Frame};
use serde_json::{Value, json};

const FRAME: Duration = Duration::from_millis(33);
/// A function of the standard library that yields its answer in parts.
const GENERATOR: &str = "difflib:ndiff";
const SPINNER: [&str; 8] = ["⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"];

fn main() -> ExitCode {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        eprintln!("error: this example draws on a terminal, and here is none");
        eprintln!("hint: run it in a terminal, or try the example `quickstart`");
        return ExitCode::FAILURE;
    }
    let outcome = ratatui::run(|terminal| App::new().run(terminal));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A request, as the list shows it.
struct Row {
    id: Option<RequestId>,
    label: &'static str,
    state: String,
    color: Color,
}

struct App {
    bridge: Bridge,
    rows: Vec<Row>,
    frames: usize,
}

impl App {
    fn new() -> Self {
        Self {
            bridge: Bridge::start(Options::new()),
            rows: Vec::new(),
            frames: 0,
        }
    }

    fn run(&mut self, terminal: &mut DefaultTerminal) -> io::Result<()> {
        loop {
            while let Some(response) = self.bridge.poll() {
                self.hear(response);
            }
            terminal.draw(|frame| self.draw(frame))?;
            self.frames += 1;
            // Waits for a key, but never longer than a frame.
            if event::poll(FRAME)?
                && let Event::Key(key) = event::read()?
                && key.kind == KeyEventKind::Press
            {
                let interrupt = key.modifiers.contains(KeyModifiers::CONTROL);
                match key.code {
                    KeyCode::Char('c') if interrupt => return Ok(()),
                    KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                    KeyCode::Char('c') => self.call("math:hypot", &json!([3, 4])),
                    KeyCode::Char('s') => self.call("time:sleep", &json!([2])),
                    KeyCode::Char('g') => self.call(GENERATOR, &json!([["a", "b"], ["a", "c"]])),
                    KeyCode::Char('x') => self.cancel(),
                    _ => {}
                }
            }
        }
    }

    fn call(&mut self, function: &'static str, params: &Value) {
        let params = json!({"function": function, "params": params});
        // A stream request also hears of items and progress; a plain call has none.
        let asked = if function == GENERATOR {
            self.bridge.request_stream("py.call", params)
        } else {
            self.bridge.request("py.call", params)
        };
        let mut row = Row {
            id: asked.as_ref().ok().copied(),
            label: function,
            state: "…".into(),
            color: Color::Yellow,
        };
        if let Err(error) = asked {
            row.fail(&error);
        }
        self.rows.push(row);
    }

    /// Cancel the request that was asked last and still runs.
    fn cancel(&self) {
        if let Some(id) = self.rows.iter().rev().find_map(|row| row.id) {
            self.bridge.cancel(id);
        }
    }

    fn hear(&mut self, response: Response) {
        let id = Some(response.id);
        let Some(row) = self.rows.iter_mut().find(|row| row.id == id) else {
            return;
        };
        match response.part {
            ResponsePart::Item(news) | ResponsePart::Progress(news) => {
                row.state = format!("… {news}");
            }
            ResponsePart::Done(Ok(result)) => {
                let answer: Value = serde_json::from_str(result.get()).unwrap_or_default();
                let took = response.elapsed.as_secs_f64() * 1000.0;
                row.state = format!("{}  {took:.1} ms", answer["result"]);
                row.color = Color::Green;
                row.id = None;
            }
            ResponsePart::Done(Err(error)) => row.fail(&error),
        }
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let areas = Layout::vertical([Constraint::Length(1), Constraint::Min(3)]);
        let [top, rest] = areas.areas(frame.area());
        let spinner = SPINNER[self.frames / 2 % SPINNER.len()];
        let open = self.bridge.open_requests();
        let status = format!("{spinner} frame {}  {open} open", self.frames);
        frame.render_widget(Paragraph::new(status), top);
        let height = usize::from(rest.height.saturating_sub(2));
        let rows = self.rows.iter().rev().take(height).map(|row| {
            let text = format!("{:<16} {}", row.label, row.state);
            Line::styled(text, Style::new().fg(row.color))
        });
        let keys = " c call · s slow · g stream · x cancel · q quit ";
        frame.render_widget(List::new(rows).block(Block::bordered().title(keys)), rest);
    }
}

impl Row {
    fn fail(&mut self, error: &Error) {
        let hint = error.hint.as_deref().unwrap_or_default();
        self.state = format!("{}: {error} {hint}", error.code).replace('\n', " ");
        self.color = Color::Red;
        self.id = None;
    }
}

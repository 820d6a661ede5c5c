//! `pillion repl`: a terminal on a kernel.
//!
//! The line is edited on a thread of its own (`editor`); a cell is run by the kernel of a session,
//! or by one that somebody else started (`kernel`); what happens meanwhile goes to the screen as it
//! comes (`screen`). What cells write is code of others, so only text and colours of it reach the
//! terminal (`sanitize`). Without a terminal the same cells come from standard input.

pub(crate) mod editor;
mod kernel;
mod keys;
mod language;
mod picture;
mod python;
pub(crate) mod sanitize;
mod screen;
mod sixel;
pub(crate) mod terminal;

use std::cell::RefCell;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use pillion::{Code, Error, Result};
use pillion_kernel::{KernelLife, PYTHON};
use pillion_lanes::RunOutcome;
use pillion_notebook::CellEvent;
use pillion_notebook::operations::CellReply;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::backend::Backend;
use super::caller::CallerArgs;
use super::{Global, exec, output};
use editor::{COMPLETION, Editor, Line, News};
use kernel::{END_OF_INPUT, ReplKernel, Session, Survival};
use language::Language;
use picture::Show;
use screen::Screen;
use terminal::{AsBefore, TypedAnswer};

/// The session of a terminal that names none, and how many of them can be open at once.
const SESSION: &str = "repl";
const MOST: usize = 64;
/// So many Ctrl-C at one cell end its kernel.
const ENOUGH: usize = 3;
/// How often a kernel is told that somebody sits at the prompt.
const KEEP: Duration = Duration::from_secs(30);
/// As a shell says that it was interrupted.
const INTERRUPTED: u8 = 130;

/// What is told below the options.
const MORE: &str = "\
The kernel keeps what cells define. It has the packages of the project and a folder of its own, \
and sees nothing else of the machine.

Tab completes, `name?` tells about a name, Ctrl-R searches what was typed, Enter goes on where a \
cell is not finished, Alt-Enter always begins a new line. Ctrl-C stops a cell or clears the line; \
Ctrl-D, `exit` and `quit` leave.

Without a terminal the cells come from standard input: one statement after the other, or what \
stands between lines that begin with `# %%`. The first error ends it, with exit code 1.";

/// Type cells for a kernel behind walls, or pipe them into it.
#[derive(Debug, Args)]
#[command(after_long_help = MORE)]
pub(crate) struct Repl {
    /// The session whose kernel and folder it has; that kernel goes on when you leave.
    #[arg(long, value_name = "SESSION", conflicts_with = "existing")]
    session: Option<String>,
    /// What kind of kernel, by the name of its kernelspec; without one, Python.
    #[arg(long, value_name = "NAME", conflicts_with = "existing")]
    kernel: Option<String>,
    /// Join a kernel that runs: that of a session, or of a Jupyter connection file.
    #[arg(long, value_name = "SESSION|FILE")]
    existing: Option<PathBuf>,
    /// How pictures are shown.
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    pictures: Show,
    #[command(flatten)]
    caller: CallerArgs,
}

impl Repl {
    pub(crate) async fn run(self, global: &Global) -> Result<ExitCode> {
        let is_terminal = std::io::stdin().is_terminal()
            && std::io::stdout().is_terminal()
            && std::io::stderr().is_terminal();
        let text = match is_terminal {
            true => None,
            false => Some(exec::from_stdin()?),
        };
        let (kernel, is_ours) = self.find_kernel(global).await?;
        let language = kernel.language().await?;
        let way = match is_terminal {
            true => self.pictures.found(),
            false => Show::File,
        };
        let mut session = ReplSession {
            kernel,
            screen: RefCell::new(Screen::new(is_terminal, way)),
            interrupts: signal(SignalKind::interrupt()).map_err(Error::internal)?,
            ends: signal(SignalKind::terminate()).map_err(Error::internal)?,
            hang_ups: signal(SignalKind::hangup()).map_err(Error::internal)?,
            is_terminal,
            is_over: false,
        };
        let ended = match text {
            Some(text) => session.read(&language.cells(&text)).await,
            None => session.converse(is_ours, language).await,
        };
        if is_ours {
            // Nobody knows its name.
            let _ = session.kernel.end().await;
        }
        session.kernel.close().await;
        ended
    }

    /// Who runs the cells, and whether nobody else knows of it.
    async fn find_kernel(&self, global: &Global) -> Result<(ReplKernel, bool)> {
        let existing = self.existing.as_deref();
        if let Some(file) = existing.filter(|existing| is_file(existing)) {
            return Ok((ReplKernel::attach(file).await?, false));
        }
        let mut session = Session {
            backend: Backend::open(global).await?,
            caller: self.caller.clone().caller()?,
            name: SESSION.to_owned(),
            kernel: self.kernel.clone(),
        };
        if let Some(existing) = existing {
            session.name = existing.to_string_lossy().into_owned();
            let kernel = session.status(&session.name).await?;
            let runs = kernel.is_some_and(|kernel| {
                !matches!(kernel.state, KernelLife::Absent | KernelLife::Dead)
            });
            if !runs {
                let message = format!("session `{}` has no kernel that runs", session.name);
                session.backend.close().await;
                return Err(Error::new(Code::NotFound, message)
                    .hint("`pillion notebook status` lists them; `--session` starts one"));
            }
            return Ok((ReplKernel::Session(session), false));
        }
        if let Some(name) = &self.session {
            session.name.clone_from(name);
            return Ok((ReplKernel::Session(session), false));
        }
        // Whoever sat here before may have had another one.
        session.kernel.get_or_insert_with(|| PYTHON.to_owned());
        for number in 2..MOST {
            let kernel = session.status(&session.name).await?;
            if kernel.is_none_or(|kernel| kernel.state == KernelLife::Absent) {
                return Ok((ReplKernel::Session(session), true));
            }
            session.name = format!("{SESSION}-{number}");
        }
        session.backend.close().await;
        Err(Error::new(Code::Busy, "too many terminals are open")
            .hint("name a session: `--session`"))
    }
}

/// Whether this means a file, and not a session.
fn is_file(existing: &Path) -> bool {
    existing.components().count() > 1 || existing.is_file()
}

/// A conversation with a kernel.
struct ReplSession {
    kernel: ReplKernel,
    /// Written to while a cell is waited for.
    screen: RefCell<Screen>,
    interrupts: Signal,
    ends: Signal,
    hang_ups: Signal,
    is_terminal: bool,
    /// We were told to leave.
    is_over: bool,
}

impl ReplSession {
    /// Run cells until one fails.
    async fn read(&mut self, cells: &[String]) -> Result<ExitCode> {
        for code in cells {
            if leaves(code) {
                break;
            }
            let reply = self.cell(code).await?;
            if self.is_over {
                return Ok(ExitCode::from(INTERRUPTED));
            }
            if !reply.success {
                return Ok(ExitCode::from(exit_code(&reply)));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Read and run cells until whoever types leaves.
    async fn converse(&mut self, is_ours: bool, language: Language) -> Result<ExitCode> {
        let _as_before = AsBefore::now();
        // Nothing, so that there is a kernel, and its next number is known.
        let reply = self.cell("").await?;
        let mut number = reply.execution_count.unwrap_or_default() + 1;
        self.greet(is_ours).await;
        let mut editor = Editor::start(language)?;
        while !self.is_over {
            editor.read(number)?;
            match self.line(&mut editor).await? {
                Line::Cleared => {}
                Line::End => break,
                Line::Cell(code) if leaves(&code) => break,
                Line::Cell(code) if code.trim().is_empty() => {}
                Line::Cell(code) => match self.cell(&code).await {
                    Ok(reply) => {
                        number = reply.execution_count.map_or(number, |count| count + 1);
                        if !matches!(reply.outcome, RunOutcome::Ok | RunOutcome::Error) {
                            match self.kernel.survives().await {
                                Survival::Lives => {}
                                Survival::Follows => number = 1,
                                Survival::Gone => return Ok(ExitCode::FAILURE),
                            }
                        }
                    }
                    // The next one may do better: a kernel is started for it.
                    Err(error) => output::fail(&error, false),
                },
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn greet(&self, is_ours: bool) {
        let mut lines = vec![match &self.kernel {
            ReplKernel::Session(session) => {
                let kernel = session.status(&session.name).await.ok().flatten();
                let python = kernel.map(|kernel| kernel.python).unwrap_or_default();
                format!(
                    "pillion {} · {python} · session `{}`",
                    pillion::VERSION,
                    session.name
                )
            }
            ReplKernel::Attached(attached) => {
                format!("pillion {} · {}", pillion::VERSION, attached.about())
            }
        }];
        lines.push(match (&self.kernel, is_ours) {
            (ReplKernel::Session(_), true) => {
                "its kernel lives behind walls, and ends when you leave: Ctrl-D".to_owned()
            }
            (ReplKernel::Session(_), false) => {
                "its kernel lives behind walls, and goes on when you leave: Ctrl-D".to_owned()
            }
            (ReplKernel::Attached(_), _) => {
                "this kernel is not pillion's: there are no walls around it".to_owned()
            }
        });
        self.screen.borrow().greet(&lines);
    }

    /// What was typed; completions are looked up meanwhile.
    async fn line(&mut self, editor: &mut Editor) -> Result<Line> {
        let kernel = &self.kernel;
        // Who types on asks again, and is not interested in what was asked before.
        let mut lookup: Option<Aside<'_, ()>> = None;
        loop {
            let news = tokio::select! {
                news = editor.news.recv() => news,
                () = done(&mut lookup), if lookup.is_some() => {
                    lookup = None;
                    continue;
                }
                () = tokio::time::sleep(KEEP), if lookup.is_none() => {
                    lookup = Some(Box::pin(kernel.keep(COMPLETION)));
                    continue;
                }
                _ = self.ends.recv() => return Ok(cut_off()),
                _ = self.hang_ups.recv() => return Ok(cut_off()),
            };
            match news {
                Some(News::Line(line)) => return line,
                Some(News::Complete { code, cursor, to }) => {
                    lookup = Some(Box::pin(async move {
                        let found = kernel.complete(code, cursor, COMPLETION).await;
                        let _ = to.try_send(found);
                    }));
                }
                None => return Ok(Line::End),
            }
        }
    }

    /// Run a cell: show what it does, answer what it asks, stop it when told so.
    async fn cell(&mut self, code: &str) -> Result<CellReply> {
        let (kernel, screen) = (&self.kernel, &self.screen);
        screen.borrow_mut().begin();
        let (ask, mut asked) = mpsc::unbounded_channel();
        let run = kernel.run(code, |event| match event {
            CellEvent::InputRequest { prompt, password } => drop(ask.send((prompt, password))),
            event => screen.borrow_mut().hear(&event),
        });
        tokio::pin!(run);
        let mut answer: Option<TypedAnswer> = None;
        let mut aside: Option<Aside<'_, Result<()>>> = None;
        let (mut stops, mut is_ending) = (0, false);
        let outcome = loop {
            tokio::select! {
                outcome = &mut run => break outcome,
                Some((prompt, hidden)) = asked.recv() => {
                    screen.borrow_mut().question(&prompt);
                    match self.is_terminal {
                        true => answer = Some(TypedAnswer::begin(hidden).map_err(Error::internal)?),
                        // Standard input was the cells.
                        false => aside = Some(Box::pin(kernel.answer(END_OF_INPUT.to_owned()))),
                    }
                }
                line = typed(&mut answer), if answer.is_some() => {
                    answer = None;
                    screen.borrow_mut().typed();
                    let line = line.ok().flatten().unwrap_or_else(|| END_OF_INPUT.to_owned());
                    aside = Some(Box::pin(kernel.answer(line)));
                }
                outcome = done(&mut aside), if aside.is_some() => {
                    aside = None;
                    is_ending = false;
                    if let Err(error) = outcome {
                        screen.borrow_mut().note(&format!("{error}"));
                    }
                }
                _ = self.interrupts.recv() => {
                    answer = None;
                    stops += 1;
                    self.is_over |= !self.is_terminal;
                    if stops + 1 == ENOUGH {
                        let advice = "it still runs: one more Ctrl-C ends its kernel";
                        screen.borrow_mut().note(advice);
                    }
                    if stops < ENOUGH {
                        aside = Some(Box::pin(kernel.interrupt()));
                    } else if !is_ending {
                        // Whoever is impatient does not stop what ends it.
                        is_ending = true;
                        aside = Some(Box::pin(kernel.end()));
                    }
                }
                _ = self.ends.recv() => {
                    self.is_over = true;
                    aside = Some(Box::pin(kernel.interrupt()));
                }
                _ = self.hang_ups.recv() => {
                    self.is_over = true;
                    aside = Some(Box::pin(kernel.interrupt()));
                }
            }
        };
        let reply = outcome?;
        self.screen.borrow_mut().end(&reply);
        Ok(reply)
    }
}

/// Something that is done while a cell runs.
type Aside<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

async fn done<T>(aside: &mut Option<Aside<'_, T>>) -> T {
    match aside {
        Some(aside) => aside.await,
        None => std::future::pending().await,
    }
}

async fn typed(answer: &mut Option<TypedAnswer>) -> std::io::Result<Option<String>> {
    match answer {
        Some(answer) => answer.line().await,
        None => std::future::pending().await,
    }
}

/// The end of typing in the middle of a line: pastes are marked no more.
fn cut_off() -> Line {
    output::print_as_it_is("\u{1b}[?2004l\r\n");
    Line::End
}

/// Whether this is no cell, but a farewell.
fn leaves(code: &str) -> bool {
    matches!(code.trim(), "exit" | "quit" | "exit()" | "quit()")
}

/// As Python would end.
fn exit_code(reply: &CellReply) -> u8 {
    match &reply.error {
        Some(error) if error.ename == "SystemExit" => match error.evalue.as_str() {
            "" | "None" => 0,
            code => code.parse().unwrap_or(1),
        },
        _ => 1,
    }
}

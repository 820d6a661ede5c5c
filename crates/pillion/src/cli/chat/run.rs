//! `/run`: code of the last reply, or a file, in the lane of the learner.

use std::io::IsTerminal;
use std::path::Path;

use pillion::{Code, Error, Result};
use pillion_exec::operations::OutputPiece;
use pillion_lanes::RunOutcome;

use super::super::repl::sanitize::Cleaner;
use super::super::{exec, output};
use super::commands::{CodeBlock, code_blocks};
use super::conversation::{Conversation, Next};
use super::screen::Way;
use super::texts::block_list;
use super::tutor::Program;

impl Conversation {
    /// Run code of the last reply, or a file.
    pub(super) async fn run(&mut self, what: Option<String>) -> Result<Next> {
        let blocks = code_blocks(&self.screen.get_mut().last_reply);
        let blocks: Vec<CodeBlock> = blocks.into_iter().filter(CodeBlock::is_python).collect();
        let chosen = match (what, &*blocks) {
            (Some(what), _) => Some(what),
            (None, []) => {
                output::note("the last reply has no code to run; `/run FILE` runs a file");
                return Ok(Next::Failed);
            }
            (None, [_]) => Some("1".to_owned()),
            (None, blocks) => {
                let list = block_list(blocks);
                self.show(&list);
                if !self.is_typed {
                    return Ok(Next::Failed);
                }
                self.ask("run").await?
            }
        };
        let Some(chosen) = chosen else {
            return Ok(Next::GoOn);
        };
        let block = chosen.parse::<usize>().ok();
        let block = block.and_then(|number| blocks.get(number.checked_sub(1)?));
        let program = match block {
            Some(block) => Program::Code(block.code.clone()),
            None => {
                let files = self.tutor.files().await?;
                let is_in_workspace = files.iter().any(|file| file.name == chosen);
                match (is_in_workspace, Path::new(&chosen).is_file()) {
                    (true, _) => Program::InWorkspace(chosen),
                    (false, true) => Program::Here(chosen.into()),
                    (false, false) => {
                        output::note(&format!(
                            "`{chosen}` is neither code of the last reply nor a file; `/files` lists those of the session"
                        ));
                        return Ok(Next::Failed);
                    }
                }
            }
        };
        self.execute(program).await
    }

    async fn execute(&mut self, program: Program) -> Result<Next> {
        let mut printer = Printer::new(self.way);
        let run = self.tutor.run(program, |printed| printer.print(&printed));
        let reply = tokio::select! {
            reply = run => reply,
            // Dropping the call cancels it.
            _ = self.interrupts.recv() => Err(Error::new(Code::Cancelled, "it was cancelled")),
        };
        printer.end();
        let reply = reply?;
        match reply.outcome {
            RunOutcome::Ok => {
                self.note(&format!("it ran {:.0} ms", reply.execution_time_ms));
                return Ok(Next::GoOn);
            }
            RunOutcome::Error => self.note(&format!("it ended with code {}", reply.returncode)),
            RunOutcome::StartFailed => output::warn(reply.stderr.trim_end()),
            outcome => output::warn(&exec::said(outcome)),
        }
        Ok(Next::Failed)
    }
}

/// Shows what a program prints. It is code of others: text and colours pass, and nothing else.
struct Printer {
    way: Way,
    cleaner: Cleaner,
    is_at_begin: bool,
}

impl Printer {
    fn new(way: Way) -> Self {
        Self {
            way,
            cleaner: Cleaner::default(),
            is_at_begin: true,
        }
    }

    fn print(&mut self, printed: &OutputPiece) {
        if self.way == Way::Json {
            let line = serde_json::json!({
                "type": "output", "stream": printed.stream, "text": printed.text,
            });
            output::try_say(&line.to_string());
            return;
        }
        let colours = std::io::stdout().is_terminal() && !output::no_colour();
        let text = self.cleaner.clean(&printed.text, colours);
        if !text.is_empty() {
            self.is_at_begin = text.ends_with('\n');
            output::print_as_it_is(&text);
        }
    }

    fn end(&mut self) {
        let rest = self.cleaner.end();
        output::print_as_it_is(&rest);
        if !self.is_at_begin {
            output::print_as_it_is("\n");
        }
    }
}

//! `pillion chat`: a conversation about a chapter, in the terminal.
//!
//! A message is typed on a thread of its own (`editor`), or comes from a pipe; what it means is
//! read in `commands`, and what is answered to commands is written in `texts` and `run`. The session
//! is the engine's (`tutor`). What it says comes as events
//! (`events`) and is shown as it comes (`screen`): markdown is laid out in rows (`markdown`,
//! `lines`, `inline`, `rows`), of which the last may still change (`painter`). Without a course
//! there is the sample that this program carries.

mod commands;
mod conversation;
mod editor;
mod events;
mod inline;
mod lines;
mod markdown;
mod painter;
mod rows;
mod run;
pub(crate) mod screen;
mod texts;
mod tutor;

use std::io::{IsTerminal, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pillion::{Code, Error, Result};
use pillion_course::Roots;
use pillion_runtime::Dirs;
use serde_json::Value;

use super::backend::Backend;
use super::caller::CallerArgs;
use super::caller::from_here;
use super::{Global, output};
use conversation::Conversation;
use screen::{Screen, Way};
use tutor::{ChapterEntry, SessionInfo, Subject, Tutor};

/// Bytes of standard input behind a message that `-m` gives.
const INPUT: u64 = 1 << 20;

/// What is told below the options.
const MORE: &str = "\
Without `--course` the chapters are those of the engine, or else of the sample course that pillion \
brings along. Without a model (`LLM_API_KEY`, `LLM_PROVIDER`, `LLM_MODEL`, `LLM_BASE_URL`) an \
offline, scripted one answers.

Enter sends, Alt-Enter begins a new line, `/help` lists commands. Ctrl-C cancels the turn that is \
running, a second one leaves; so does Ctrl-D. The session stays: `--session` goes on with it.

Without a terminal each line of standard input is a message or a command, and each reply is \
printed when it is whole. `--json` prints every event as a line.";

/// Talk about a chapter with its companion, in the terminal.
#[derive(Debug, Args)]
#[command(after_long_help = MORE)]
pub(crate) struct Chat {
    /// The chapter, as `name` or `course/name`; chosen from a list if not given.
    #[arg(long, value_name = "ID")]
    chapter: Option<String>,
    /// The folder of the course, if it is not one that the engine knows.
    #[arg(long, value_name = "DIR")]
    course: Option<PathBuf>,
    /// Go on with this session, or give a new one this id.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// List the sessions there are.
    #[arg(long, conflicts_with_all = ["chapter", "course", "session", "message"])]
    list: bool,
    /// Send this one message, with what comes from standard input behind it.
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
    #[command(flatten)]
    caller: CallerArgs,
}

impl Chat {
    pub(crate) async fn run(self, global: &Global) -> Result<ExitCode> {
        let way = match (global.json, std::io::stdout().is_terminal()) {
            (true, _) => Way::Json,
            (false, true) => Way::Terminal,
            (false, false) => Way::Pipe,
        };
        let is_typed = way == Way::Terminal
            && std::io::stdin().is_terminal()
            && std::io::stderr().is_terminal()
            && self.message.is_none();
        // Read before anything is started: a mistake in it costs nothing then.
        let message = self.message.clone().map(with_input).transpose()?;
        let caller = self.caller.clone().caller()?;
        let tutor = Tutor::new(Backend::open(global).await?, caller);
        if self.list {
            let listed = tutor.sessions().await;
            tutor.backend.close().await;
            show_sessions(&listed?, global.json);
            return Ok(ExitCode::SUCCESS);
        }
        let mut conversation = Conversation::new(tutor, Screen::new(way), is_typed)?;
        let ended = self.converse(&mut conversation, message, is_typed).await;
        conversation.close().await;
        ended
    }

    async fn converse(
        &self,
        conversation: &mut Conversation,
        message: Option<String>,
        is_typed: bool,
    ) -> Result<ExitCode> {
        let sessions = match &self.session {
            Some(_) => conversation.tutor.sessions().await?,
            None => Vec::new(),
        };
        let known = |session: &&SessionInfo| Some(&session.session_id) == self.session.as_ref();
        match sessions.iter().find(known) {
            Some(session) => conversation.resume(session).await?,
            None => {
                let Some(subject) = self.subject(conversation, is_typed).await? else {
                    return Ok(ExitCode::SUCCESS);
                };
                conversation
                    .begin(&subject, self.session.as_deref())
                    .await?;
            }
        }
        match message {
            Some(message) => conversation.one(&message).await,
            None if is_typed => conversation.typed().await,
            None => conversation.piped().await,
        }
    }

    /// The chapter that is meant; nothing if whoever was asked does not want one.
    async fn subject(
        &self,
        conversation: &mut Conversation,
        is_typed: bool,
    ) -> Result<Option<Subject>> {
        let (course, chapters) = match &self.course {
            Some(course) => {
                let course = from_here(course);
                let chapters = chapters_in(&course)?;
                if chapters.is_empty() {
                    let message = format!("`{}` has no chapter", course.display());
                    return Err(Error::new(Code::NotFound, message)
                        .hint("`pillion course check DIR` says what is missing"));
                }
                (Some(course), chapters)
            }
            None => match conversation.tutor.chapters().await? {
                known if !known.is_empty() => (None, known),
                _ => {
                    let sample = sample()?;
                    let chapters = chapters_in(&sample)?;
                    (Some(sample), chapters)
                }
            },
        };
        let chapter = match (&self.chapter, &*chapters) {
            (Some(named), chapters) => full_id(named, chapters),
            (None, [only]) => only.chapter_id.clone(),
            (None, chapters) if is_typed => match conversation.choose(chapters).await? {
                Some(chosen) => chosen,
                None => return Ok(None),
            },
            // Nobody can be asked.
            (None, chapters) => {
                let ids: Vec<&str> = chapters.iter().map(|c| c.chapter_id.as_str()).collect();
                let message = "there are several chapters";
                return Err(Error::new(Code::InvalidParams, message)
                    .hint(format!("name one with `--chapter`: {}", ids.join(", "))));
            }
        };
        Ok(Some(Subject { chapter, course }))
    }
}

/// The whole id of a chapter that is named without its course, if there is only one such.
fn full_id(named: &str, chapters: &[ChapterEntry]) -> String {
    let ids = || chapters.iter().map(|chapter| chapter.chapter_id.as_str());
    let mut ends = ids().filter(|id| id.rsplit('/').next() == Some(named));
    match (ids().any(|id| id == named), ends.next(), ends.next()) {
        (false, Some(only), None) => only.to_owned(),
        _ => named.to_owned(),
    }
}

/// The folder with the sample course.
fn sample() -> Result<PathBuf> {
    let samples = Dirs::from_env().usable_data().join("samples");
    pillion_course::sample(&samples).map_err(|error| {
        let samples = samples.display();
        let message = format!("cannot write the sample course to `{samples}`: {error}");
        Error::new(Code::OutsideRoot, message).hint(
            "set `PILLION_HOME` to a folder that you can write, or name a course: `--course DIR`",
        )
    })
}

/// The chapters below a folder.
fn chapters_in(course: &Path) -> Result<Vec<ChapterEntry>> {
    let roots = Roots {
        curriculum: Some(course.to_owned()),
        ..Roots::default()
    };
    let found = pillion_course::chapters(&roots, None)
        .map_err(|error| Error::new(Code::NotFound, error.to_string()).hint(error.hint()))?;
    let entry = |chapter: pillion_course::ChapterInfo| ChapterEntry {
        chapter_id: chapter.chapter_id,
        title: chapter.title,
    };
    Ok(found.into_iter().map(entry).collect())
}

/// A message with what comes from a pipe behind it.
fn with_input(message: String) -> Result<String> {
    if std::io::stdin().is_terminal() {
        return Ok(message);
    }
    let mut input = String::new();
    let read = std::io::stdin()
        .lock()
        .take(INPUT)
        .read_to_string(&mut input);
    read.map_err(|error| {
        let message = format!("cannot read standard input: {error}");
        Error::new(Code::InvalidParams, message)
    })?;
    Ok(match input.trim() {
        "" => message,
        input => format!("{message}\n\n{input}"),
    })
}

fn show_sessions(sessions: &[SessionInfo], json: bool) {
    if json {
        let list: Vec<Value> = sessions
            .iter()
            .map(|session| {
                serde_json::json!({
                    "session_id": session.session_id,
                    "chapter_id": session.chapter_id,
                    "turn_index": session.turn_index,
                    "last_updated": session.last_updated,
                })
            })
            .collect();
        return output::say_json(&serde_json::json!({ "sessions": list }).to_string());
    }
    if sessions.is_empty() {
        return output::say("there are no sessions; `pillion chat` begins one");
    }
    let mut table = pillion_catalogue::text::table(["session", "chapter", "turns", "last turn"]);
    for session in sessions {
        let time = session
            .last_updated
            .as_str()
            .map_or_else(|| session.last_updated.to_string(), str::to_owned);
        table.add_row([
            session.session_id.clone(),
            session.chapter_id.clone(),
            session.turn_index.to_string(),
            time,
        ]);
    }
    output::say(&table.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chapter_is_known_by_its_last_name_where_only_one_has_it() {
        let chapters: Vec<ChapterEntry> = ["a/one", "b/two", "b/one", "three"]
            .into_iter()
            .map(|id| ChapterEntry {
                chapter_id: id.to_owned(),
                title: String::new(),
            })
            .collect();
        assert_eq!(full_id("two", &chapters), "b/two");
        assert_eq!(full_id("one", &chapters), "one");
        assert_eq!(full_id("b/one", &chapters), "b/one");
        assert_eq!(full_id("three", &chapters), "three");
        assert_eq!(full_id("unknown", &chapters), "unknown");
    }
}

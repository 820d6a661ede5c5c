//! Questions about text that is in no file, such as a cell that is being typed.
//!
//! An engine reads it as a file of a folder that is always empty: what it imports are the
//! packages of the Python that was named. There is one such text at a time and Python; whoever
//! asks next waits for the answer before.

use std::path::{Path, PathBuf};

use pillion_catalogue::{Caller, Code, Error, Result};
use pillion_engines::engine::LspPosition;
use pillion_engines::surroundings::Pythons;
use pillion_process::private_folder;
use pillion_symbols::ask::EngineView;
use pillion_symbols::project::View;

use crate::CodeService;

/// The folder, among those of the cache.
const FOLDER: &str = "unsaved";
/// The text, as engines know it.
const FILE: &str = "text.py";
/// Bytes of it.
const LONGEST: usize = 1 << 20;

/// A text, and the place in it that is asked about.
#[derive(Debug, Clone)]
pub struct Unsaved {
    /// The Python whose packages it imports.
    pub python: Option<PathBuf>,
    /// All of it.
    pub text: String,
    /// The line, from 0.
    pub line: u32,
    /// The column in characters, from 0.
    pub column: u32,
}

impl CodeService {
    /// Names that could stand at this place, those that fit best first.
    ///
    /// # Errors
    /// If no engine is there yet, or it gives no answer.
    pub async fn complete(&self, unsaved: &Unsaved) -> Result<Vec<String>> {
        let engine = self.reader(unsaved).await?;
        let (server, file) = (engine.server()?, engine.absolute(FILE));
        let at = LspPosition::new(unsaved.line, unsaved.column);
        let _turn = self.turn().lock().await;
        server.open_document(&file, &unsaved.text);
        server.completion(&file, at, engine.timeout).await
    }

    /// What is known about the name at this place, for people.
    ///
    /// # Errors
    /// As those of [`complete`](Self::complete).
    pub async fn describe(&self, unsaved: &Unsaved) -> Result<Option<String>> {
        let engine = self.reader(unsaved).await?;
        let (server, file) = (engine.server()?, engine.absolute(FILE));
        let at = LspPosition::new(unsaved.line, unsaved.column);
        let _turn = self.turn().lock().await;
        server.open_document(&file, &unsaved.text);
        let hover = server.hover(&file, at, engine.timeout).await?;
        // That is how ty says that it does not know.
        let known = hover.filter(|hover| hover.text.trim() != "Unknown");
        Ok(known.map(|hover| hover.text))
    }

    /// The engine that reads it, if that need not be fetched first: who types does not wait.
    async fn reader(&self, unsaved: &Unsaved) -> Result<EngineView> {
        if unsaved.text.len() > LONGEST {
            let what = format!("a text of more than {LONGEST} bytes is not read");
            return Err(Error::new(Code::InvalidParams, what));
        }
        let caller = Caller {
            python: unsaved.python.clone(),
            ..Caller::default()
        };
        let view = self.empty_folder().await?;
        let engines = view.project.engines();
        let around = engines.surroundings(&Pythons::of(&caller)).await?;
        let choice = around.project.config.code.engine;
        if engines.is_at_hand(choice, &around).await {
            return view.engine(None, &caller).await;
        }
        let what = format!("{} is not there yet", choice.name());
        Err(Error::new(Code::StartFailed, what).hint("`pillion env ensure` fetches it"))
    }

    async fn empty_folder(&self) -> Result<View> {
        let folder = self.dirs().usable_cache().join(FOLDER);
        private_folder::ensure(&folder).map_err(|error| cannot_make(&folder, &error))?;
        self.project(folder, false).view().await
    }
}

fn cannot_make(folder: &Path, error: &private_folder::PrivateDirError) -> Error {
    let what = format!("cannot make `{}`: {error}", folder.display());
    Error::new(Code::WriteFailed, what).hint("`PILLION_HOME` names another folder for such things")
}

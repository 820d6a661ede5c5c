//! Questions to an engine about one moment of a workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::{Caller, Code, Error, Result};
use pillion_engines::cache::{About, CacheKey, CachedAnswer};
use pillion_engines::engine::{self, LanguageServer, LspHover, LspLocation};
use pillion_engines::engines::EngineHandle;
use pillion_engines::jedi::JediQuestion;
use pillion_engines::surroundings::{Pythons, Surroundings};
use pillion_index::source::{Position, Source, Span};
use pillion_workspace::config::EngineChoice;

use crate::project::View;

/// An engine, and the moment it is asked about.
#[derive(Debug, Clone)]
pub struct EngineView {
    /// The moment it is asked about.
    pub view: View,
    /// Which engine it is.
    pub choice: EngineChoice,
    speaker: EngineHandle,
    /// What it depends on beside the files.
    pub around: Arc<Surroundings>,
    pythons: Pythons,
    /// How long an answer may take.
    pub timeout: Duration,
}

impl View {
    /// The engine for this view: the one that was asked for, or the workspace's own.
    pub async fn engine(&self, asked: Option<EngineChoice>, caller: &Caller) -> Result<EngineView> {
        let pythons = Pythons::of(caller);
        self.engine_with(asked, pythons, caller.timeout_ms).await
    }

    async fn engine_with(
        &self,
        asked: Option<EngineChoice>,
        pythons: Pythons,
        timeout_ms: Option<u64>,
    ) -> Result<EngineView> {
        let engines = self.project.engines();
        let around = engines.surroundings(&pythons).await?;
        let choice = asked.unwrap_or(around.project.config.code.engine);
        let timeout = match timeout_ms {
            Some(0) => {
                let what = "`timeout_ms` must be at least 1";
                return Err(Error::new(Code::InvalidParams, what));
            }
            Some(ms) => Duration::from_millis(ms.min(3_600_000)),
            None => Duration::from_secs_f64(around.project.config.code.timeout_s),
        };
        let speaker = engines.speaker(choice, &around, &self.index).await?;
        Ok(EngineView {
            view: self.clone(),
            choice,
            speaker,
            around,
            pythons,
            timeout,
        })
    }
}

impl EngineView {
    /// Its name as answers show it.
    pub fn name(&self) -> &'static str {
        self.choice.name()
    }

    /// The engine to ask where this one found nothing, if the workspace names one.
    pub(crate) async fn fallback(&self) -> Result<Option<Self>> {
        match self.around.project.config.code.fallback {
            Some(other) if other != self.choice => {
                let timeout_ms = u64::try_from(self.timeout.as_millis()).ok();
                let pythons = self.pythons.clone();
                let other = self.view.engine_with(Some(other), pythons, timeout_ms);
                other.await.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The language server, for questions that only one can answer.
    pub fn server(&self) -> Result<&LanguageServer> {
        match &self.speaker {
            EngineHandle::Server(server) => Ok(server),
            EngineHandle::Jedi(_) => Err(Error::new(
                Code::InvalidParams,
                "jedi does not answer this question",
            )
            .hint("leave `engine` out")),
        }
    }

    /// The absolute path of a file of the workspace.
    pub fn absolute(&self, path: &str) -> PathBuf {
        self.view.root().join(path)
    }

    /// Where the name at a place is defined.
    pub async fn definition(&self, path: &str, at: Position) -> Result<Arc<Vec<LspLocation>>> {
        self.places(About::Definition, path, at).await
    }

    /// Every use of the name at a place, with its definition.
    pub async fn references(&self, path: &str, at: Position) -> Result<Arc<Vec<LspLocation>>> {
        self.places(About::References, path, at).await
    }

    async fn places(
        &self,
        about: About,
        path: &str,
        at: Position,
    ) -> Result<Arc<Vec<LspLocation>>> {
        let question = self.question(about, path, at);
        let clock = self.view.snapshot.clock();
        let cache = &self.view.project.engines().cache;
        if let Some(CachedAnswer::Places(places)) = cache.get(&question, clock) {
            return Ok(places);
        }
        let file = self.absolute(path);
        let to = to_engine(at);
        self.prepare(&file);
        let places = match (&self.speaker, about) {
            (EngineHandle::Server(server), About::References) => {
                server.references(&file, to, true, self.timeout).await?
            }
            (EngineHandle::Server(server), _) => server.definition(&file, to, self.timeout).await?,
            (EngineHandle::Jedi(jedi), About::References) => {
                jedi.references(&self.asked(&file, to)).await?
            }
            (EngineHandle::Jedi(jedi), _) => jedi.definition(&self.asked(&file, to)).await?,
        };
        let places = Arc::new(places);
        cache.keep(question, clock, CachedAnswer::Places(Arc::clone(&places)));
        Ok(places)
    }

    /// What is known about the name at a place, for people.
    pub async fn hover(&self, path: &str, at: Position) -> Result<Arc<Option<LspHover>>> {
        let question = self.question(About::Hover, path, at);
        let clock = self.view.snapshot.clock();
        let cache = &self.view.project.engines().cache;
        if let Some(CachedAnswer::Hover(hover)) = cache.get(&question, clock) {
            return Ok(hover);
        }
        let file = self.absolute(path);
        let to = to_engine(at);
        self.prepare(&file);
        let hover = match &self.speaker {
            EngineHandle::Server(server) => server.hover(&file, to, self.timeout).await?,
            EngineHandle::Jedi(jedi) => jedi.hover(&self.asked(&file, to)).await?,
        };
        let hover = Arc::new(hover);
        cache.keep(question, clock, CachedAnswer::Hover(Arc::clone(&hover)));
        Ok(hover)
    }

    /// basedpyright says nothing about files that are not open.
    fn prepare(&self, file: &Path) {
        if let (EngineHandle::Server(server), EngineChoice::Basedpyright) =
            (&self.speaker, self.choice)
            && let Ok(bytes) = std::fs::read(file)
        {
            server.open_document(file, Source::decode(&bytes).text());
        }
    }

    /// A question as the cache knows it.
    pub fn question(&self, about: About, path: &str, at: Position) -> CacheKey {
        CacheKey {
            engine: self.choice,
            around: self.around.id,
            about,
            path: path.to_owned(),
            at,
        }
    }

    fn asked<'a>(&self, path: &'a Path, at: engine::LspPosition) -> JediQuestion<'a> {
        JediQuestion {
            clock: self.view.snapshot.clock(),
            path,
            at,
            timeout: self.timeout,
        }
    }
}

/// A place in the words of engines.
pub fn to_engine(at: Position) -> engine::LspPosition {
    engine::LspPosition::new(at.line, at.column)
}

/// A range of an engine in our own words.
pub fn span(range: engine::LspRange) -> Span {
    let place = |at: engine::LspPosition| Position {
        line: at.line,
        column: at.character,
    };
    Span {
        start: place(range.start),
        end: place(range.end),
    }
}

//! Functions of Python modules under names of their own, beside the operations.
//!
//! A door that is asked for a name the catalogue does not have asks here. What there is and
//! what a name means is decided where the functions are, at the moment of the question; here is
//! only remembered what was answered last, so that agents can be told when it changes.

use std::collections::HashMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::{
    Caller, Code, Door, Error, Failed, FunctionReply, FunctionRequest, Functions, Listing, Part,
    Result, SendBudget,
};
use pillion_process::stamp::Stamp;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::DoorState;
use crate::dispatch::{Asked, dispatch};

/// How often the modules' files are looked at while somebody wants to hear of changes.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The longest pause between two looks, while nobody can say what there is.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The functions of some modules.
#[derive(Debug)]
pub struct Exposed {
    /// Where the operations behind it are answered. The doors may lead elsewhere.
    state: DoorState,
    /// How they are asked for.
    functions: Arc<dyn Functions>,
    known: watch::Sender<Option<Known>>,
}

/// What was listed last, and how the files looked then.
#[derive(Debug, Clone)]
struct Known {
    listing: Arc<Listing>,
    stamps: Stamps,
}

impl Exposed {
    /// These functions, beside the operations of that state.
    pub fn new(state: DoorState, functions: Arc<dyn Functions>) -> Self {
        Self {
            state,
            functions,
            known: watch::Sender::new(None),
        }
    }

    /// What there is now, or why there is nothing.
    pub async fn list(&self, door: Door) -> Result<Arc<Listing>> {
        let FunctionRequest {
            operation,
            params,
            caller,
        } = self.functions.list()?;
        let asked = Asked {
            door,
            operation,
            params: Some(&params),
            caller,
            cancel: CancellationToken::new(),
            budget: SendBudget::default(),
        };
        // Before the question: an edit that comes while it is answered must not be missed.
        let before = self.last().map(|known| look(&known.files));
        let raw = dispatch(&self.state, asked, |_| async { true }).await?;
        let listing = self.functions.listing(&raw)?;
        for Failed { module, error } in &listing.failed {
            tracing::warn!(module, %error, "a module cannot be exposed");
        }
        let listing = Arc::new(listing);
        let mut stamps = look(&listing.files);
        for (file, stamp) in before.into_iter().flatten() {
            stamps.entry(file).and_modify(|now| *now = stamp);
        }
        self.known.send_replace(Some(Known {
            listing: Arc::clone(&listing),
            stamps,
        }));
        match listing.failed.first() {
            Some(failed) if listing.tools.is_empty() => Err(failed.error.clone()),
            _ => Ok(listing),
        }
    }

    /// What there was when an answer of this version was given.
    pub(crate) async fn list_at(&self, door: Door, version: &str) -> Result<Arc<Listing>> {
        let known = self.last().filter(|known| known.version == version);
        match known {
            Some(known) => Ok(known),
            None => self.list(door).await,
        }
    }

    /// What was listed last.
    pub(crate) fn last(&self) -> Option<Arc<Listing>> {
        let known = self.known.borrow();
        known.as_ref().map(|known| Arc::clone(&known.listing))
    }

    /// Call the function that `asked` names. With `stream`, the values of a generator go to
    /// `tell` one by one; otherwise they are the result.
    pub(crate) async fn call<F>(
        &self,
        asked: Asked<'_>,
        stream: bool,
        tell: impl FnMut(Part) -> F,
    ) -> Result<FunctionReply>
    where
        F: Future<Output = bool>,
    {
        let FunctionRequest {
            operation,
            params,
            caller,
        } = self.functions.call(asked.operation, asked.params, stream)?;
        let caller = Caller {
            timeout_ms: asked.caller.timeout_ms.or(caller.timeout_ms),
            ..caller
        };
        let (name, door) = (asked.operation, asked.door);
        let asked = Asked {
            operation,
            params: Some(&params),
            caller,
            ..asked
        };
        match dispatch(&self.state, asked, tell).await {
            Ok(raw) => self.functions.given(&raw),
            // A function that is there may fail to find something, too.
            Err(error) if error.code == Code::NotFound && !self.has(door, name).await => {
                let mut unknown = Error::new(Code::UnknownOperation, error.message);
                unknown.hint = error.hint;
                Err(unknown)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether there is a function of this name now. Where that cannot be known, there may be one.
    async fn has(&self, door: Door, name: &str) -> bool {
        match self.list(door).await {
            Ok(listing) => {
                let mut all = listing.tools.iter();
                all.any(|one| one.name == name || one.qualified == name)
            }
            Err(_) => true,
        }
    }

    /// Wait until there are other functions than those of `version`, or nobody is
    /// interested any more. Nothing is started for it: the first listing is what changes.
    pub(crate) async fn changed(
        &self,
        door: Door,
        version: &mut Option<String>,
        gone: impl Fn() -> bool,
    ) {
        let mut known = self.known.subscribe();
        let mut pause = LOOK_EVERY;
        while !gone() {
            let now = known.borrow_and_update().clone();
            if let Some(Known { listing, stamps }) = now {
                let before = version.replace(listing.version.clone());
                if before.is_some_and(|before| before != listing.version) {
                    return;
                }
                if look(&listing.files) == stamps {
                    pause = LOOK_EVERY;
                } else if self.list(door).await.is_ok() || self.is_newer(&stamps) {
                    continue;
                } else {
                    // Whoever lists them could not be asked, which may pass without an edit.
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
            tokio::select! {
                news = known.changed() => if news.is_err() {
                    std::future::pending::<()>().await;
                },
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Whether what is known is of other files than those that looked so: a listing may have come
    /// of a module that cannot be imported just now, which is an error and news.
    fn is_newer(&self, stamps: &Stamps) -> bool {
        let known = self.known.borrow();
        known.as_ref().is_some_and(|known| known.stamps != *stamps)
    }
}

/// How files look. Time and size alone are not enough: `cp -p` and `rsync` keep both.
type Stamps = HashMap<PathBuf, Stamp>;

fn look(files: &[PathBuf]) -> Stamps {
    let stamped = files.iter().map(|file| (file.clone(), Stamp::of(file)));
    stamped.collect()
}

/// Answer a request: by an operation, or by an exposed function where there is no such
/// operation. Its values are streamed if `stream` says so.
pub(crate) async fn answer<F>(
    state: &DoorState,
    asked: Asked<'_>,
    stream: bool,
    tell: impl FnMut(Part) -> F,
) -> Result<Box<RawValue>>
where
    F: Future<Output = bool>,
{
    match state.exposing(asked.operation) {
        Some(exposed) => {
            // A call is work of this catalogue, whoever does it.
            let _lease = state.catalogue.activity().lease();
            Ok(exposed.call(asked, stream, tell).await?.result)
        }
        None => dispatch(state, asked, tell).await,
    }
}

impl DoorState {
    /// Who answers for this name, if it is no operation.
    pub(crate) fn exposing(&self, name: &str) -> Option<&Exposed> {
        let exposed = self.exposed.as_deref()?;
        self.catalogue.get(name).is_none().then_some(exposed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use clap::Args;
    use pillion_catalogue::{Catalogue, Context, DoorMode, Operation, Operations, Peer, Safety};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;

    /// The functions of a file, named by its text, while they can be asked for.
    #[derive(Debug)]
    struct Texts {
        file: PathBuf,
        is_away: AtomicBool,
    }

    /// Tell what there is.
    #[derive(Serialize, Deserialize, JsonSchema, Args)]
    struct Tell {}

    impl Operation for Tell {
        const NAME: &'static str = "test.tell";
        const SAFETY: Safety = Safety::Read;
        type Service = Texts;
        type Output = serde_json::Value;

        async fn run(self, cx: Context<Texts>) -> Result<serde_json::Value> {
            let texts = cx.service();
            // Only the first question fails.
            if texts.is_away.swap(false, Ordering::Relaxed) {
                return Err(Error::new(Code::StartFailed, "not now"));
            }
            let text = std::fs::read_to_string(&texts.file).map_err(Error::internal)?;
            Ok(json!({ "tools": [], "files": [texts.file], "failed": [], "version": text }))
        }
    }

    #[derive(Debug)]
    struct ByTell;

    impl Functions for ByTell {
        fn list(&self) -> Result<FunctionRequest> {
            Ok(FunctionRequest {
                operation: Tell::NAME,
                params: RawValue::from_string("{}".into()).map_err(Error::internal)?,
                caller: Caller::default(),
            })
        }

        fn call(&self, _: &str, _: Option<&RawValue>, _: bool) -> Result<FunctionRequest> {
            self.list()
        }

        fn listing(&self, answer: &RawValue) -> Result<Listing> {
            serde_json::from_str(answer.get()).map_err(Error::internal)
        }

        fn given(&self, answer: &RawValue) -> Result<FunctionReply> {
            serde_json::from_str(answer.get()).map_err(Error::internal)
        }
    }

    #[tokio::test]
    async fn an_edit_is_news_although_nobody_could_be_asked_at_first() {
        let folder = tempfile::tempdir().unwrap();
        let texts = Arc::new(Texts {
            file: folder.path().join("a.py"),
            is_away: AtomicBool::new(false),
        });
        std::fs::write(&texts.file, "first").unwrap();
        let mut catalogue = Catalogue::default();
        catalogue.add(Operations::default().with::<Tell>(), &texts);
        let state = DoorState {
            catalogue: Arc::new(catalogue),
            shutdown: CancellationToken::new(),
            root: None,
            surroundings: Caller::default(),
            peer: Peer::default(),
            exposed: None,
            mode: DoorMode::Plain,
            event_types: &[],
        };
        let exposed = Exposed::new(state, Arc::new(ByTell));
        exposed.list(Door::Mcp).await.unwrap();
        let mut version = Some("first".to_owned());
        std::fs::write(&texts.file, "second").unwrap();
        texts.is_away.store(true, Ordering::Relaxed);
        let news = exposed.changed(Door::Mcp, &mut version, || false);
        tokio::time::timeout(LONGEST_PAUSE, news).await.unwrap();
        assert_eq!(version.as_deref(), Some("second"));
    }

    #[test]
    fn an_edit_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let files = [folder.path().join("a.py")];
        std::fs::write(&files[0], "1").unwrap();
        let first = look(&files);
        assert_eq!(look(&files), first);
        std::fs::write(&files[0], "12").unwrap();
        let second = look(&files);
        assert_ne!(second, first);
        std::fs::remove_file(&files[0]).unwrap();
        assert_ne!(look(&files), second);
    }
}

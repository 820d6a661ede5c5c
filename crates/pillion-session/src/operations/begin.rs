//! `session.new` and `session.reattach`: a session begins, or is taken up.

use std::sync::Arc;

use pillion_catalogue::{
    Context, Error, Method, Offer, Operation, Result, Safety, Scope, commit, invalid_field, work,
};
use pillion_course::{Chapter, ChapterId, Roots};
use pillion_process::Secret;
use pillion_sync::Backend;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::frozen;
use crate::content::Contents;
use crate::context::DesktopContext;
use crate::create::{self, Plan};
use crate::files::FileSource;
use crate::folder::{Folder, Record, hold, names};
use crate::load::Paths;
use crate::{SessionService, content, load, turn};

/// Begin a session on a chapter.
///
/// Where the chapter is comes from the context that a desktop hands over, else from the folders
/// that pillion was started with.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "New")]
#[serde(deny_unknown_fields)]
pub struct NewSession {
    /// The chapter: `name` or `course/name`.
    pub chapter_id: String,
    /// Where its content is.
    #[arg(long, value_name = "JSON", value_parser = context)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desktop_context: Option<DesktopContext>,
    /// A name for the session; without one it gets one.
    #[arg(long, value_name = "ID")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The backend that turns are sent to.
    #[arg(long, value_name = "URL")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_url: Option<String>,
    /// What the backend knows the learner by. It is kept in memory only.
    #[arg(skip)]
    #[serde(default, skip_serializing)]
    pub auth_token: Option<Token>,
}

/// A token in a request: it is read, and never shown.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Token(
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    Secret,
);

impl Token {
    pub(crate) fn secret(self) -> Secret {
        self.0
    }
}

fn secret<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Secret, D::Error> {
    String::deserialize(deserializer).map(Secret::new)
}

fn context(text: &str) -> Result<DesktopContext, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// A session that has begun.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Begun {
    /// The session.
    pub session_id: String,
    /// What the companion says first.
    pub initial_message: String,
    /// What the learner finds in the workspace.
    pub workspace: ChapterFiles,
}

/// What came with the chapter.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Found")]
pub struct ChapterFiles {
    /// There is code to begin with.
    pub has_starter_code: bool,
    /// There is data.
    pub has_datasets: bool,
    /// The files.
    pub files: Vec<FoundFile>,
}

/// A file that came with the chapter.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FoundFile {
    /// Its name.
    pub name: String,
    /// Where it came from.
    pub source: FileSource,
}

impl Operation for NewSession {
    const NAME: &'static str = "session.new";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Folder;
    const OFFER: Offer = Offer::PLAIN.routes(&[frozen(Method::Post, "/api/session/new")]);
    type Service = SessionService;
    type Output = Begun;

    fn text(result: &str) -> Option<String> {
        let begun: Begun = serde_json::from_str(result).ok()?;
        Some(format!(
            "session {}\n\n{}",
            begun.session_id, begun.initial_message
        ))
    }

    async fn run(self, cx: Context<SessionService>) -> Result<Begun> {
        create(&cx, self).await
    }
}

/// Begin a session.
async fn create(cx: &Context<SessionService>, new: NewSession) -> Result<Begun> {
    let service = cx.service();
    service.sweep();
    let id = match &new.session_id {
        Some(id) => id.clone(),
        None => create::new_id()?,
    };
    create::check_new_id(&id)?;
    let backend = backend(new.backend_url.as_deref())?;
    let overlays = service.contents.store();
    let (root, roots) = (service.root(), service.roots(cx));
    let (chapter_id, context) = (new.chapter_id.clone(), new.desktop_context);
    let (name, url) = (id.clone(), new.backend_url.clone());
    let made = commit(move || -> Result<_> {
        let chapter = content::resolve(&roots, &chapter_id, context.as_ref())?;
        let plan = Plan {
            id: name,
            chapter,
            overlays,
            context,
            curriculum: roots.curriculum.clone(),
            backend_url: url,
        };
        let sources = create::create(&root, &plan)?;
        Ok((sources, turn::welcome(&plan.chapter), plan))
    });
    let (sources, initial_message, plan) = made.await??;
    service.note_attached(&id);
    if let Some(url) = backend {
        let (chapter, context) = (&plan.chapter.id, plan.context.as_ref());
        attach(service, &id, url, new.auth_token, chapter, context);
    }
    let file = |name: &String| FoundFile {
        name: name.clone(),
        source: FileSource::Bundle,
    };
    let files = sources.workspace.iter().chain(&sources.datasets).map(file);
    Ok(Begun {
        session_id: id,
        initial_message,
        workspace: ChapterFiles {
            has_starter_code: !sources.workspace.is_empty(),
            has_datasets: !sources.datasets.is_empty(),
            files: files.collect(),
        },
    })
}

/// Take up a session that lies on the disk, also one that a desktop restored there.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Reattach {
    /// The session.
    pub session_id: String,
    /// Where the content of its chapter is now.
    #[arg(long, value_name = "JSON", value_parser = context)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desktop_context: Option<DesktopContext>,
    /// The backend that turns are sent to.
    #[arg(long, value_name = "URL")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_url: Option<String>,
    /// What the backend knows the learner by. It is kept in memory only.
    #[arg(skip)]
    #[serde(default, skip_serializing)]
    pub auth_token: Option<Token>,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Attached {
    /// It was taken up.
    Reattached,
    /// It was known, and nothing new was said about it.
    AlreadyAttached,
}

/// Whether it was taken up.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AttachStatus {
    /// What became of it.
    pub status: Attached,
}

impl Operation for Reattach {
    const NAME: &'static str = "session.reattach";
    const SAFETY: Safety = Safety::Write;
    const OFFER: Offer =
        Offer::PLAIN.routes(&[frozen(Method::Post, "/api/session/{session_id}/reattach")]);
    type Service = SessionService;
    type Output = AttachStatus;

    async fn run(self, cx: Context<SessionService>) -> Result<AttachStatus> {
        let status = reattach(&cx, self).await?;
        Ok(AttachStatus { status })
    }
}

/// Take up a session.
async fn reattach(cx: &Context<SessionService>, asked: Reattach) -> Result<Attached> {
    let id = asked.session_id.clone();
    let service = cx.service();
    let folder = Folder::find(&service.root(), &id)?;
    let backend = backend(asked.backend_url.as_deref())?;
    let is_new = !service.is_attached(&id);
    let says_more =
        asked.desktop_context.is_some() || backend.is_some() || asked.auth_token.is_some();
    if !is_new && !says_more {
        return Ok(Attached::AlreadyAttached);
    }
    let (contents, roots) = (Arc::clone(&service.contents), service.roots(cx));
    let (context, url) = (asked.desktop_context, asked.backend_url);
    let claim = match service.claim(&id).await {
        Ok(claim) => claim,
        Err(busy) => {
            // Whoever comes back while a turn runs says what is known, and may have a new token.
            let known = work(move |_| {
                as_known(&folder, context.as_ref(), url.as_deref(), &roots, &contents)
            });
            let (chapter, paths) = known.await??.ok_or(busy)?;
            attach_backend(service, &id, &paths, asked.auth_token, &chapter);
            return Ok(Attached::AlreadyAttached);
        }
    };
    let done = commit(move || -> Result<_> {
        let mut held = hold(&folder)?;
        let snapshot = load::snapshot(&folder)?;
        let mut paths = snapshot.paths;
        // Nobody sweeps it away before the session names it.
        let mut overlay = None;
        let chapter = match &context {
            // A context that leads nowhere changes nothing.
            Some(context) => {
                let chapter = content::resolve(&roots, &snapshot.state.chapter_id, Some(context))?;
                let kept = content::keep(&chapter, &contents.store())?;
                paths.overlay = Some(kept.id().to_owned());
                overlay = Some(kept);
                paths.desktop_context = Some(context.clone());
                Arc::new(chapter)
            }
            None => {
                let state = &snapshot.state;
                contents.of_session(&roots, &state.chapter_id, &paths)?
            }
        };
        if url.is_some() {
            paths.backend_url = url;
        }
        let mut record = Record::default();
        record.json(names::PATHS, &paths).map_err(Error::internal)?;
        folder.commit(&mut held, record)?;
        let unsent = held.unsent.clone();
        folder.settle(&mut held)?;
        drop(overlay);
        Ok((chapter, paths, unsent))
    });
    let (chapter, paths, unsent) = done.await??;
    drop(claim);
    service.note_attached(&id);
    attach_backend(service, &id, &paths, asked.auth_token, &chapter);
    if !unsent.is_empty() {
        service
            .sync
            .enqueue(&id, unsent)
            .await
            .map_err(Error::internal)?;
    }
    Ok(Attached::Reattached)
}

/// The chapter and the record of a session, if nothing else is said about it than is known.
fn as_known(
    folder: &Folder,
    context: Option<&DesktopContext>,
    url: Option<&str>,
    roots: &Roots,
    contents: &Contents,
) -> Result<Option<(Arc<Chapter>, Paths)>> {
    let (state, paths) = (load::state(folder)?, load::paths(folder)?);
    let is_known = (context.is_none() || context == paths.desktop_context.as_ref())
        && (url.is_none() || url == paths.backend_url.as_deref());
    if !is_known {
        return Ok(None);
    }
    let chapter = contents.of_session(roots, &state.chapter_id, &paths)?;
    Ok(Some((chapter, paths)))
}

/// Attach the backend of a session, if it has one.
fn attach_backend(
    service: &SessionService,
    id: &str,
    paths: &Paths,
    token: Option<Token>,
    chapter: &Chapter,
) {
    if let Some(url) = paths.backend_url.clone().filter(|url| !url.is_empty()) {
        let context = paths.desktop_context.as_ref();
        attach(service, id, url, token, &chapter.id, context);
    }
}

fn attach(
    service: &SessionService,
    id: &str,
    url: String,
    token: Option<Token>,
    chapter: &ChapterId,
    context: Option<&DesktopContext>,
) {
    let scope = context.map(|context| &context.chapter_scope);
    let course = scope.and_then(|scope| scope.course_id.clone());
    let backend = Backend {
        url,
        token: token.map(Token::secret).filter(|t| !t.expose().is_empty()),
        chapter: chapter.name().to_owned(),
        course_id: course.or_else(|| chapter.course().map(ToOwned::to_owned)),
    };
    // The session goes on without: what it has for the backend waits.
    if let Err(error) = service.sync.attach(id, &backend) {
        tracing::warn!(session = id, %error, "no backend is attached");
    }
}

/// A backend that was named, if it can be one; an empty text is none.
fn backend(url: Option<&str>) -> Result<Option<String>> {
    let Some(url) = url.filter(|url| !url.is_empty()) else {
        return Ok(None);
    };
    let backend = Backend {
        url: url.to_owned(),
        token: None,
        chapter: "any".to_owned(),
        course_id: None,
    };
    backend.check().map_err(|error| {
        let told = invalid_field("backend_url", "url_parsing", error.to_string());
        told.hint(error.hint())
    })?;
    Ok(Some(backend.url))
}

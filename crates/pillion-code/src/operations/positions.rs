//! Questions about one place, or about several at once.

use futures::StreamExt;
use futures::stream;
use pillion_catalogue::{Caller, Code, Context, Error, Result};
use pillion_index::answers::{Answer, Outcome};
use pillion_index::place;
use pillion_index::text::Text;
use pillion_symbols::ask::EngineView;
use pillion_symbols::named;
use pillion_symbols::project::View;
use pillion_symbols::spotted::Spotted;
use pillion_workspace::config::EngineChoice;

use crate::CodeService;
use crate::params::{Asked, At, Place};

/// Places of one request that are asked about at the same time.
const AT_ONCE: usize = 8;

/// Answer a question about each place of a request.
pub(crate) async fn answer<T, F>(
    cx: &Context<CodeService>,
    caller: &Caller,
    at: &At,
    engine: Option<EngineChoice>,
    one: impl Fn(EngineView, Spotted) -> F,
) -> Result<Answer<T>>
where
    T: Text,
    F: Future<Output = Result<T>>,
{
    let (spots, many) = at.asked()?;
    let about = spots.first().and_then(Asked::about);
    // A folder is no place, and to open one as a workspace only to say so may take long.
    let names_root = caller.root.is_some();
    if let Some(folder) = about
        .as_ref()
        .filter(|path| !many && !names_root && path.is_dir())
    {
        return Err(no_file(&folder.display().to_string()));
    }
    let view = CodeService::view(cx, caller, about.as_deref()).await?;
    if !many {
        let Some(spot) = spots.first() else {
            return Err(Error::internal("a request about no place"));
        };
        // What is wrong with the request is told before an engine is set up for it.
        let spot = spotted(&view, spot)?;
        let engine = view.engine(engine, caller).await?;
        let answer = one(engine, spot).await?;
        return Ok(Answer::one(answer, view.unread()).in_format(caller.format()));
    }
    let engine = view.engine(engine, caller).await?;
    let ask = async |spot: &Asked| one(engine.clone(), spotted(&view, spot)?).await;
    let results = stream::iter(&spots).map(ask).buffered(AT_ONCE);
    let results = results.map(|outcome| match outcome {
        Ok(answer) => Outcome::Answered(answer),
        Err(error) => Outcome::Failed { error },
    });
    let answer = Answer::Many {
        results: results.collect().await,
        unread: view.unread(),
    };
    Ok(answer.in_format(caller.format()))
}

fn no_file(path: &str) -> Error {
    Error::new(
        Code::NotFound,
        format!("`{path}` is no file that can be read"),
    )
    .hint("name a file, not a folder, and check that it may be read")
}

/// The place that a request is about.
pub(crate) fn spotted(view: &View, asked: &Asked) -> Result<Spotted> {
    let spot = match asked {
        Asked::Spot(spot) => spot,
        Asked::Written(text, file) => {
            let scope = match file {
                Some(file) => Some(place::inside(view.root(), file)?),
                None => None,
            };
            let meant = named::meant(view, text, scope.as_deref())?;
            return Ok(Spotted {
                path: meant.file,
                at: meant.at.unwrap_or_default(),
                source: meant.source,
                is_module: meant.at.is_none(),
            });
        }
    };
    let at = spot.position()?;
    let path = place::inside(view.root(), &spot.file)?;
    let source = view.source(path.as_ref()).ok_or_else(|| no_file(&path))?;
    Ok(Spotted {
        path,
        at,
        source,
        is_module: false,
    })
}

/// The workspace that a request about one place means, and the place.
pub(crate) async fn one(cx: &Context<CodeService>, place: &Place) -> Result<(View, Spotted)> {
    let asked = place.asked()?;
    let view = CodeService::view(cx, cx.caller(), asked.about().as_deref()).await?;
    let spot = spotted(&view, &asked)?;
    Ok((view, spot))
}

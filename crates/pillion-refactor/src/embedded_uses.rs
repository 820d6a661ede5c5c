//! Where code that texts hold means what is changed: doctests, `python -c`, scripts.

use std::collections::BTreeSet;
use std::path::Path;

use pillion_catalogue::{Result, work};
use pillion_symbols::ask::EngineView;
use pillion_symbols::occurrences::Sort;
use pillion_symbols::open_files::{self, FileSpan, OpenFiles};

use super::embedded::{self, Embedded, Form, Sought};
use super::subject::Subject;

/// All places in such code that mean it.
pub(super) async fn find(engine: &EngineView, subject: &Subject) -> Result<Vec<Embedded>> {
    let Some(sought) = sought(engine, subject) else {
        return Ok(Vec::new());
    };
    let view = engine.view.clone();
    work(move |_| embedded::uses(&view.index, &view.snapshot, &sought)).await
}

/// What to look for in code that texts hold; nothing of what nobody else can know.
fn sought(engine: &EngineView, subject: &Subject) -> Option<Sought> {
    let mut opened = OpenFiles::new(&engine.view);
    let (mut homes, mut owners) = (BTreeSet::new(), BTreeSet::new());
    for (path, span) in &subject.closure {
        let defined = opened.defined_at(path, span.start);
        let is_global = defined.is_some_and(|d| !d.name_path.contains('/'));
        if subject.sort == Sort::Plain && !is_global {
            continue;
        }
        homes.insert(opened.name(path).0);
        owners.insert(open_files::module_name(path));
    }
    if subject.alias || homes.is_empty() {
        return None;
    }
    let mut named = |place: &FileSpan| {
        let source = opened.source(&place.0)?;
        source.slice(place.1).map(str::to_owned)
    };
    let form = match subject.sort {
        Sort::Plain => {
            // Who imports a name has it as well, and others import it from there.
            homes.extend(subject.places.keys().cloned());
            let modules = homes.iter().map(Path::new);
            owners.extend(modules.map(open_files::module_name));
            Form::Name
        }
        Sort::Member => {
            owners.extend(subject.family.classes.iter().filter_map(&mut named));
            Form::Attribute
        }
        Sort::Parameter => {
            let classes = subject.target.classes.iter().filter_map(&mut named);
            let functions = subject.target.names.iter().cloned();
            Form::Keyword(functions.chain(classes).collect())
        }
    };
    Some(Sought {
        name: subject.name.clone(),
        form,
        homes,
        owners,
    })
}

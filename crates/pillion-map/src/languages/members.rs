//! What belongs to the types of a codebase though it stands beside them: methods of Go and
//! Rust, and the interfaces that a type fulfils without naming them as bases.
//!
//! Whose they are is said by a path, so they are found once paths can be resolved.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use pillion_index::language::Language;

use super::codebase::{Codebase, Members, Place};
use super::manifests::Manifests;
use super::outline::DefKind;
use super::outlined_file::OutlinedFile;
use super::resolve::{Thing, Viewer};

/// All files of a language at one moment, with the members of their types.
pub(super) fn codebase(
    language: Language,
    files: Vec<Arc<OutlinedFile>>,
    manifests: Arc<Manifests>,
) -> Codebase {
    let mut codebase = Codebase::new(language, files, manifests);
    codebase.members = members(&codebase);
    codebase
}

fn members(codebase: &Codebase) -> Members {
    let viewer = Viewer::new(codebase);
    let mut members = Members::default();
    for (id, outlined) in (0..).zip(&codebase.files) {
        for (def_id, def) in (0..).zip(&outlined.outline.defs) {
            let Some(owner) = &def.owner else {
                continue;
            };
            if let Thing::Def(class) = viewer.path((id, def.parent), owner) {
                let all = members.methods.entry(class).or_default();
                all.entry(def.name.clone()).or_default().push((id, def_id));
            }
        }
        for (def, kind, base) in &outlined.outline.fulfils {
            let [kind, base] = [kind, base].map(|path| viewer.path((id, *def), path));
            if let (Thing::Def(class), Thing::Def(base)) = (kind, base) {
                members.fulfils.entry(class).or_default().push(base);
            }
        }
    }
    if codebase.language == Language::Go {
        implicit(codebase, &mut members);
    }
    members
}

/// Go: a type fulfils an interface by having methods of all its names.
fn implicit(codebase: &Codebase, members: &mut Members) {
    let mut types: HashMap<&str, Vec<Place>> = HashMap::new();
    for (class, methods) in &members.methods {
        for name in methods.keys() {
            types.entry(name).or_default().push(*class);
        }
    }
    let mut found: Vec<(Place, Place)> = Vec::new();
    for (id, outlined) in (0..).zip(&codebase.files) {
        for (def_id, def) in (0..).zip(&outlined.outline.defs) {
            if def.kind != DefKind::Class {
                continue;
            }
            let asked: BTreeSet<&str> = outlined
                .outline
                .children(def_id)
                .filter(|(_, method)| method.kind == DefKind::Function)
                .map(|(_, method)| &*method.name)
                .collect();
            let Some(first) = asked.first() else {
                continue;
            };
            for class in types.get(first).into_iter().flatten() {
                let has = |name: &&str| !members.named(*class, name).is_empty();
                if asked.iter().all(has) {
                    found.push((*class, (id, def_id)));
                }
            }
        }
    }
    for (class, interface) in found {
        members.fulfils.entry(class).or_default().push(interface);
    }
    for all in members.fulfils.values_mut() {
        all.sort_unstable();
    }
}

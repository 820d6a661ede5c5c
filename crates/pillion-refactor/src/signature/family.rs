//! What a change means for the functions that stand for the one that was meant.

use super::parameters::{Kind, Parameter, check};

/// What a change of one function means for another that stands for it: either may have
/// parameters of its own behind the common ones. Nothing if it passes on whatever it gets.
pub(super) fn follow(
    own: &[Parameter],
    old: &[Parameter],
    new: &[Parameter],
) -> Result<Option<Vec<Parameter>>, Unlike> {
    let takes_all = |kind| own.iter().any(|p| p.kind == kind);
    let is_plain = |p: &&Parameter| !matches!(p.kind, Kind::Rest | Kind::Keywords);
    if own.iter().filter(is_plain).count() == 0
        && takes_all(Kind::Rest)
        && takes_all(Kind::Keywords)
        && old.iter().filter(is_plain).count() > 0
    {
        return Ok(None);
    }
    let positional = |all: &'_ [Parameter]| -> Vec<String> {
        let found = all.iter().filter(|p| p.kind.is_positional());
        found.map(|p| p.name.clone()).collect()
    };
    let (mine, theirs) = (positional(own), positional(old));
    let same_places = mine
        .iter()
        .zip(&theirs)
        .all(|(mine, theirs)| mine == theirs);
    let same_kinds = own.iter().all(|mine| {
        let mut theirs = old.iter().filter(|p| p.name == mine.name);
        theirs.all(|theirs| theirs.kind == mine.kind)
    });
    if !same_places || !same_kinds {
        return Err(Unlike);
    }
    let mut all: Vec<Parameter> = Vec::new();
    for parameter in new {
        let mut mine = own.iter().filter(|p| p.name == parameter.name);
        match mine.next() {
            Some(_) if parameter.is_added() => return Err(Unlike),
            Some(mine) => all.push(Parameter {
                kind: parameter.kind,
                ..mine.clone()
            }),
            // What only the other has is no business of this one.
            None if !parameter.is_added() => {}
            None => all.push(parameter.clone()),
        }
    }
    for mine in own {
        if !old.iter().any(|p| p.name == mine.name) {
            let at = all.iter().take_while(|p| p.kind <= mine.kind).count();
            all.insert(at, mine.clone());
        }
    }
    check(&all).map(|()| Some(all)).map_err(|_| Unlike)
}

/// A function whose parameters are not those of the one that it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unlike;

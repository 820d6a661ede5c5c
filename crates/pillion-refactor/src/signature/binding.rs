//! Which argument of a call belongs to which parameter, and how the call is written when the
//! parameters change.

use std::collections::HashMap;

use super::parameters::{Kind, Parameter};

/// An argument, by its place in the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Argument {
    Positional,
    /// `*values`
    Starred,
    Keyword(String),
    /// `**values`
    Mapping,
}

/// An argument of the call as it will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// One that is there, as it is.
    Kept(usize),
    /// One that was given by its place, now by name.
    Named(usize, String),
    /// One that was given by name, now by its place.
    Placed(usize),
    /// One that was not there.
    Fresh(String),
}

/// Why a call cannot be written anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hindrance {
    /// It does not fit the parameters as they are now.
    Misfit,
    /// Nobody can say what belongs where.
    Unclear(String),
}

#[derive(Debug, Clone, Copy)]
enum Given {
    ByPlace(usize),
    ByName(usize),
}

struct Bound<'a> {
    given: HashMap<&'a str, Given>,
    /// What goes to `*rest`, and a `*values` with all that follows it.
    rest: Vec<usize>,
    /// Keywords in the order of the call, `**values` among them.
    keywords: Vec<usize>,
    /// How many parameters are given by their places for certain, if a `*values` follows.
    star: Option<usize>,
}

/// The arguments of a call after a change of the parameters. Both lists are those that the
/// call has to fill: without a first one that Python fills by itself.
pub(super) fn rewrite(
    call: &[Argument],
    old: &[Parameter],
    new: &[Parameter],
) -> Result<Vec<Part>, Hindrance> {
    let bound = bind(call, old, new)?;
    let mut writer = Writer {
        bound: &bound,
        parts: Vec::new(),
        named: Vec::new(),
        added: Vec::new(),
        placed: Vec::new(),
        gap: None,
    };
    writer.positional(new, old.iter().filter(|p| p.kind.is_positional()).count())?;
    for parameter in new.iter().filter(|p| p.kind == Kind::KeywordOnly) {
        writer.keyword_only(parameter);
    }
    let Writer {
        mut parts,
        named,
        added,
        placed,
        ..
    } = writer;
    let takes_any = new.iter().any(|p| p.kind == Kind::Keywords);
    let stays = |item: &usize| match &call[*item] {
        Argument::Keyword(name) if old.iter().any(|p| p.is_named(name)) => {
            new.iter().any(|p| p.is_named(name)) && !placed.contains(item)
        }
        Argument::Keyword(_) => takes_any,
        _ => true,
    };
    let kept = bound.keywords.iter().filter(|item| stays(item));
    let kept: Vec<usize> = kept.copied().collect();
    let mapping = kept
        .iter()
        .position(|item| call[*item] == Argument::Mapping);
    let (before, behind) = kept.split_at(mapping.unwrap_or(kept.len()));
    parts.extend(named);
    parts.extend(before.iter().copied().map(Part::Kept));
    parts.extend(added);
    parts.extend(behind.iter().copied().map(Part::Kept));
    Ok(parts)
}

fn unclear<T>(why: impl Into<String>) -> Result<T, Hindrance> {
    Err(Hindrance::Unclear(why.into()))
}

fn bind<'a>(
    call: &'a [Argument],
    old: &'a [Parameter],
    new: &[Parameter],
) -> Result<Bound<'a>, Hindrance> {
    let positional: Vec<&Parameter> = old.iter().filter(|p| p.kind.is_positional()).collect();
    let takes = |kind: Kind| old.iter().any(|p| p.kind == kind);
    let mut bound = Bound {
        given: HashMap::new(),
        rest: Vec::new(),
        keywords: Vec::new(),
        star: None,
    };
    let mut place = 0;
    let mut has_mapping = false;
    for (item, argument) in call.iter().enumerate() {
        match argument {
            Argument::Positional | Argument::Starred if !bound.keywords.is_empty() => {
                return unclear("a `*` stands behind a keyword");
            }
            Argument::Starred if place < positional.len() && bound.star.is_none() => {
                bound.star = Some(place);
                bound.rest.push(item);
            }
            Argument::Positional if bound.star.is_none() && place < positional.len() => {
                let name = positional[place].name.as_str();
                bound.given.insert(name, Given::ByPlace(item));
                place += 1;
            }
            Argument::Positional | Argument::Starred => {
                if bound.star.is_none() && !takes(Kind::Rest) && *argument == Argument::Positional {
                    return Err(Hindrance::Misfit);
                }
                bound.rest.push(item);
            }
            Argument::Keyword(name) => {
                bound.keywords.push(item);
                if old.iter().any(|p| p.is_named(name)) {
                    if bound.given.insert(name, Given::ByName(item)).is_some() {
                        return Err(Hindrance::Misfit);
                    }
                } else if !takes(Kind::Keywords) {
                    return Err(Hindrance::Misfit);
                } else if new.iter().any(|p| p.is_named(name)) {
                    return unclear(format!("`{name}` goes to the keywords of any name today"));
                }
            }
            Argument::Mapping => {
                bound.keywords.push(item);
                has_mapping = true;
            }
        }
    }
    if let Some(star) = bound.star {
        star_is_clear(&positional, new, star, takes(Kind::Rest))?;
    }
    if has_mapping {
        mapping_is_clear(&bound, old, new)?;
    }
    Ok(bound)
}

/// Whether what a `*values` may fill stays where it is.
fn star_is_clear(
    old: &[&Parameter],
    new: &[Parameter],
    star: usize,
    has_rest: bool,
) -> Result<(), Hindrance> {
    let after: Vec<&Parameter> = new.iter().filter(|p| p.kind.is_positional()).collect();
    let same = |a: &[&Parameter], b: &[&Parameter]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.name == b.name)
    };
    let is_clear = after.len() >= old.len()
        && same(&old[star..], &after[star..old.len()])
        && (!has_rest || after.len() == old.len() && new.iter().any(|p| p.kind == Kind::Rest));
    match is_clear {
        true => Ok(()),
        false => unclear("it passes `*`, and nobody knows how many that are"),
    }
}

/// Whether what a `**values` may hold can still be given by name.
fn mapping_is_clear(
    bound: &Bound<'_>,
    old: &[Parameter],
    new: &[Parameter],
) -> Result<(), Hindrance> {
    let lost = old.iter().find(|p| {
        let could = p.takes_name() && !bound.given.contains_key(p.name.as_str());
        let can = new.iter().any(|n| n.is_named(&p.name));
        could && !can || p.kind == Kind::Keywords && !new.iter().any(|n| n.kind == p.kind)
    });
    match lost {
        Some(lost) => unclear(format!("it passes `**`, which may hold `{}`", lost.name)),
        None => Ok(()),
    }
}

struct Writer<'a> {
    bound: &'a Bound<'a>,
    parts: Vec<Part>,
    /// Given by place before, by name now.
    named: Vec<Part>,
    added: Vec<Part>,
    /// Keywords that are given by their places now.
    placed: Vec<usize>,
    /// The first parameter that is not given by its place.
    gap: Option<String>,
}

impl Writer<'_> {
    fn positional(&mut self, new: &[Parameter], old_count: usize) -> Result<(), Hindrance> {
        let must_be_placed = !self.bound.rest.is_empty();
        let all = new.iter().filter(|p| p.kind.is_positional());
        for (place, parameter) in all.enumerate() {
            if self.bound.star == Some(place) {
                self.rest(new)?;
            }
            let is_filled = self.bound.star.is_some_and(|star| place >= star);
            if is_filled && (place < old_count || !parameter.is_added()) {
                continue;
            }
            self.one(parameter, must_be_placed && !is_filled)?;
        }
        match self.bound.star {
            None => self.rest(new),
            Some(_) => Ok(()),
        }
    }

    fn rest(&mut self, new: &[Parameter]) -> Result<(), Hindrance> {
        if self.bound.star.is_none() && !new.iter().any(|p| p.kind == Kind::Rest) {
            return Ok(());
        }
        if let (Some(gap), false) = (&self.gap, self.bound.rest.is_empty()) {
            return unclear(format!("`{gap}` would have to be given before the others"));
        }
        self.parts
            .extend(self.bound.rest.iter().copied().map(Part::Kept));
        if self.bound.star.is_some() {
            self.gap = Some("*".to_owned());
        }
        Ok(())
    }

    fn one(&mut self, parameter: &Parameter, must_be_placed: bool) -> Result<(), Hindrance> {
        let name = &parameter.name;
        let by_place_only = parameter.kind == Kind::PositionalOnly;
        let text = match self.bound.given.get(name.as_str()) {
            Some(Given::ByPlace(item)) => {
                match &self.gap {
                    None => self.parts.push(Part::Kept(*item)),
                    Some(_) if !by_place_only => {
                        self.named.push(Part::Named(*item, name.clone()));
                    }
                    Some(gap) => return unclear(format!("`{gap}` before `{name}` is not given")),
                }
                return Ok(());
            }
            Some(Given::ByName(item)) if by_place_only || must_be_placed => {
                if let Some(gap) = &self.gap {
                    return unclear(format!("`{gap}` before `{name}` is not given"));
                }
                self.parts.push(Part::Placed(*item));
                self.placed.push(*item);
                return Ok(());
            }
            Some(Given::ByName(_)) => None,
            None => match parameter.value() {
                Some(value) => Some(value),
                None if must_be_placed => match parameter.plain_default() {
                    Some(default) => Some(default),
                    None => return unclear(format!("`{name}` needs a `value` here")),
                },
                None => None,
            },
        };
        match (text, &self.gap) {
            (Some(text), None) => self.parts.push(Part::Fresh(text.to_owned())),
            (Some(text), Some(_)) if !by_place_only => {
                self.added.push(Part::Fresh(format!("{name}={text}")));
            }
            (Some(_), Some(gap)) => {
                return unclear(format!("`{gap}` before `{name}` is not given"));
            }
            (None, _) => {
                self.gap.get_or_insert_with(|| name.clone());
            }
        }
        Ok(())
    }

    fn keyword_only(&mut self, parameter: &Parameter) {
        let name = &parameter.name;
        match (self.bound.given.get(name.as_str()), parameter.value()) {
            (Some(Given::ByPlace(item)), _) => self.named.push(Part::Named(*item, name.clone())),
            (Some(Given::ByName(_)), _) | (None, None) => {}
            (None, Some(value)) => self.added.push(Part::Fresh(format!("{name}={value}"))),
        }
    }
}

#[cfg(test)]
#[path = "binding_tests.rs"]
mod tests;

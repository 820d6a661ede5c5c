//! The parameters of a function, before and after a change.

use pillion_catalogue::{Error, Result};
use pillion_index::parsed;
use ruff_python_ast::{Expr, StmtFunctionDef, UnaryOp};

use super::wanted::{AddedParameter, SignatureChange, invalid};

/// How a parameter takes its argument, in the order in which they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    PositionalOnly,
    Normal,
    /// `*rest`
    Rest,
    KeywordOnly,
    /// `**keywords`
    Keywords,
}

impl Kind {
    pub(super) fn is_positional(self) -> bool {
        self <= Self::Normal
    }

    fn says(self) -> &'static str {
        match self {
            Self::PositionalOnly => "positional-only",
            Self::Normal => "not keyword-only",
            Self::Rest => "`*`",
            Self::KeywordOnly => "keyword-only",
            Self::Keywords => "`**`",
        }
    }
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) has_default: bool,
    /// What was asked for, if it is new.
    pub(super) added: Option<AddedParameter>,
}

impl Parameter {
    pub(super) fn is_added(&self) -> bool {
        self.added.is_some()
    }

    /// Whether arguments can name it.
    pub(super) fn takes_name(&self) -> bool {
        matches!(self.kind, Kind::Normal | Kind::KeywordOnly)
    }

    /// Whether an argument with this name is for it.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.name == name && self.takes_name()
    }

    /// What calls that exist pass for it.
    pub(super) fn value(&self) -> Option<&str> {
        self.added.as_ref()?.value.as_deref()
    }

    /// The default, if it means the same in every file.
    pub(super) fn plain_default(&self) -> Option<&str> {
        let text = self.added.as_ref()?.default.as_deref()?;
        let is_literal = |expr: &Expr| expr.is_literal_expr();
        let is_plain = parsed::expression(text, |expr| match expr {
            Expr::UnaryOp(unary) => unary.op == UnaryOp::USub && is_literal(&unary.operand),
            other => is_literal(other),
        });
        is_plain.unwrap_or(false).then_some(text)
    }
}

/// The parameters as they are.
pub(super) fn parameters(function: &StmtFunctionDef) -> Vec<Parameter> {
    let parameters = &function.parameters;
    let mut all = Vec::new();
    let mut push = |name: &str, kind, has_default| {
        all.push(Parameter {
            name: name.to_owned(),
            kind,
            has_default,
            added: None,
        });
    };
    for (several, kind) in [
        (&parameters.posonlyargs, Kind::PositionalOnly),
        (&parameters.args, Kind::Normal),
    ] {
        for one in several {
            push(one.name(), kind, one.default.is_some());
        }
    }
    if let Some(rest) = &parameters.vararg {
        push(&rest.name, Kind::Rest, true);
    }
    for one in &parameters.kwonlyargs {
        push(one.name(), Kind::KeywordOnly, one.default.is_some());
    }
    if let Some(keywords) = &parameters.kwarg {
        push(&keywords.name, Kind::Keywords, true);
    }
    all
}

/// The parameters as they will be. `first` is one that Python fills by itself, which is not
/// among them.
pub(super) fn changed(
    old: &[Parameter],
    first: Option<&str>,
    wanted: &SignatureChange,
) -> Result<Vec<Parameter>> {
    let hint = || {
        let names: Vec<String> = old.iter().map(|p| format!("`{}`", p.name)).collect();
        match names.is_empty() {
            true => "it has no parameters".to_owned(),
            false => format!("its parameters are {}", names.join(", ")),
        }
    };
    let fixed = |name: &str| {
        let what = format!("`{name}` is filled by Python, and stays where it is");
        invalid(what).hint("leave it out")
    };
    let mut new = old.to_vec();
    for name in &wanted.remove {
        let name = name.trim_start_matches('*');
        if first == Some(name) {
            return Err(fixed(name));
        }
        let Some(at) = new.iter().position(|p| p.name == name) else {
            return Err(invalid(format!("there is no parameter `{name}`")).hint(hint()));
        };
        new.remove(at);
    }
    for added in &wanted.add {
        let is_taken = new.iter().any(|p| p.name == added.name);
        if is_taken || first == Some(added.name.as_str()) {
            let what = format!("there is a parameter `{}` already", added.name);
            return Err(invalid(what).hint(hint()));
        }
        insert(&mut new, added)?;
    }
    if !wanted.order.is_empty() {
        if let Some(name) = wanted
            .order
            .iter()
            .find(|name| first == Some(name.as_str()))
        {
            return Err(fixed(name));
        }
        new = ordered(&new, &wanted.order)?;
    }
    check(&new)?;
    Ok(new)
}

/// Put an added parameter where it was asked for, or behind the others of its sort.
fn insert(new: &mut Vec<Parameter>, added: &AddedParameter) -> Result<()> {
    let until = |kind: Kind| new.iter().take_while(|p| p.kind <= kind).count();
    let (places, first_keyword) = (until(Kind::Normal), until(Kind::Rest));
    let has_rest = first_keyword > places;
    let last = until(Kind::KeywordOnly);
    let at = match added.index {
        Some(index) if index > last => {
            let what = format!(
                "`{}` cannot stand at {index}: {last} is the last place",
                added.name
            );
            return Err(invalid(what).hint("places count from 0, without `self`"));
        }
        Some(index) => index,
        None if added.keyword_only || has_rest => last,
        // What is required stands before what has a default.
        None if added.default.is_none() => {
            let optional = new[..places].iter().position(|p| p.has_default);
            optional.unwrap_or(places)
        }
        None => places,
    };
    let kind = if at < until(Kind::PositionalOnly) {
        Kind::PositionalOnly
    } else if at <= places && !added.keyword_only {
        Kind::Normal
    } else {
        Kind::KeywordOnly
    };
    if added.keyword_only && at < first_keyword {
        let what = format!("`{}` cannot be keyword-only at {at}", added.name);
        return Err(invalid(what).hint(format!("the first such place is {first_keyword}")));
    }
    let parameter = Parameter {
        name: added.name.clone(),
        kind,
        has_default: added.default.is_some(),
        added: Some(added.clone()),
    };
    new.insert(at, parameter);
    Ok(())
}

/// Bring parameters into an order. `/` and `*` in it say anew who is what.
fn ordered(all: &[Parameter], order: &[String]) -> Result<Vec<Parameter>> {
    let names = || {
        let names: Vec<&str> = all.iter().map(|p| p.name.as_str()).collect();
        format!("name each of these once: {}", names.join(","))
    };
    let slash = order.iter().position(|name| name == "/");
    let star = order.iter().position(|name| {
        let rest = all.iter().find(|p| p.kind == Kind::Rest);
        name == "*" || rest.is_some_and(|rest| rest.name == name.trim_start_matches('*'))
    });
    let mut new: Vec<Parameter> = Vec::new();
    for (place, word) in order.iter().enumerate() {
        let name = word.trim_start_matches('*');
        if name.is_empty() || name == "/" {
            if order[..place].contains(word) {
                return Err(invalid(format!("`{word}` is in the order twice")).hint(names()));
            }
            continue;
        }
        let Some(found) = all.iter().find(|p| p.name == name) else {
            let what = format!("there is no parameter `{name}` to order");
            return Err(invalid(what).hint(names()));
        };
        if new.iter().any(|p| p.name == name) {
            return Err(invalid(format!("`{name}` is in the order twice")).hint(names()));
        }
        let mut found = found.clone();
        if !matches!(found.kind, Kind::Rest | Kind::Keywords) {
            if slash.is_some_and(|slash| place < slash) {
                found.kind = Kind::PositionalOnly;
            } else if star.is_some_and(|star| place > star) {
                found.kind = Kind::KeywordOnly;
            } else if slash.is_some() && found.kind == Kind::PositionalOnly
                || star.is_some() && found.kind == Kind::KeywordOnly
            {
                found.kind = Kind::Normal;
            }
        }
        new.push(found);
    }
    // Those that can stand in one place only need not be named.
    for variadic in all
        .iter()
        .filter(|p| matches!(p.kind, Kind::Rest | Kind::Keywords))
    {
        if !new.iter().any(|p| p.name == variadic.name) {
            let at = new.iter().take_while(|p| p.kind < variadic.kind).count();
            new.insert(at, variadic.clone());
        }
    }
    if let Some(missing) = all.iter().find(|p| !new.iter().any(|n| n.name == p.name)) {
        let what = format!("`{}` is not in the order", missing.name);
        return Err(invalid(what).hint(names()));
    }
    Ok(new)
}

/// Refuse what Python would.
pub(super) fn check(new: &[Parameter]) -> Result<()> {
    for pair in new.windows(2) {
        let (before, behind) = (&pair[0], &pair[1]);
        if before.kind > behind.kind {
            let what = format!(
                "`{}` is {} and cannot stand before `{}`",
                before.name,
                before.kind.says(),
                behind.name
            );
            return Err(invalid(what).hint("write `/` or `*` into the order to say who is what"));
        }
    }
    let positional = new.iter().filter(|p| p.kind.is_positional());
    let mut optional: Option<&Parameter> = None;
    for parameter in positional {
        match optional {
            Some(optional) if !parameter.has_default => {
                return Err(required_after(&parameter.name, &optional.name));
            }
            None if parameter.has_default => optional = Some(parameter),
            _ => {}
        }
    }
    Ok(())
}

fn required_after(required: &str, optional: &str) -> Error {
    let what =
        format!("`{required}` has no default and would stand behind `{optional}`, which has");
    invalid(what).hint(format!(
        "give `{required}` a default, put it first, or make it keyword-only"
    ))
}

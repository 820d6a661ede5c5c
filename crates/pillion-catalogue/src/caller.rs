//! What is said about the caller: taken out of the parameters of older clients, put together
//! with what the envelope and the door say, and made absolute. Once, here, for every operation.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use aho_corasick::AhoCorasick;
use pillion_protocol::{Caller, Code, Error, Result};
use schemars::SchemaGenerator;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::{Request, Scope};

/// The one thing that every operation is told among its parameters, too.
pub(crate) const TIMEOUT: &str = "timeout_ms";
/// Longer than anybody waits; a larger number means this.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// What can be said about a caller.
const ALL: &[&str] = &[
    "root",
    "near",
    "python",
    "virtual_env",
    "conda_prefix",
    FORMAT,
    TIMEOUT,
];
const FORMAT: &str = "format";

/// What an operation of this scope may be told about its caller among the parameters;
/// `formats` says whether it can write its answer as text.
pub(crate) fn names(scope: Scope, formats: bool) -> impl Iterator<Item = &'static str> {
    let understood = move |name: &&'static str| match *name {
        TIMEOUT => true,
        FORMAT => formats,
        "root" | "near" => scope != Scope::Nothing,
        _ => scope == Scope::Project,
    };
    ALL.iter().copied().filter(understood)
}

/// The schema of each thing that can be said.
pub(crate) fn properties() -> Map<String, Value> {
    let mut schema = SchemaGenerator::default()
        .into_root_schema_for::<Caller>()
        .to_value();
    match schema.get_mut("properties").map(Value::take) {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    }
}

/// What parameters say about the caller under one of these names, and the parameters without
/// it. They stay the text they are: a number may have more digits than we can count.
pub(crate) fn apart<'a>(
    params: Option<&'a RawValue>,
    names: &[&str],
) -> Result<(Caller, Option<Cow<'a, RawValue>>), String> {
    let nothing = || (Caller::default(), params.map(Cow::Borrowed));
    // Reading all of a large request, only to find nothing, costs as much as passing it on.
    let Some(text) = params.map(RawValue::get).filter(|text| may_say(text)) else {
        return Ok(nothing());
    };
    // What is no object has no names, and what is wrong with it the operation says.
    let Ok(Members(members)) = serde_json::from_str(text) else {
        return Ok(nothing());
    };
    let (said, rest): (Vec<_>, Vec<_>) = members
        .into_iter()
        .partition(|(name, _)| names.contains(&name.as_ref()));
    if said.is_empty() {
        return Ok(nothing());
    }
    let said = serde_json::from_str(&object(&said)).map_err(|error| without_place(&error))?;
    let rest = RawValue::from_string(object(&rest)).map_err(|error| error.to_string())?;
    Ok((said, Some(Cow::Owned(rest))))
}

/// The line and column are those of a text that the caller never saw.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = text.rfind(" at line ").unwrap_or(text.len());
    text[..place].to_owned()
}

/// Whether it is worth reading. A name may be spelled with escapes.
fn may_say(params: &str) -> bool {
    static NAMES: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        let names = ALL.iter().map(|name| format!("\"{name}\""));
        AhoCorasick::new(names.chain(["\\u".to_owned()])).ok()
    });
    let found = || NAMES.as_ref().is_none_or(|names| names.is_match(params));
    params.starts_with('{') && found()
}

/// The members of an object as they are written.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> serde::Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}

/// A name, which is borrowed unless it has escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

fn object(members: &[(Cow<'_, str>, &RawValue)]) -> String {
    let mut text = String::from("{");
    for (name, value) in members {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&Value::from(name.as_ref()).to_string());
        text.push(':');
        text.push_str(value.get());
    }
    text.push('}');
    text
}

impl Request {
    /// Put together what is said about the caller: among the parameters, which count first, in
    /// the envelope, and by the door. Paths are absolute afterwards, and empty ones are gone.
    pub(crate) fn told(&mut self, among_params: Caller) -> Result<()> {
        let mut caller = among_params.or(std::mem::take(&mut self.caller));
        let said = [
            &mut caller.root,
            &mut caller.near,
            &mut caller.python,
            &mut caller.virtual_env,
            &mut caller.conda_prefix,
        ];
        for path in said {
            path.take_if(|path| path.as_os_str().is_empty());
        }
        if caller.names_no_python() {
            let ours = std::mem::take(&mut self.surroundings);
            caller.python = ours.python;
            caller.virtual_env = ours.virtual_env;
            caller.conda_prefix = ours.conda_prefix;
        }
        self.timeout = time(caller.timeout_ms)?;
        if let Some(near) = &caller.near {
            self.caller.near = Some(self.from_here(near)?);
            caller.near.clone_from(&self.caller.near);
        }
        let paths = [
            &mut caller.root,
            &mut caller.virtual_env,
            &mut caller.conda_prefix,
        ];
        for path in paths.into_iter().flatten() {
            *path = self.from_here(path)?;
        }
        if let Some(python) = &mut caller.python {
            self.python_from_here(python)?;
        }
        self.caller = caller;
        if self.caller.root.is_none() {
            self.caller.root.clone_from(&self.root);
        }
        Ok(())
    }

    /// A path as the caller means it: relative ones from the folder that the door serves, else
    /// from where the caller stands.
    pub fn from_here(&self, path: &Path) -> Result<PathBuf> {
        if path.is_absolute() {
            return Ok(path.to_owned());
        }
        let stands = self.root.as_ref().or(self.caller.near.as_ref());
        let joined = match stands.cloned().or_else(|| self.peer.folder()) {
            Some(folder) => folder.join(path),
            None => std::path::absolute(path).map_err(|error| {
                Error::new(
                    Code::NotFound,
                    format!("the current folder is gone: {error}"),
                )
                .hint("name an absolute path")
            })?,
        };
        // Without the `.` that `--root .` leaves behind.
        Ok(joined.components().collect())
    }

    /// A bare name or a version is looked up; anything else is a path from here.
    fn python_from_here(&self, python: &mut PathBuf) -> Result<()> {
        let path = self.from_here(python)?;
        if python.components().count() > 1 || path.is_dir() {
            *python = path;
        }
        Ok(())
    }
}

/// How long the caller waits.
fn time(ms: Option<u64>) -> Result<Option<Duration>> {
    match ms {
        None => Ok(None),
        Some(ms @ 1..) => Ok(Some(Duration::from_millis(ms).min(LONGEST))),
        Some(0) => Err(Error::new(
            Code::InvalidParams,
            format!("`{TIMEOUT}` must be at least 1"),
        )
        .hint("it is a whole number of milliseconds")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Door, Peer};

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.into()).unwrap()
    }

    fn apart_of(text: &str, names: &[&str]) -> (Caller, String) {
        let params = raw(text);
        let (said, rest) = apart(Some(&params), names).unwrap();
        (said, rest.unwrap().get().to_owned())
    }

    #[test]
    fn it_is_found_wherever_it_stands_and_the_rest_stays_as_it_is() {
        for (params, ms, rest) in [
            (r#"{"timeout_ms":5}"#, Some(5), "{}"),
            (
                r#"{"a":[{"timeout_ms":1}], "timeout_ms" : 5, "b":[123456789012345678901234567890]}"#,
                Some(5),
                r#"{"a":[{"timeout_ms":1}],"b":[123456789012345678901234567890]}"#,
            ),
            (
                r#"{"timeout\u005fms":5,"a\"":1e400}"#,
                Some(5),
                r#"{"a\"":1e400}"#,
            ),
            (r#"{"timeout_ms":null}"#, None, "{}"),
            (r#"{"a":"timeout_ms"}"#, None, r#"{"a":"timeout_ms"}"#),
            (r#"{"root": "/"}"#, None, r#"{"root": "/"}"#),
            (r#"["timeout_ms"]"#, None, r#"["timeout_ms"]"#),
        ] {
            let (said, left) = apart_of(params, &[TIMEOUT]);
            assert_eq!((said.timeout_ms, left.as_str()), (ms, rest), "{params}");
        }
        let (said, rest) = apart_of(r#"{"root":"/p","x":1,"python":"3.12"}"#, ALL);
        assert_eq!(
            (said.root, said.python),
            (Some("/p".into()), Some("3.12".into()))
        );
        assert_eq!(rest, r#"{"x":1}"#);
    }

    #[test]
    fn what_cannot_be_meant_is_named() {
        for (wrong, word) in [
            (r#"{"root":5}"#, "integer `5`"),
            (r#"{"timeout_ms":-1}"#, "integer `-1`"),
            (r#"{"timeout_ms":"1"}"#, "string \"1\""),
            (r#"{"timeout_ms":1,"timeout_ms":2}"#, "duplicate"),
            (r#"{"format":"xml"}"#, "xml"),
        ] {
            let params = raw(wrong);
            let why = apart(Some(&params), ALL).unwrap_err();
            assert!(why.contains(word) && !why.contains("line 1"), "{why}");
        }
        assert_eq!(time(Some(0)).unwrap_err().code, Code::InvalidParams);
        assert_eq!(time(Some(u64::MAX)).unwrap(), Some(LONGEST));
    }

    #[test]
    fn paths_are_meant_from_where_the_caller_stands() {
        let told = |said: Caller, root: Option<&str>, peer: Option<&str>| {
            let mut request = Request::new(Door::Socket).root(root.map(PathBuf::from));
            let folder = peer.map(PathBuf::from);
            request.peer = Peer::new(|| None, move || folder);
            request.told(said).unwrap();
            request.caller
        };
        let said = |root: &str| Caller {
            root: Some(root.into()),
            python: Some("bin/python".into()),
            virtual_env: Some("".into()),
            conda_prefix: Some("env".into()),
            ..Caller::near("/near")
        };
        let near = told(said("."), None, None);
        assert_eq!(near.root, Some("/near".into()));
        assert_eq!(near.python, Some("/near/bin/python".into()));
        assert_eq!(
            (near.virtual_env, near.conda_prefix),
            (None, Some("/near/env".into()))
        );
        assert_eq!(
            told(said("x"), Some("/door"), None).root,
            Some("/door/x".into())
        );
        let silent = |root: &str| Caller {
            near: None,
            ..said(root)
        };
        let seen = told(silent("x/../y"), None, Some("/seen")).root;
        assert_eq!(seen, Some("/seen/x/../y".into()));
        let own = told(silent("x"), None, None).root;
        assert_eq!(own, Some(std::env::current_dir().unwrap().join("x")));
        let door = told(Caller::default(), Some("/door"), None).root;
        assert_eq!(door, Some("/door".into()));
        let version = Caller {
            python: Some("3.12".into()),
            ..Caller::near("/")
        };
        assert_eq!(told(version, None, None).python, Some("3.12".into()));
    }
}

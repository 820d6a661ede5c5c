//! The skills of an expert that come with Python, read from its folder and checked.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use pillion_course::{Expert, Skill};
use pillion_model::ToolSpec;
use serde_json::{Value, json};

use crate::error::Error;
use crate::text;

/// The most skills of an expert.
const MOST_SKILLS: usize = 32;
/// The most files of Python that go along with a skill.
const MOST_FILES: usize = 32;
/// What all of them may hold.
const MOST_BYTES: u64 = 2 << 20;
/// The longest name of a skill, which models call it by.
const NAME: usize = 64;
/// The longest description.
const DESCRIPTION: usize = 1000;
/// The largest schema of arguments.
const SCHEMA: usize = 32 << 10;

/// What of the host a skill may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Files of the session by `pillion.tools.read`.
    pub(crate) read: bool,
    /// CSV files of the session by `pillion.tools.query`.
    pub(crate) query: bool,
    /// Files of the session in its folder, below `files/`.
    pub(crate) files: bool,
}

/// Files by their names.
type Files = Vec<(String, Vec<u8>)>;

/// A skill that can be run.
#[derive(Debug, Clone)]
pub(crate) struct Runnable {
    pub(crate) tool: ToolSpec,
    pub(crate) allowed: Allowed,
    pub(crate) auto: bool,
    /// The module whose `run` is called.
    pub(crate) module: String,
    /// It, and the modules beside it.
    pub(crate) code: Files,
}

/// The skills of `expert` that come with Python. Blocks.
pub(crate) fn load(expert: &Expert) -> Result<Vec<Runnable>, Error> {
    let bad = |why: String| Error::BadExpert {
        expert: expert.id.clone(),
        why,
    };
    if expert.skills.len() > MOST_SKILLS {
        return Err(bad(format!("it has more than {MOST_SKILLS} skills")));
    }
    let mut all: Vec<Runnable> = Vec::new();
    for skill in &expert.skills {
        let Some(python) = &skill.python else {
            continue;
        };
        let name = &skill.name;
        let of_skill = |why: &str| bad(format!("its skill `{}` {why}", text::line(name, NAME)));
        if !is_callable(name) {
            return Err(of_skill("needs a name of letters, digits, `_` and `-`"));
        }
        if all.iter().any(|other| other.tool.name == *name) {
            return Err(of_skill("is there twice"));
        }
        let (module, code) = code(&expert.folder, python)
            .map_err(|error| of_skill(&format!("has no Python that can be used: {error}")))?;
        all.push(Runnable {
            tool: tool(skill).map_err(of_skill)?,
            allowed: allowed(&skill.tools).map_err(|why| of_skill(&why))?,
            auto: skill.auto,
            module,
            code,
        });
    }
    Ok(all)
}

/// A name that every provider of models takes for a tool.
fn is_callable(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= NAME && name.chars().all(is_plain)
}

fn tool(skill: &Skill) -> Result<ToolSpec, &'static str> {
    let none = || json!({"type": "object", "properties": {}});
    let parameters = match &skill.parameters {
        None | Some(Value::Null) => none(),
        Some(schema) if schema.is_object() => schema.clone(),
        Some(_) => return Err("has `parameters` that are no JSON schema of an object"),
    };
    if parameters.to_string().len() > SCHEMA {
        return Err("has `parameters` that are too long");
    }
    Ok(ToolSpec {
        name: skill.name.clone(),
        description: text::line(&skill.description, DESCRIPTION),
        parameters,
    })
}

fn allowed(words: &[String]) -> Result<Allowed, String> {
    let mut allowed = Allowed::default();
    for word in words {
        match word.as_str() {
            "read" => allowed.read = true,
            "query" => allowed.query = true,
            "files" => allowed.files = true,
            other => {
                let other = text::line(other, NAME);
                return Err(format!(
                    "asks for the tool `{other}`; there are `read`, `query` and `files`"
                ));
            }
        }
    }
    Ok(allowed)
}

/// The module of a skill, with those beside it.
fn code(folder: &Path, python: &Path) -> io::Result<(String, Files)> {
    let wrong = |why: &str| io::Error::other(why.to_owned());
    let folder = folder.canonicalize()?;
    let main = match python.is_absolute() {
        true => python.canonicalize()?,
        false => folder.join(python).canonicalize()?,
    };
    if !main.starts_with(&folder) {
        return Err(wrong("it is outside of the expert's folder"));
    }
    let module = main
        .file_name()
        .and_then(|name| name.to_str()?.strip_suffix(".py"))
        .filter(|stem| is_identifier(stem))
        .ok_or_else(|| wrong("its file has no name of a module, such as `inspect_table.py`"))?;
    let mut left = MOST_BYTES;
    let mut all = vec![(format!("{module}.py"), read(&main, &mut left)?)];
    let mut beside: Vec<_> = main
        .parent()
        .map(Path::read_dir)
        .into_iter()
        .flatten()
        .flatten()
        .take(1000)
        .filter_map(|entry| {
            let entry = entry.ok()?;
            // What a link leads to may be anywhere.
            let is_file = entry.file_type().ok()?.is_file();
            let name = entry.file_name().into_string().ok()?;
            let stem = name.strip_suffix(".py")?;
            (is_file && is_identifier(stem) && stem != module).then(|| (entry.path(), name))
        })
        .collect();
    beside.sort();
    if beside.len() >= MOST_FILES {
        return Err(wrong("too many modules are beside it"));
    }
    for (path, name) in beside {
        all.push((name, read(&path, &mut left)?));
    }
    Ok((module.to_owned(), all))
}

fn is_identifier(stem: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    stem.len() <= NAME
        && stem.chars().all(is_plain)
        && !stem.starts_with(|c: char| c.is_ascii_digit())
        && !stem.is_empty()
}

fn read(path: &Path, left: &mut u64) -> io::Result<Vec<u8>> {
    let file = fs::File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(*left + 1).read_to_end(&mut bytes)?;
    *left = left
        .checked_sub(bytes.len() as u64)
        .ok_or_else(|| io::Error::other(format!("it has more than {MOST_BYTES} bytes")))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{expert as plain_expert, skill};

    fn expert(folder: &Path, python: &str) -> Expert {
        Expert {
            id: "e".to_owned(),
            folder: folder.to_owned(),
            skills: vec![
                Skill {
                    name: "look".to_owned(),
                    description: "looks\nat it".to_owned(),
                    python: Some(folder.join(python)),
                    tools: vec!["read".to_owned(), "files".to_owned()],
                    ..skill()
                },
                Skill {
                    name: "a page without Python".to_owned(),
                    ..skill()
                },
            ],
            ..plain_expert()
        }
    }

    fn home() -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("skills")).unwrap();
        fs::write(home.path().join("skills/look.py"), "def run(): ...").unwrap();
        home
    }

    #[test]
    fn a_skill_goes_with_the_modules_beside_it_and_no_links() {
        let home = home();
        let skills = home.path().join("skills");
        fs::write(skills.join("helper.py"), "x = 1").unwrap();
        fs::write(skills.join("look.md"), "").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", skills.join("link.py")).unwrap();
        let all = load(&expert(home.path(), "skills/look.py")).unwrap();
        assert_eq!(all.len(), 1);
        let names: Vec<&str> = all[0].code.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["look.py", "helper.py"]);
        assert_eq!(all[0].module, "look");
        assert_eq!(all[0].tool.description, "looks at it");
        assert_eq!(all[0].tool.parameters["type"], "object");
        let expected = Allowed {
            read: true,
            query: false,
            files: true,
        };
        assert_eq!(all[0].allowed, expected);
    }

    #[test]
    fn python_from_elsewhere_is_refused() {
        let home = home();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("bad.py"), "").unwrap();
        let link = home.path().join("skills/link.py");
        std::os::unix::fs::symlink(elsewhere.path().join("bad.py"), link).unwrap();
        fs::write(home.path().join("skills/not-a-module.py"), "").unwrap();
        let up = format!(
            "../{}/bad.py",
            elsewhere.path().file_name().unwrap().display()
        );
        for python in [
            "skills/link.py",
            "skills/none.py",
            "skills",
            "skills/not-a-module.py",
            up.as_str(),
        ] {
            let error = load(&expert(home.path(), python)).unwrap_err();
            assert!(
                matches!(error, Error::BadExpert { .. }),
                "{python}: {error}"
            );
            assert!(error.to_string().contains("`look`"), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_skill_is_named() {
        let home = home();
        let check = |change: &dyn Fn(&mut Expert), says: &str| {
            let mut expert = expert(home.path(), "skills/look.py");
            change(&mut expert);
            let error = load(&expert).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        };
        check(&|e| e.skills[0].name = "a b".to_owned(), "`a b`");
        check(&|e| e.skills[0].name = String::new(), "a name");
        check(
            &|e| e.skills[0].tools.push("network".to_owned()),
            "`network`",
        );
        check(&|e| e.skills[0].parameters = Some(json!([])), "JSON schema");
        check(
            &|e| e.skills[0].parameters = Some(json!({"x": "x".repeat(SCHEMA)})),
            "too long",
        );
        check(&|e| e.skills.push(e.skills[0].clone()), "twice");
        check(&|e| e.skills = vec![skill(); MOST_SKILLS + 1], "more than");
        let large = "#".repeat(usize::try_from(MOST_BYTES).unwrap() + 1);
        fs::write(home.path().join("skills/look.py"), large).unwrap();
        check(&|_| {}, "more than");
    }
}

//! Extract and inline with the real Rope: programs do the same before and after.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pillion_catalogue::{Activity, Code, Result};
use pillion_index::source::Source;
use pillion_process::Launch;
use pillion_refactor::Refactored;
use pillion_refactor::range::AskedRange;
use pillion_refactor::rope::{File, FunctionKind, Rope};
use pillion_runtime::discovery::{self, DiscoveryRequest};
use pillion_supervisor::{SidecarLimits, Supervisor};

use crate::support::{DEADLINE, shared};

/// Rope for an empty project.
pub(crate) struct World {
    folder: tempfile::TempDir,
    rope: Rope,
    python: PathBuf,
    _supervisor: Arc<Supervisor>,
}

impl World {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let supervisor = Arc::new(Supervisor::new(Activity::default()));
        let dirs = shared();
        let rope = Rope::new(folder.path(), SidecarLimits::default(), &supervisor, &dirs);
        let nowhere = std::env::temp_dir();
        let choice = discovery::find(DiscoveryRequest::new(&nowhere), &dirs).await;
        Self {
            python: choice.unwrap().interpreter.executable,
            rope: rope.await.unwrap(),
            folder,
            _supervisor: supervisor,
        }
    }

    /// Extract the lines from the one with `#[` to the one with `#]`, or the text between
    /// `«` and `»`.
    pub(crate) async fn method(
        &self,
        marked: &str,
        kind: Option<FunctionKind>,
    ) -> (String, Result<Refactored>) {
        let (text, asked) = unmarked(marked);
        let source = Source::decode(text.as_bytes());
        let file = File {
            path: "m.py",
            source: &source,
        };
        let rope = &self.rope;
        let made = rope.extract_method(file, asked, "helper", kind, DEADLINE);
        (text, made.await)
    }

    pub(crate) async fn variable(&self, marked: &str) -> (String, Result<Refactored>) {
        let (text, asked) = unmarked(marked);
        let source = Source::decode(text.as_bytes());
        let file = File {
            path: "m.py",
            source: &source,
        };
        let made = self.rope.extract_variable(file, asked, "value", DEADLINE);
        (text, made.await)
    }

    /// Inline what stands behind `|` in `m.py`; the second file is `n.py`.
    pub(crate) async fn inline(&self, marked: &str, other: Option<&str>) -> Result<Refactored> {
        let offset = marked.find('|').unwrap();
        let source = Source::decode(marked.replacen('|', "", 1).as_bytes());
        let other = other.map(|text| Source::decode(text.as_bytes()));
        let others: Vec<File<'_>> = other
            .iter()
            .map(|source| File {
                path: "n.py",
                source,
            })
            .collect();
        let file = File {
            path: "m.py",
            source: &source,
        };
        let at = source.position(offset);
        let names = std::collections::BTreeMap::new();
        self.rope.inline(file, at, &others, &names, DEADLINE).await
    }

    /// What a program prints; the files are written to a folder of their own.
    pub(crate) async fn output(&self, files: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let main = files.last().unwrap().0;
        // Without anybody's site-packages it starts at once.
        let launch = Launch::new(&self.python).arg("-S").arg(main);
        let launch = launch.cwd(folder.path());
        let output = launch.output(DEADLINE).await.unwrap();
        assert!(output.exit.success(), "{files:?}\n{}", output.stderr);
        assert!(!output.stdout.is_empty(), "a program that says nothing");
        output.stdout
    }

    /// The new text of a file, after both programs said the same.
    pub(crate) async fn same(&self, before: &str, made: Result<Refactored>) -> String {
        let made = made.unwrap_or_else(|error| panic!("{error:?}\n{before}"));
        let after = &made.files[0].text;
        assert_ne!(before, after);
        let old = self.output(&[("m.py", before)]).await;
        assert_eq!(old, self.output(&[("m.py", after)]).await, "{after}");
        after.clone()
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }
}

fn unmarked(marked: &str) -> (String, AskedRange) {
    if let Some(start) = marked.find('«') {
        let end = marked.find('»').unwrap() - '«'.len_utf8();
        let text = marked.replace(['«', '»'], "");
        let source = Source::decode(text.as_bytes());
        let (start, end) = (source.position(start), source.position(end));
        let asked = AskedRange {
            start_line: start.line + 1,
            start_col: Some(start.column + 1),
            end_line: end.line + 1,
            end_col: Some(end.column + 1),
        };
        return (text, asked);
    }
    let line = |mark: &str| {
        let at = marked.find(mark).unwrap();
        u32::try_from(marked[..at].matches('\n').count()).unwrap() + 1
    };
    let asked = AskedRange {
        start_line: line("#["),
        start_col: None,
        end_line: line("#]"),
        end_col: None,
    };
    (marked.replace("  #[", "").replace("  #]", ""), asked)
}

#[tokio::test]
async fn extracted_statements_do_the_same() {
    let world = World::new().await;
    for (name, program) in crate::rope_cases::METHODS {
        let (before, made) = world.method(program, None).await;
        let after = world.same(&before, made).await;
        assert!(after.contains("helper("), "{name}: {after}");
        assert_eq!(after.matches("def helper(").count(), 1, "{name}: {after}");
    }
    // Nothing is left in the workspace.
    assert_eq!(std::fs::read_dir(world.root()).unwrap().count(), 0);
}

#[tokio::test]
async fn extracted_expressions_do_the_same() {
    let world = World::new().await;
    for program in crate::rope_cases::EXPRESSIONS {
        let (before, made) = world.method(program, None).await;
        world.same(&before, made).await;
    }
    for program in crate::rope_cases::VARIABLES {
        let (before, made) = world.variable(program).await;
        let after = world.same(&before, made).await;
        assert!(after.contains("value = "), "{after}");
    }
}

#[tokio::test]
async fn kinds_of_functions_are_as_asked() {
    let world = World::new().await;
    let program = "class A:\n    def f(self, a):\n        b = a + 1  #[\n        print(b)  #]\n        return b\n\n\nprint(A().f(1))\n";
    for (kind, part) in [
        (FunctionKind::Method, "    def helper(self, a):"),
        (
            FunctionKind::Static,
            "    @staticmethod\n    def helper(a):",
        ),
        (
            FunctionKind::Class,
            "    @classmethod\n    def helper(cls, a):",
        ),
        (FunctionKind::Function, "\n\ndef helper(a):"),
    ] {
        let (before, made) = world.method(program, Some(kind)).await;
        let after = world.same(&before, made).await;
        assert!(after.contains(part), "{kind:?}: {after}");
    }
    let (_, made) = world
        .method("x = 1  #[  #]\nprint(x)\n", Some(FunctionKind::Static))
        .await;
    assert_eq!(made.unwrap_err().code, Code::InvalidParams);
}

#[tokio::test]
async fn line_ends_tabs_strings_and_encodings_are_kept() {
    let world = World::new().await;
    let program = "def f(a):\r\n\tb = a\r\n\tif b:  #[\r\n\t\ttext = \"\"\"x\r\n  y\"\"\"\r\n\t\tprint(text)  #]\r\n\treturn b\r\n\r\nprint(f(1))";
    let (before, made) = world.method(program, None).await;
    let after = world.same(&before, made).await;
    assert_eq!(after.matches('\n').count(), after.matches("\r\n").count());
    assert!(after.contains("\thelper(b)\r\n"), "{after}");
    assert!(
        after.contains("\tif b:\r\n\t\ttext = \"\"\"x\r\n  y\"\"\"\r\n"),
        "{after}"
    );
    assert!(after.ends_with("print(f(1))"), "{after}");
    let coded = b"# coding: latin-1\ndef f(a):\n    b = '\xe9' + a\n    print(b)\n\n\nf('x')\n";
    let source = Source::decode(coded);
    let file = File {
        path: "m.py",
        source: &source,
    };
    let asked = AskedRange {
        start_line: 3,
        start_col: None,
        end_line: 4,
        end_col: None,
    };
    let made = world
        .rope
        .extract_method(file, asked, "helper", None, DEADLINE)
        .await;
    let after = made.unwrap().files[0].text.clone();
    assert!(
        after.starts_with("# coding: latin-1\ndef f(a):\n    helper(a)\n"),
        "{after}"
    );
    assert!(after.contains("    b = 'é' + a\n"), "{after}");
    let two = "def f(a):\n  if a:\n    b = a  #[\n    print(b)  #]\n\nf(1)\n";
    let (before, made) = world.method(two, None).await;
    let after = world.same(&before, made).await;
    assert!(
        after.contains("def helper(a):\n  b = a\n  print(b)\n"),
        "{after}"
    );
}

#[tokio::test]
async fn what_cannot_be_extracted_is_refused_with_a_reason() {
    let world = World::new().await;
    for (program, code, part) in crate::rope_cases::REFUSED_METHODS {
        let (_, made) = world.method(program, None).await;
        let error = made.expect_err(program);
        assert_eq!(error.code, Code::from(*code), "{program}: {error:?}");
        assert!(error.message.contains(part), "{program}: {error:?}");
        assert!(error.hint.is_some(), "{program}");
    }
    for (program, code, part) in crate::rope_cases::REFUSED_VARIABLES {
        let (_, made) = world.variable(program).await;
        let error = made.expect_err(program);
        assert_eq!(error.code, Code::from(*code), "{program}: {error:?}");
        assert!(error.message.contains(part), "{program}: {error:?}");
    }
    let source = Source::decode(b"def f(a):\n    return a\n");
    let file = File {
        path: "m.py",
        source: &source,
    };
    let asked = AskedRange {
        start_line: 2,
        start_col: None,
        end_line: 2,
        end_col: None,
    };
    for name in ["1bad name", "", "class", "a-b"] {
        let made = world
            .rope
            .extract_method(file, asked, name, None, DEADLINE)
            .await;
        assert_eq!(made.unwrap_err().code, Code::InvalidParams, "{name}");
    }
    let made = world
        .rope
        .extract_variable(file, asked, "f", DEADLINE)
        .await;
    let error = made.unwrap_err();
    assert_eq!(error.code, Code::Conflict);
    let data = error.data.unwrap();
    assert_eq!((&data["line"], &data["column"]), (&1.into(), &5.into()));
}

#[tokio::test]
async fn inlined_programs_do_the_same() {
    let world = World::new().await;
    for (program, other) in crate::rope_cases::INLINES {
        let made = world.inline(program, *other).await;
        let made = made.unwrap_or_else(|error| panic!("{error:?}\n{program}"));
        let before = program.replacen('|', "", 1);
        let text = |name: &str, old: &str| {
            let new = made.files.iter().find(|file| file.path == name);
            new.map_or(old.to_owned(), |file| file.text.clone())
        };
        let after = text("m.py", &before);
        assert_ne!(after, before);
        let (old, new) = match other {
            Some(other) => {
                let new = text("n.py", other);
                (
                    world.output(&[("m.py", &before), ("n.py", other)]).await,
                    world.output(&[("m.py", &after), ("n.py", &new)]).await,
                )
            }
            None => (
                world.output(&[("m.py", &before)]).await,
                world.output(&[("m.py", &after)]).await,
            ),
        };
        assert_eq!(old, new, "{after}");
    }
    for (program, code) in crate::rope_cases::REFUSED_INLINES {
        let error = world.inline(program, None).await.expect_err(program);
        assert_eq!(error.code, Code::from(*code), "{program}: {error:?}");
    }
}

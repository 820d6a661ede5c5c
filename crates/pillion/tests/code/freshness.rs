//! Edit, then ask: no answer may be older than the edit, whatever the edit looks like.
//!
//! Thousands of pairs of an edit and a question, without a pause in between: on a watched
//! workspace, on one where nothing can be watched, and while the engine is killed again and
//! again. The seed is fixed, so that a failure can be repeated.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use pillion_testing::project::{TestProject, bare, git};
use pillion_testing::{TestContext, rounds};
use serde_json::{Value, json};

/// Modules that are edited.
const MODULES: usize = 8;
/// Lines that the definition moves within.
const LINES: u64 = 9;

/// A small generator of numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        // An xorshift step.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// A module in which `target` stands on a certain line. All texts have the same length.
fn module(line: u64) -> String {
    let filler = |n: u64| format!("x{n:05} = {n:05}\n");
    let mut text: String = (1..line).map(filler).collect();
    text.push_str("def target(): pass\n");
    text.extend((line..LINES).map(filler));
    text
}

/// How files are changed by the programs that people use.
#[derive(Debug, Clone, Copy)]
enum Edit {
    Write,
    RenameOver,
    /// As editors save: a backup, a temporary file, a rename, and the backup removed.
    EditorSave,
    DeleteAndCreate,
    /// The same size and the same time stamp as before.
    SameStamp,
    /// Two writes in a row, of which only the second counts.
    TwiceAtOnce,
    /// In place, a few bytes at a time.
    InPieces,
    GitCheckout,
}

const EDITS: [Edit; 8] = [
    Edit::Write,
    Edit::RenameOver,
    Edit::EditorSave,
    Edit::DeleteAndCreate,
    Edit::SameStamp,
    Edit::TwiceAtOnce,
    Edit::InPieces,
    Edit::GitCheckout,
];

/// A world in which every module has a `target`, and `use.py` imports them all.
struct World {
    project: TestProject,
    dice: Dice,
    /// The line of each module's `target`.
    lines: Vec<u64>,
    /// The same in the branch that git has not checked out.
    other: Vec<u64>,
    stale: Vec<String>,
}

impl World {
    fn new(context: TestContext, seed: u64) -> Self {
        git(&context, &["init", "-q", "-b", "one"]);
        for n in 0..MODULES {
            context.write(&format!("m{n}.py"), &module(1));
        }
        let imports: String = (0..MODULES)
            .map(|n| format!("from m{n} import target as t{n}\n"))
            .collect();
        let calls: String = (0..MODULES).map(|n| format!("t{n}()\n")).collect();
        context.write("use.py", &format!("{imports}{calls}"));
        git(&context, &["add", "-A"]);
        git(&context, &["commit", "-q", "-m", "one"]);
        git(&context, &["checkout", "-q", "-b", "two"]);
        let other = vec![1; MODULES];
        let lines: Vec<u64> = (0..MODULES as u64).map(|n| n % LINES + 1).collect();
        for (n, line) in lines.iter().enumerate() {
            context.write(&format!("m{n}.py"), &module(*line));
        }
        git(&context, &["commit", "-q", "-a", "-m", "two"]);
        Self {
            project: TestProject::new(context),
            dice: Dice(seed),
            lines,
            other,
            stale: Vec::new(),
        }
    }

    /// One edit, and at once a question about what it changed.
    fn pair(&mut self) {
        let edit = EDITS[self.dice.roll(EDITS.len() as u64) as usize];
        // git starts processes, and so costs as much as a hundred others.
        let edit = match edit {
            Edit::GitCheckout if self.dice.roll(16) > 0 => Edit::Write,
            edit => edit,
        };
        let n = self.dice.roll(MODULES as u64) as usize;
        let line = self.dice.roll(LINES) + 1;
        self.edit(edit, n, line);
        let found = match self.dice.roll(3) {
            0 => self.by_index(n),
            1 => self.by_grep(n),
            _ => self.by_engine(n),
        };
        if found != json!(self.lines[n]) {
            let expected = self.lines[n];
            self.stale
                .push(format!("{edit:?} of m{n}: line {found}, not {expected}"));
        }
    }

    fn edit(&mut self, edit: Edit, n: usize, line: u64) {
        let root = self.project.root().to_owned();
        let file = root.join(format!("m{n}.py"));
        let text = module(line);
        match edit {
            Edit::Write => fs::write(&file, &text).unwrap(),
            Edit::RenameOver => replace(&root.join("new.py.tmp"), &file, &text),
            Edit::EditorSave => {
                let backup = root.join(format!("m{n}.py~"));
                fs::rename(&file, &backup).unwrap();
                replace(&root.join(format!(".m{n}.py.swp")), &file, &text);
                fs::remove_file(backup).unwrap();
            }
            Edit::DeleteAndCreate => {
                fs::remove_file(&file).unwrap();
                fs::write(&file, &text).unwrap();
            }
            Edit::SameStamp => {
                fs::write(&file, &text).unwrap();
                let when = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
                let open = fs::File::options().append(true).open(&file).unwrap();
                open.set_modified(when).unwrap();
            }
            Edit::TwiceAtOnce => {
                fs::write(&file, module(line % LINES + 1)).unwrap();
                fs::write(&file, &text).unwrap();
            }
            Edit::InPieces => {
                use std::io::Write;
                let mut open = fs::File::create(&file).unwrap();
                for piece in text.as_bytes().chunks(64) {
                    open.write_all(piece).unwrap();
                }
            }
            Edit::GitCheckout => return self.checkout(),
        }
        self.lines[n] = line;
    }

    /// Commit what is there, and go to the other branch.
    fn checkout(&mut self) {
        let context = &self.project.context;
        git(
            context,
            &["commit", "-q", "-a", "--allow-empty", "-m", "more"],
        );
        git(context, &["checkout", "-q", "-"]);
        std::mem::swap(&mut self.lines, &mut self.other);
    }

    fn by_engine(&mut self, n: usize) -> Value {
        let place = ("use.py", (MODULES + n + 1) as u32, 1);
        let answer = self.project.ask_at("defs", place);
        let location = &answer["locations"][0];
        if location["file"] != json!(format!("m{n}.py")) {
            return answer;
        }
        location["line"].clone()
    }

    fn by_index(&mut self, n: usize) -> Value {
        let answer = self
            .project
            .ask("list", json!({ "path": format!("m{n}.py") }));
        let symbols = answer["symbols"].as_array().unwrap();
        let target = symbols.iter().find(|symbol| symbol["name"] == "target");
        target.map_or(Value::Null, |target| target["line"].clone())
    }

    fn by_grep(&mut self, n: usize) -> Value {
        let path = format!("m{n}.py");
        let answer = self
            .project
            .ask("grep", json!({ "pattern": "def target", "path": path }));
        answer["matches"][0]["line"].clone()
    }

    fn run(mut self, pairs: usize) {
        for _ in 0..pairs {
            self.pair();
        }
        assert!(
            self.stale.is_empty(),
            "{} of {pairs} answers were stale:\n{}",
            self.stale.len(),
            self.stale[..self.stale.len().min(10)].join("\n")
        );
    }
}

fn replace(temporary: &Path, file: &Path, text: &str) {
    fs::write(temporary, text).unwrap();
    fs::rename(temporary, file).unwrap();
}

#[test]
fn no_answer_is_older_than_the_edit_before_it() {
    World::new(bare(), 0x5eed).run(rounds(7_000));
}

#[test]
fn nor_where_nothing_can_be_watched() {
    let mut context = bare();
    context.set_env("PILLION_WATCH", "off");
    let mut world = World::new(context, 0xfeed);
    world.pair();
    let status = world
        .project
        .daemon
        .connect()
        .call("system.status", json!({}));
    let clock = &status.unwrap()["clocks"][0]["clock"];
    assert_eq!(clock["mode"], "sweeping", "{clock}");
    assert!(clock["why"].as_str().unwrap().contains("PILLION_WATCH"));
    world.run(rounds(2_000));
}

#[test]
fn nor_while_the_engine_is_killed() {
    let mut world = World::new(bare(), 0xdead);
    let mut kills = 0;
    for round in 0..rounds(1_000) {
        world.pair();
        if round % 50 == 25 {
            // After a few deaths in a row each question gets a process of its own.
            kills += usize::from(world.project.kill_engine());
        }
    }
    assert!(kills >= 3, "the engine was killed {kills} times");
    world.run(0);
}

//! Keys, small bundles and a store for a test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pillion_testing::{CommandOutput, TestContext};
use serde_json::Value;

/// The time of all builds of tests.
pub(crate) const CREATED: &str = "2026-01-31T12:00:00Z";

pub(crate) struct World {
    pub(crate) context: TestContext,
}

impl World {
    /// A world with a pair of keys, in which every command works without a daemon.
    pub(crate) fn new() -> Self {
        let mut context = TestContext::at_first_use();
        context.set_env("PILLION_NO_DAEMON", "1");
        let world = Self { context };
        world.done(&["bundle", "keygen", "--out", "keys"]);
        world
    }

    /// A path of the world's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.context.project.join(name)
    }

    /// The store, as an argument.
    pub(crate) fn store(&self) -> PathBuf {
        self.path("store")
    }

    /// Run pillion.
    pub(crate) fn run(&self, args: &[&str]) -> CommandOutput {
        self.context.pillion(args)
    }

    /// Run pillion, which must succeed.
    pub(crate) fn done(&self, args: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(args);
        self.context.pillion_json(&all)
    }

    /// Run pillion, which must refuse: its error.
    pub(crate) fn refused(&self, args: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(args);
        let output = self.run(&all);
        assert_eq!(output.code, Some(1), "pillion {args:?}\n{output}");
        let text = match output.stdout.trim() {
            "" => &output.stderr,
            _ => &output.stdout,
        };
        let value: Value = serde_json::from_str(text.trim()).unwrap();
        match value.get("error") {
            Some(error) => error.clone(),
            None => value,
        }
    }

    /// `pillion bundle VERB` on the store, with the key trusted.
    pub(crate) fn bundle(&self, verb: &str, more: &[&str]) -> Value {
        let mut args = vec!["bundle", verb, "--store", "store"];
        args.extend(more);
        self.done(&args)
    }

    pub(crate) fn install(&self, archive: &str) -> Value {
        self.bundle("install", &[archive, "--trust", "keys/bundle.pub"])
    }

    /// Why an archive is not installed; and nothing of it is, nor is anything left.
    pub(crate) fn refusal(&self, archive: &str, more: &[&str]) -> String {
        let before = self.installed();
        let mut args = vec!["bundle", "install", archive, "--store", "store"];
        args.extend(more);
        let error = self.refused(&args);
        assert_eq!(self.installed(), before, "{archive}: {error}");
        assert!(!self.store().join(".staging").exists(), "{archive}");
        assert_eq!(error["code"], "bundle_refused", "{archive}: {error}");
        error["data"]["reason"].as_str().unwrap().to_owned()
    }

    /// Everything that lies in the store but for its lock.
    pub(crate) fn installed(&self) -> Vec<PathBuf> {
        let mut all = Vec::new();
        let mut folders = vec![self.store()];
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                match entry.file_type().unwrap().is_dir() {
                    true => folders.push(entry.path()),
                    false if entry.file_name() == ".lock" => {}
                    false => all.push(entry.path()),
                }
            }
        }
        all.sort();
        all
    }

    /// Make a bundle of experts with a file whose text is the version.
    pub(crate) fn experts(&self, version: &str) -> String {
        let folder = format!("experts-{version}");
        self.write(&format!("{folder}/prompts/expert.md"), version);
        self.write(&format!("{folder}/scripts/tool.py"), "print('tool')\n");
        let out = format!("experts-{version}.tar.zst");
        self.build(&[
            "--type",
            "experts",
            "--scope",
            "core",
            "--version",
            version,
            "--from",
            &folder,
            "--out",
            &out,
        ]);
        out
    }

    /// The tree of something that looks like a Python, and a program that says `version`.
    pub(crate) fn small_tree(&self, version: &str, files: usize) {
        let tree = format!("tree-{version}");
        self.program(&format!("{tree}/bin/python3.11"), "#!/bin/sh\nexit 3\n");
        std::os::unix::fs::symlink("python3.11", self.path(&format!("{tree}/bin/python3")))
            .unwrap();
        self.write(&format!("{tree}/lib/python3.11/os.py"), "import sys\n");
        for number in 0..files {
            let text = format!("{version} {number}\n").repeat(200);
            self.write(&format!("{tree}/lib/python3.11/module_{number}.py"), &text);
        }
        let program = format!("#!/bin/sh\necho started {version}\n");
        self.program(&format!("program-{version}"), &program);
    }

    /// Make a runtime of such a tree for this machine.
    pub(crate) fn small_runtime(&self, version: &str, files: usize) -> String {
        self.small_tree(version, files);
        let out = format!("runtime-{version}.tar.zst");
        self.build(&[
            "--type",
            "python_runtime",
            "--scope",
            "core",
            "--version",
            version,
            "--python",
            &format!("tree-{version}"),
            "--binary",
            &format!("program-{version}"),
            "--out",
            &out,
        ]);
        out
    }

    /// `pillion bundle build` with the key and the time of tests.
    pub(crate) fn build(&self, args: &[&str]) -> Value {
        let mut all = vec!["bundle", "build", "--key", "keys/bundle.key"];
        all.extend(["--created-at", CREATED]);
        all.extend(args);
        self.done(&all)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn program(&self, name: &str, text: &str) {
        self.write(name, text);
        executable(&self.path(name));
    }

    pub(crate) fn index(&self) -> Value {
        let bytes = fs::read(self.store().join("active_index.json")).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }
}

pub(crate) fn executable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

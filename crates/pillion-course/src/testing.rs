//! Trees of files for tests.

use std::fs;
use std::path::PathBuf;

/// A folder that goes away with its test.
pub(crate) struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        match relative {
            "" => self.folder.path().to_owned(),
            _ => self.folder.path().join(relative),
        }
    }

    pub(crate) fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// A chapter with two tasks.
pub(crate) fn chapter(tree: &Tree, folder: &str, title: &str) {
    let file = |name: &str, text: &str| tree.write(&format!("{folder}/{name}"), text);
    file("chapter_context.md", &format!("# {title}\nAbout it.\n"));
    file("task_list.md", "# Tasks\n- **t1** First\n- **t2** Second\n");
    file("task_completion_principles.md", "Done is done.\n");
}

/// An expert with a skill that is done by a program.
pub(crate) fn expert(tree: &Tree, folder: &str, metadata: &str) {
    let file = |name: &str, text: &str| tree.write(&format!("{folder}/{name}"), text);
    file(
        "principles.md",
        &format!("---\n{metadata}---\n# Principles\nBe exact.\n"),
    );
    file("knowledge/facts.md", "A fact.\n");
    file(
        "skills/look.md",
        "---\nname: look\ndescription: Looks\npython: look.py\ntools: [read_file]\n\
         parameters: {type: object}\n---\nHow to look.\n",
    );
    file(
        "skills/look.py",
        "def run(**arguments):\n    return arguments\n",
    );
}

//! Modules and definitions at other places: the program does the same before and after.

use pillion_testing::TestContext;
use pillion_testing::project::{TestProject, bare, find, git};
use serde_json::{Value, json};

use super::refactor::{at, check, rename};

const FILES: &[(&str, &str)] = &[
    (
        "pkg/__init__.py",
        "from . import core, tools\nfrom .core.model import Item\n\n__all__ = [\"core\", \"Item\"]\n",
    ),
    ("pkg/core/__init__.py", "from .. import tools as kit\n"),
    (
        "pkg/core/base.py",
        "\
REGISTRY = []


class Base:
    def __init_subclass__(cls):
        REGISTRY.append(cls.__name__)
",
    ),
    (
        "pkg/core/model.py",
        "\
\"\"\"Items.\"\"\"
from __future__ import annotations

import os.path
import re as regex
from ..tools import text as t, numbers
from .base import Base

LIMIT = 3
_COUNT = 0


# What people buy.
class Item(Base):
    def __init__(self, name: str, price: int = LIMIT) -> None:
        self.name, self.price = name, price

    def __repr__(self) -> str:
        return t.shout(self.name) + str(numbers.double(self.price))


def names(items: list[Item]) -> list[str]:
    from .base import REGISTRY
    return [regex.sub('x', 'y', item.name) for item in items] + REGISTRY


def count():
    global _COUNT
    _COUNT += 1
    return _COUNT


def path_of(item):
    return os.path.join('shop', item.name)


DEFAULT = Item('none', 0)
",
    ),
    ("pkg/tools/__init__.py", "from .text import shout\n"),
    (
        "pkg/tools/text.py",
        "\
from .numbers import *


def shout(text):
    return text.upper() + '!' * double(1)
",
    ),
    (
        "pkg/tools/numbers.py",
        "\
__all__ = [
    'double',
    'half',
]


def double(x):
    return x * 2


def half(x):
    return x // 2


def unused():
    return half(4)
",
    ),
    (
        "main.py",
        "\
import pkg.core.model
import pkg.tools.text as pt
import pkg.tools.numbers
from pkg.core import model as m, base
from pkg.tools import text
from pkg import tools


def late():
    from pkg.tools.text import shout
    import pkg.core.base
    from pkg.core.model import names, Item as Thing
    return [shout('late'), pkg.core.base.REGISTRY, names([Thing('a')])]


print(pkg.core.model.Item('one', 1), m.LIMIT, base.REGISTRY, text.shout('hi'), tools.shout('ho'))
print(pt.shout('x'), late(), pkg.Item('two'), pkg.core.kit.text.shout('kit'), m.count(), m.count())
print(pkg.tools.numbers.half(9), tools.numbers.unused(), m.path_of(m.DEFAULT), pkg.core.model.names([]))
",
    ),
];

fn text(file: &str) -> &'static str {
    let found = FILES.iter().find(|(name, _)| *name == file);
    found.map(|(_, text)| *text).unwrap()
}

fn committed(context: TestContext) -> TestProject {
    git(&context, &["init", "-q"]);
    git(&context, &["add", "-A"]);
    git(&context, &["commit", "-q", "-m", "before"]);
    TestProject::new(context)
}

fn shop() -> TestProject {
    let context = bare();
    for (file, text) in FILES {
        context.write(file, text);
    }
    committed(context)
}

fn moved(file: &str, dest: &str) -> Value {
    json!({ "file": file, "dest_file": dest })
}

fn symbol(file: &str, needle: &str, dest: &str) -> Value {
    let mut params = at(file, text(file), needle);
    params["dest_file"] = json!(dest);
    params
}

#[test]
fn modules_and_packages_get_other_names() {
    let mut project = shop();
    for (file, needle, new_name) in [
        ("main.py", "import pkg.core.|model", "things"),
        ("main.py", "import pkg.|core.model", "heart"),
        ("main.py", "import |pkg.core.model", "shop"),
        ("main.py", "from pkg.tools import |text", "words"),
        ("main.py", "from pkg import |tools", "kit"),
        ("pkg/tools/text.py", "from .|numbers", "maths"),
        ("pkg/core/model.py", "numbers\nfrom .|base", "root"),
        ("pkg/core/model.py", "text as t, |numbers", "late_numbers"),
        // The new name is taken in one of the files: an alias keeps the old one there.
        ("pkg/core/model.py", "text as t, |numbers", "names"),
    ] {
        let params = rename(file, text(file), needle, new_name);
        let shown = check(&mut project, "rename", params);
        let left = shown["patches"].to_string();
        assert!(!left.contains("__pycache__"), "{left}");
    }
}

#[test]
fn modules_and_packages_move_to_other_places() {
    let mut project = shop();
    for (file, dest) in [
        ("pkg/core/model.py", "pkg/"),
        ("pkg/core/model.py", "pkg/things.py"),
        ("pkg/core/model.py", "pkg/tools"),
        ("pkg/core/model.py", "pkg/new/deep/items.py"),
        ("pkg/core", "pkg/tools/"),
        ("pkg/core/__init__.py", "pkg/centre"),
        ("pkg/tools", "pkg/core/"),
        ("pkg/tools", "kit"),
        ("pkg/tools/text.py", "pkg/tools/sub/words.py"),
        ("pkg/core/base.py", "base.py"),
        ("pkg/core/base.py", "new/deep/root.py"),
        ("pkg/tools/numbers.py", "pkg/core/"),
        ("pkg/core/base.py", "pkg/base.py"),
        ("pkg", "vendor/pkg"),
    ] {
        let shown = check(&mut project, "move", moved(file, dest));
        let renamed = shown["renamed"].as_array().unwrap();
        assert!(!renamed.is_empty(), "{file} {dest}: {shown:#}");
    }
}

#[test]
fn definitions_move_to_other_modules_with_what_they_need() {
    let mut project = shop();
    let mut refused = Vec::new();
    for (file, needle, dest) in [
        ("pkg/core/model.py", "|DEFAULT = ", "pkg/core/default.py"),
        ("pkg/core/model.py", "def |names", "pkg/core/listing.py"),
        ("pkg/core/model.py", "def |path_of", "pkg/tools/text.py"),
        ("pkg/core/model.py", "def |path_of", "paths.py"),
        ("pkg/core/model.py", "|LIMIT = 3", "pkg/core/base.py"),
        ("pkg/core/model.py", "|LIMIT = 3", "pkg/limits.py"),
        ("pkg/core/base.py", "class |Base", "pkg/core/root.py"),
        ("pkg/core/base.py", "|REGISTRY = []", "pkg/registry.py"),
        ("pkg/tools/text.py", "def |shout", "pkg/tools/loud.py"),
        ("pkg/tools/text.py", "def |shout", "pkg/tools/sub/loud.py"),
        ("pkg/tools/numbers.py", "def |double", "pkg/tools/twice.py"),
        ("pkg/tools/numbers.py", "def |half", "pkg/halves.py"),
        ("pkg/tools/numbers.py", "def |unused", "pkg/core/base.py"),
        ("main.py", "def |late", "lately.py"),
    ] {
        let shown = check(&mut project, "move", symbol(file, needle, dest));
        assert!(shown["edits"].as_u64() > Some(0), "{needle}: {shown:#}");
        let mut params = symbol(file, needle, dest);
        params["reexport"] = json!(true);
        match project.try_ask("move", params.clone()) {
            Ok(_) => drop(check(&mut project, "move", params)),
            Err(error) => {
                assert!(error["data"]["cycle"].is_array(), "{error}");
                refused.push(needle);
            }
        }
    }
    // They need what their old module defines, so that module cannot import them.
    let expected = ["|DEFAULT = ", "class |Base", "def |unused"];
    assert_eq!(refused, expected);
}

#[test]
fn the_text_of_a_moved_definition_is_as_one_would_write_it() {
    let mut project = shop();
    let mut params = symbol("pkg/core/model.py", "def |names", "pkg/core/listing.py");
    params["output_format"] = json!("full");
    let shown = project.ask("move", params);
    insta::assert_snapshot!(shown["patches"]["pkg/core/listing.py"].as_str().unwrap(), @r#"
    from __future__ import annotations

    import re as regex
    from typing import TYPE_CHECKING

    if TYPE_CHECKING:
        from .model import Item


    def names(items: list[Item]) -> list[str]:
        from .base import REGISTRY
        return [regex.sub('x', 'y', item.name) for item in items] + REGISTRY
    "#);
}

#[test]
fn what_cannot_be_moved_is_refused_with_the_place() {
    let mut project = shop();
    for (params, code, words) in [
        (
            symbol("pkg/core/model.py", "def |count", "pkg/c.py"),
            "conflict",
            "_COUNT",
        ),
        (
            symbol("pkg/core/model.py", "def |__repr__", "pkg/c.py"),
            "invalid_params",
            "class",
        ),
        (
            symbol("pkg/core/model.py", "|_COUNT = 0", "pkg/c.py"),
            "invalid_params",
            "changes",
        ),
        (
            symbol("pkg/core/model.py", "import |os.path", "pkg/c.py"),
            "invalid_params",
            "module",
        ),
        (
            symbol("pkg/core/model.py", "|# What", "pkg/c.py"),
            "not_found",
            "nothing to move",
        ),
        (
            symbol("pkg/core/model.py", "class |Item", "pkg/core/model.py"),
            "invalid_params",
            "already",
        ),
        (
            symbol("pkg/core/model.py", "class |Item", "pkg/c.txt"),
            "invalid_params",
            "Python file",
        ),
        (
            symbol("pkg/core/model.py", "class |Item", "../c.py"),
            "outside_root",
            "outside",
        ),
        (
            symbol("pkg/tools/text.py", "def |shout", "pkg/core/base.py"),
            "conflict",
            "each other",
        ),
        (
            moved("pkg/core", "pkg/core/inner/"),
            "invalid_params",
            "itself",
        ),
        (
            symbol("pkg/core/model.py", "class |Item", "pkg/core/item.py"),
            "conflict",
            "each other",
        ),
        (
            moved("pkg/core/model.py", "model.py"),
            "conflict",
            "model -> pkg -> model",
        ),
        (
            moved("pkg/core/base.py", "pkg/core/model.py"),
            "conflict",
            "there already",
        ),
        (
            moved("pkg/core/base.py", "pkg/core/"),
            "invalid_params",
            "already",
        ),
        (
            moved("pkg/core/nosuch.py", "pkg/x.py"),
            "not_found",
            "nosuch",
        ),
        (
            moved("pkg/core/base.py", "pkg/class.py"),
            "invalid_params",
            "keyword",
        ),
        (
            json!({ "file": "main.py", "line": 1, "dest_file": "x.py" }),
            "invalid_params",
            "`column`",
        ),
    ] {
        let error = match project.try_ask("move", params.clone()) {
            Err(error) => error,
            Ok(shown) => panic!("{params}: {shown:#}"),
        };
        assert_eq!(error["code"], code, "{params}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(words), "{params}: {message}");
    }
    let (line, col) = find(text("main.py"), "import |pkg.core.model");
    let taken = json!({ "file": "main.py", "line": line, "col": col, "new_name": "main" });
    let error = project.try_ask("rename", taken).unwrap_err();
    assert_eq!(error["code"], "conflict", "{error}");
}

#[test]
fn a_package_takes_its_other_files_along_and_leaves_no_folder_behind() {
    let context = bare();
    for (file, text) in FILES {
        context.write(file, text);
    }
    context.write("pkg/core/data/table.csv", "a,b\n");
    context.write("pkg/core/__pycache__/base.cpython-311.pyc", "old");
    context.write(
        "pyproject.toml",
        "[tool.x]\nentry = \"pkg.core.model:Item\"\n",
    );
    let mut project = TestProject::new(context);
    let mut params = moved("pkg/core", "pkg/centre");
    params["apply"] = json!(true);
    let shown = project.ask("move", params);
    let root = project.root().to_owned();
    assert!(root.join("pkg/centre/data/table.csv").is_file());
    assert!(!root.join("pkg/core").exists());
    let possible = shown["possible"].as_array().unwrap();
    let places: Vec<_> = possible
        .iter()
        .map(|p| p["file"].as_str().unwrap())
        .collect();
    assert_eq!(places, ["pyproject.toml"], "{shown:#}");
    project.ask("undo", json!({}));
    assert!(root.join("pkg/core/data/table.csv").is_file());
    assert!(!root.join("pkg/centre").exists());
}

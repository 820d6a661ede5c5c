//! Questions to the map of a project, through real doors.

mod agents;
mod changes;
mod cli;
mod languages;
mod live;
mod old_hosts;
mod patterns;
mod pictures;
mod projects;
mod questions;
mod types;

use std::fs;

use pillion_testing::daemon::Daemon;
use pillion_testing::rpc::{Rpc, RpcOutcome};
use pillion_testing::{CommandOutput, TestContext};
use serde_json::{Value, json};

/// A small shop, in which each function has something to do.
const SHOP: &[(&str, &str)] = &[
    (
        "pyproject.toml",
        "[project]\nname = \"shop\"\n[project.scripts]\nshop = \"shop.main:start\"\n",
    ),
    ("shop/__init__.py", "from .cart import Cart\n"),
    (
        "shop/cart.py",
        "from .money import add\n\n\nclass Cart:\n    def __init__(self):\n        self.items = []\n\n    def total(self):\n        return add(self.items)\n\n    def forgotten(self):\n        return old_total(self)\n\n\ndef old_total(cart):\n    return cart\n",
    ),
    (
        "shop/money.py",
        "RATE = 2\n\n\ndef add(items):\n    return sum(items) * RATE\n\n\ndef split(sum_, parts):\n    return [sum_ / parts] * parts\n",
    ),
    (
        "shop/main.py",
        "from shop import Cart\n\n\ndef start():\n    cart = Cart()\n    return cart.total()\n",
    ),
    (
        "tests/test_cart.py",
        "import unittest\n\nfrom shop import Cart\n\n\nclass CartTest(unittest.TestCase):\n    def setUp(self):\n        self.cart = Cart()\n\n    def test_total(self):\n        self.assertEqual(self.cart.total(), 0)\n\n    def test_items(self):\n        self.assertEqual(self.cart.items, [])\n",
    ),
    (
        "tests/test_money.py",
        "from shop.money import split\n\n\ndef test_split():\n    assert split(4, 2) == [2, 2]\n",
    ),
];

/// A project whose map is asked about. The fields are in the order in which they end.
struct Mapped {
    rpc: Rpc,
    _daemon: Daemon,
    context: TestContext,
}

impl Mapped {
    fn new(context: TestContext) -> Self {
        let daemon = context.daemon();
        Self {
            rpc: daemon.connect(),
            _daemon: daemon,
            context,
        }
    }

    fn shop() -> Self {
        Self::new(shop())
    }

    /// What an operation answers, or its error object.
    fn try_ask(&mut self, operation: &str, mut params: Value) -> RpcOutcome {
        if params.get("project").is_none() {
            params["project"] = json!(self.context.project);
        }
        let outcome = self.rpc.call(&format!("map.{operation}"), params);
        outcome.map_err(|error| error["data"].clone())
    }

    /// What an operation answers; it must.
    fn ask(&mut self, operation: &str, params: Value) -> Value {
        self.try_ask(operation, params)
            .unwrap_or_else(|error| panic!("map.{operation}: {error:#}"))
    }
}

fn empty() -> TestContext {
    let context = TestContext::new();
    fs::remove_file(context.project.join("things.py")).unwrap();
    context
}

fn shop() -> TestContext {
    shop_in(empty())
}

/// The shop, with ty and ruff at hand.
fn shop_with_tools() -> TestContext {
    shop_in(pillion_testing::project::bare())
}

fn shop_in(context: TestContext) -> TestContext {
    for (name, text) in SHOP {
        context.write(name, text);
    }
    context
}

/// Run git in the project; it must succeed.
fn git(context: &TestContext, args: &[&str]) {
    git_in(context, ".", args);
}

fn git_in(context: &TestContext, folder: &str, args: &[&str]) {
    let mut git = context.command("git");
    git.current_dir(context.project.join(folder))
        .args(["-c", "user.name=it", "-c", "user.email=it@localhost"])
        .args(["-c", "protocol.file.allow=always"])
        .args(args);
    let output = CommandOutput::of(git);
    assert_eq!(output.code, Some(0), "git {args:?}\n{output}");
}

/// A list of strings.
fn texts(list: &Value) -> Vec<&str> {
    let all = list.as_array().unwrap_or_else(|| panic!("{list}"));
    all.iter().map(|text| text.as_str().unwrap()).collect()
}

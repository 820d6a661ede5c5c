//! One small project for each rule of resolution.

use super::link::Way;
use super::update::Map;

/// The calls of a project, as `file:caller -> file:callee`, with `?` if only possible.
fn calls(files: &[(&str, &str)]) -> Vec<String> {
    edges(files, Way::Call)
}

fn edges(files: &[(&str, &str)], way: Way) -> Vec<String> {
    let mut map = Map::default();
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| (*path, Some(*text)))
        .collect();
    map.edit(&files);
    let graph = map.graph();
    let label = |node| {
        let path = graph.path(node).trim_end_matches(".py");
        format!("{path}:{}", graph.name(node))
    };
    let mut found = Vec::new();
    for node in graph.nodes() {
        for edge in graph.out(node).iter().filter(|edge| edge.way == way) {
            let mark = if edge.is_sure { "->" } else { "?>" };
            found.push(format!("{} {mark} {}", label(node), label(edge.node)));
        }
    }
    found.sort();
    found
}

#[test]
fn names_of_the_module_and_of_functions() {
    let text = "
def top(): inner()
def inner():
    def nested(): top()
    nested()
    top = 1
    return top
def shadow(top): top()
inner()
";
    assert_eq!(
        calls(&[("a.py", text)]),
        [
            "a:<module> -> a:inner",
            "a:inner -> a:inner.nested",
            // `top` is a variable of the function around, so nobody knows what it is.
            "a:top -> a:inner",
        ]
    );
}

#[test]
fn absolute_relative_and_dotted_imports() {
    let files = [
        ("pkg/__init__.py", ""),
        (
            "pkg/a.py",
            "from . import b\nfrom .sub.c import deep as d\nfrom .. import nothing\ndef f():\n    b.g()\n    d()\n",
        ),
        (
            "pkg/b.py",
            "import pkg.sub.c\nimport pkg.sub.c as short\ndef g():\n    pkg.sub.c.deep()\ndef h(): short.deep()\n",
        ),
        ("pkg/sub/__init__.py", ""),
        ("pkg/sub/c.py", "from ..a import f\ndef deep(): f()\n"),
        (
            "main.py",
            "from pkg import a\nimport os\na.f()\nos.getcwd()\n",
        ),
    ];
    assert_eq!(
        calls(&files),
        [
            "main:<module> -> pkg/a:f",
            "pkg/a:f -> pkg/b:g",
            "pkg/a:f -> pkg/sub/c:deep",
            "pkg/b:g -> pkg/sub/c:deep",
            "pkg/b:h -> pkg/sub/c:deep",
            "pkg/sub/c:deep -> pkg/a:f",
        ]
    );
}

#[test]
fn stars_take_what_is_offered() {
    let files = [
        (
            "lib.py",
            "__all__ = ['_hidden', 'shown']\ndef shown(): pass\ndef _hidden(): pass\ndef kept(): pass\n",
        ),
        ("plain.py", "def open_(): pass\ndef _closed(): pass\n"),
        (
            "use.py",
            "from lib import *\nfrom plain import *\ndef f():\n    shown()\n    _hidden()\n    kept()\n    open_()\n    _closed()\n    len([])\n",
        ),
    ];
    assert_eq!(
        calls(&files),
        [
            "use:f -> lib:_hidden",
            "use:f -> lib:shown",
            "use:f -> plain:open_"
        ]
    );
}

#[test]
fn imports_in_functions_and_chains_of_packages() {
    let files = [
        (
            "pkg/__init__.py",
            "from .core import *\nfrom .core import work as task\n",
        ),
        ("pkg/core/__init__.py", "from .deep import work, Tool\n"),
        (
            "pkg/core/deep.py",
            "def work(): pass\nclass Tool:\n    def use(self): pass\n",
        ),
        (
            "app.py",
            "def f():\n    from pkg import task, Tool\n    task()\n    Tool().use()\ndef g():\n    import pkg\n    pkg.work()\n    pkg.core.deep.work()\n",
        ),
    ];
    assert_eq!(
        calls(&files),
        [
            "app:f -> pkg/core/deep:Tool",
            "app:f -> pkg/core/deep:Tool.use",
            "app:f -> pkg/core/deep:work",
            "app:g -> pkg/core/deep:work",
        ]
    );
}

#[test]
fn self_cls_and_super_follow_the_classes_above() {
    let files = [
        (
            "base.py",
            "class Base:\n    def run(self): self.step()\n    def step(self): pass\n    @classmethod\n    def make(cls): return cls()\n",
        ),
        (
            "sub.py",
            "import base\nclass Sub(base.Base):\n    def __init__(self): super().__init__()\n    def step(self): super().step()\n    def go(self):\n        self.run()\n        self.make()\n        Sub.step(self)\n    @classmethod\n    def all(cls): cls.make()\n    @staticmethod\n    def apart(self): self.run()\n",
        ),
    ];
    assert_eq!(
        calls(&files),
        [
            "base:Base.make -> base:Base",
            "base:Base.run -> base:Base.step",
            "sub:Sub.all -> base:Base.make",
            // A static method's first parameter is anything.
            "sub:Sub.apart ?> base:Base.run",
            "sub:Sub.go -> base:Base.make",
            "sub:Sub.go -> base:Base.run",
            "sub:Sub.go -> sub:Sub.step",
            "sub:Sub.step -> base:Base.step",
        ]
    );
}

#[test]
fn a_diamond_is_searched_as_python_does() {
    let text = "
class A:
    def m(self): pass
class B(A): pass
class C(A):
    def m(self): pass
class D(B, C):
    def go(self): self.m()
";
    assert_eq!(calls(&[("a.py", text)]), ["a:D.go -> a:C.m"]);
}

#[test]
fn an_unknown_base_before_leaves_it_open() {
    let text = "
from elsewhere import Mixin
class Mine:
    def m(self): pass
class First(Mine, Mixin):
    def go(self): self.m()
class Last(Mixin, Mine):
    def go(self):
        self.m()
        self.other()
";
    assert_eq!(
        calls(&[("a.py", text)]),
        ["a:First.go -> a:Mine.m", "a:Last.go ?> a:Mine.m"]
    );
}

#[test]
fn constructors_and_instances() {
    let text = "
class C:
    def __init__(self): pass
    def m(self): return self
    def __call__(self): pass
class D(C): pass
class E:
    def only(self): pass
def f(p: C, q: 'D | None' = None, *rest: E):
    x = C()
    x.m().m()
    p.m()
    q.m()
    D()
    E()
    x()
    rest.only()
";
    assert_eq!(
        calls(&[("a.py", text)]),
        [
            "a:f -> a:C.__call__",
            "a:f -> a:C.__init__",
            "a:f -> a:C.m",
            "a:f -> a:E",
            "a:f ?> a:E.only",
        ]
    );
}

#[test]
fn attributes_of_self_and_annotations() {
    let files = [
        (
            "engine.py",
            "class Engine:\n    def start(self): pass\n    def halt(self): pass\n",
        ),
        (
            "car.py",
            "from typing import Optional\nfrom engine import Engine\nclass Car:\n    spare: Engine\n    def __init__(self, given: Engine):\n        self.own = Engine()\n        self.given = given\n        self.late: Optional[Engine] = None\n    def a(self): self.own.start()\n    def b(self): self.given.halt()\n    def c(self): self.late.start()\n    def d(self): self.spare.halt()\n",
        ),
    ];
    assert_eq!(
        calls(&files),
        [
            "car:Car.__init__ -> engine:Engine",
            "car:Car.a -> engine:Engine.start",
            "car:Car.b -> engine:Engine.halt",
            "car:Car.c -> engine:Engine.start",
            "car:Car.d -> engine:Engine.halt",
        ]
    );
}

#[test]
fn what_functions_return() {
    let text = "
from typing import Self
class C:
    def m(self): pass
    def chain(self) -> Self: ...
    def __enter__(self): return self
    def __exit__(self, *a): pass
class D(C): pass
def made() -> C: ...
def inferred(): return D()
def wrapped(f): return f
@wrapped
def hidden() -> C: ...
def f():
    made().m()
    inferred().chain().m()
    with D() as d:
        d.m()
";
    assert_eq!(
        calls(&[("a.py", text)]),
        [
            "a:<module> -> a:wrapped",
            "a:f -> a:C.__enter__",
            "a:f -> a:C.__exit__",
            "a:f -> a:C.chain",
            "a:f -> a:C.m",
            "a:f -> a:D",
            "a:f -> a:inferred",
            "a:f -> a:made",
            "a:inferred -> a:D",
        ]
    );
}

#[test]
fn decorators_lambdas_comprehensions_and_properties() {
    let text = "
def deco(f): return f
def factory(n): return deco
def one(x): pass
class P:
    @property
    def size(self): return one(1)
    handler = one
    def use(self):
        self.handler()
        return self.size
@deco
@factory(2)
def work(): pass
def f():
    work()
    key = lambda one: one(1)
    [one(x) for x in (lambda: work)()]
    return {work: one(x) for x in [] if deco(x)}
";
    assert_eq!(
        calls(&[("a.py", text)]),
        [
            "a:<module> -> a:deco",
            "a:<module> -> a:factory",
            "a:P.size -> a:one",
            "a:P.use -> a:P.size",
            "a:P.use -> a:one",
            "a:f -> a:deco",
            "a:f -> a:one",
            "a:f -> a:work",
        ]
    );
}

#[test]
fn either_of_two_imports_or_definitions() {
    let files = [
        ("fast.py", "def go(): pass\n"),
        ("slow.py", "def go(): pass\n"),
        (
            "a.py",
            "try:\n    from fast import go\nexcept ImportError:\n    from slow import go\ntry:\n    import ujson as fastest\nexcept ImportError:\n    import fast as fastest\nif x:\n    def twice(): pass\nelse:\n    def twice(): pass\ndef f():\n    go()\n    fastest.go()\n    twice()\n",
        ),
    ];
    assert_eq!(
        calls(&files),
        ["a:f -> a:twice", "a:f -> fast:go", "a:f ?> slow:go"]
    );
}

#[test]
fn calls_on_anything_are_possible_if_few_have_the_name() {
    let mut text = "
class A:
    def special(self): pass
    def append(self): pass
class B:
    def special(self): pass
def f(x):
    x.special()
    x.append(1)
    x.many()
    x[0].special()
    ''.special()
"
    .to_owned();
    for n in 0..6 {
        text.push_str(&format!("class M{n}:\n    def many(self): pass\n"));
    }
    assert_eq!(
        calls(&[("a.py", &text)]),
        ["a:f ?> a:A.special", "a:f ?> a:B.special"]
    );
}

#[test]
fn what_is_passed_on_is_a_reference() {
    let text = "
def work(): pass
class Base: pass
class Sub(Base): pass
def f(run):
    run(work)
    return Sub
";
    assert_eq!(
        edges(&[("a.py", text)], Way::Reference),
        ["a:Sub -> a:Base", "a:f -> a:Sub", "a:f -> a:work"]
    );
}

#[test]
fn fixtures_are_called_by_the_tests_that_name_them() {
    let files = [
        (
            "tests/conftest.py",
            "import pytest\n@pytest.fixture\ndef db(): pass\n@pytest.fixture()\ndef user(db): pass\n",
        ),
        (
            "tests/unit/test_a.py",
            "import pytest\n@pytest.fixture\ndef local(): pass\ndef test_one(user, local, other): pass\nclass TestTwo:\n    def test_two(self, db): pass\ndef helper(db): pass\n",
        ),
    ];
    assert_eq!(
        calls(&files),
        [
            "tests/conftest:user -> tests/conftest:db",
            "tests/unit/test_a:TestTwo.test_two -> tests/conftest:db",
            "tests/unit/test_a:test_one -> tests/conftest:user",
            "tests/unit/test_a:test_one -> tests/unit/test_a:local",
        ]
    );
}

#[test]
fn what_goes_in_circles_ends() {
    let files = [
        (
            "a.py",
            "from b import *\nfrom b import x\nclass A(B): pass\nx = x.y()\nx = x.z()\ndef f(): return f()\ndef g():\n    f().m()\n    x.n()\n    A().o()\n",
        ),
        (
            "b.py",
            "from a import *\nfrom a import x\nclass B(A): pass\n",
        ),
    ];
    assert_eq!(calls(&files), ["a:f -> a:f", "a:g -> a:A", "a:g -> a:f"]);
}

#[test]
fn a_mixin_takes_the_place_of_what_comes_behind_it() {
    let mut map = Map::default();
    let base = "class Base:\n    def go(self): pass\nclass Mixin:\n    def go(self): pass\n";
    let both = "from base import Base, Mixin\nclass Both(Mixin, Base): pass\n";
    map.edit(&[("base.py", Some(base)), ("both.py", Some(both))]);
    let dump = map.graph().dump();
    let line = "override base.py:Mixin.go -> base.py:Base.go";
    assert!(dump.contains(line), "{dump}");
}

#[test]
fn a_class_that_may_have_anything_is_guessed_about() {
    let text = "
class Real:
    def special(self): pass
class Proxy:
    def __getattr__(self, name): return 1
class Closed: pass
def f():
    Proxy().special()
    Closed().special()
";
    assert_eq!(
        calls(&[("a.py", text)]),
        ["a:f -> a:Closed", "a:f -> a:Proxy", "a:f ?> a:Real.special"]
    );
}

//! One small piece of code for each rule, and one that only looks like it.

use pillion_index::source::Source;

use super::file::patterns;

/// What is found: `kind@line`.
fn found(text: &str) -> Vec<String> {
    let found = patterns(&Source::from_text(text), "app.py").into_iter();
    found
        .map(|one| format!("{}@{}", one.kind, one.line))
        .collect()
}

#[test]
fn singletons() {
    let new = "class A:\n    _one = None\n    def __new__(cls):\n        if cls._one is None:\n            cls._one = super().__new__(cls)\n        return cls._one\n";
    assert_eq!(found(new), ["singleton@1"]);
    assert_eq!(
        found("class A(metaclass=SingletonMeta): ...\n"),
        ["singleton@1"]
    );
    let given = "class A:\n    @classmethod\n    def get_instance(cls):\n        A._it = A._it or cls()\n        return A._it\n";
    assert_eq!(found(given), ["singleton@1"]);
    let other = "class A:\n    def __new__(cls):\n        it = super().__new__(cls)\n        return it\n    def instance(self):\n        self.x = 1\n        return self.x\n";
    assert!(found(other).is_empty());
}

#[test]
fn factories() {
    let function = "def make_shape(kind):\n    if kind == 1:\n        return Circle()\n    return shapes.Square(kind)\n";
    assert_eq!(found(function), ["factory@1"]);
    assert_eq!(
        found("class ShapeFactory:\n    def create(self): ...\n"),
        ["factory@1"]
    );
    assert!(found("def make_shape():\n    return Circle()\n").is_empty());
    assert!(found("def view():\n    if x:\n        return A()\n    return B()\n").is_empty());
}

#[test]
fn observers_event_buses_and_composites() {
    let observer = "class S:\n    def subscribe(self, f):\n        self.all.append(f)\n    def notify(self, x):\n        for f in list(self.all):\n            f(x)\n";
    assert_eq!(found(observer), ["observer@1"]);
    let bus = "class B:\n    def on(self, event, f):\n        self.all.setdefault(event, []).append(f)\n    def emit(self, event):\n        for f in self.all.get(event, ()):\n            f()\n";
    assert_eq!(found(bus), ["event_bus@1"]);
    let composite = "class G:\n    def put(self, child):\n        self.all.append(child)\n    def draw(self):\n        for child in self.all:\n            child.draw()\n";
    assert_eq!(found(composite), ["composite@1"]);
    let paired = "class S:\n    def connect(self, f, key=None):\n        self.all.append((key, f))\n    def fire(self):\n        for key, f in self.all:\n            f(key)\n";
    assert_eq!(found(paired), ["observer@1"]);
    let sum = "class C:\n    def put(self, x):\n        self.all.append(x)\n    def run(self):\n        for x in self.all:\n            x.close()\n";
    assert!(found(sum).is_empty());
    let other = "class G:\n    def put(self, x):\n        self.all.append(x)\n    def total(self):\n        for x in self.others:\n            x()\n";
    assert!(found(other).is_empty());
}

#[test]
fn middleware_and_chains() {
    let class = "class M:\n    def __init__(self, get_response): ...\n    def __call__(self, request): ...\n";
    assert_eq!(found(class), ["middleware@1"]);
    let function = "def m(get_response):\n    def inner(request):\n        return get_response(request)\n    return inner\n";
    assert_eq!(found(function), ["middleware@1"]);
    assert_eq!(
        found("@app.middleware('http')\nasync def m(request, call_next): ...\n"),
        ["middleware@2"]
    );
    let chain = "class H:\n    def set_next(self, h):\n        self._next = h\n    def handle(self, x):\n        return self._next.handle(x)\n";
    assert_eq!(found(chain), ["handler_chain@1"]);
    let list = "class Node:\n    def __init__(self, next):\n        self.next = next\n    def last(self):\n        return self.next.value()\n";
    assert!(found(list).is_empty());
}

#[test]
fn registries() {
    let decorator = "PLUGINS = {}\ndef register(name):\n    def keep(cls):\n        PLUGINS[name] = cls\n        return cls\n    return keep\n";
    assert_eq!(found(decorator), ["plugin_registry@2"]);
    let below =
        "class P:\n    all = []\n    def __init_subclass__(cls):\n        P.all.append(cls)\n";
    assert_eq!(found(below), ["plugin_registry@1"]);
    let points = "from importlib.metadata import entry_points\ndef load():\n    return entry_points(group='shop')\n";
    assert_eq!(found(points), ["plugin_registry@3"]);
    let memo = "seen = {}\ndef remember(key, value):\n    seen[key] = value\n";
    assert!(found(memo).is_empty());
}

#[test]
fn decorators() {
    let wraps = "def d(f):\n    @functools.wraps(f)\n    def inner(*a):\n        return 1\n    return inner\n";
    assert_eq!(found(wraps), ["decorator@1"]);
    let plain = "def d(f):\n    def inner(*a):\n        return f(*a)\n    return inner\n";
    assert_eq!(found(plain), ["decorator@1"]);
    let maker = "def d(n):\n    def outer(f):\n        def inner(*a):\n            return f(n, *a)\n        return inner\n    return outer\n";
    assert_eq!(found(maker), ["decorator@1"]);
    assert!(
        found("def adder(n):\n    def add(x):\n        return n + x\n    return add\n").is_empty()
    );
}

#[test]
fn doors_of_a_program() {
    assert_eq!(
        found("@app.get('/items')\ndef items(db=Depends(get_db)): ...\n"),
        ["http_handler@2", "dependency_injection@2"]
    );
    assert_eq!(found("@bp.route('/x')\ndef x(): ...\n"), ["http_handler@2"]);
    assert!(found("@cache.get('key')\ndef x(): ...\n").is_empty());
    let view = "class Items(View):\n    def get(self, request): ...\n";
    assert_eq!(found(view), ["http_handler@1"]);
    assert_eq!(found("urlpatterns = [path('', x)]\n"), ["http_handler@1"]);
    assert_eq!(
        found(
            "import click\n@click.command()\ndef go(): ...\nif __name__ == '__main__':\n    go()\n"
        ),
        ["cli_entry_point@3", "cli_entry_point@4"]
    );
    assert_eq!(
        found("def f(db: Annotated[Db, Depends(get)]): ...\n"),
        ["dependency_injection@1"]
    );
}

#[test]
fn other_classes() {
    let repository =
        "class UserRepository:\n    def get(self, id): ...\n    def save(self, user): ...\n";
    assert_eq!(found(repository), ["repository@1"]);
    let interface = "class Shape(ABC):\n    @abstractmethod\n    def area(self): ...\n";
    assert_eq!(found(interface), ["interface@1"]);
    let builder = "class Q:\n    def where(self, x):\n        return self\n    def order(self, x):\n        return self\n    def build(self):\n        return 1\n";
    assert_eq!(found(builder), ["builder@1"]);
    assert_eq!(
        found("class F:\n    def __enter__(self): ...\n    def __exit__(self, *a): ...\n"),
        ["context_manager@1"]
    );
    assert_eq!(
        found("@contextmanager\ndef f():\n    yield\n"),
        ["context_manager@2"]
    );
    assert_eq!(
        found(
            "class P:\n    def __getattr__(self, name):\n        return getattr(self._it, name)\n"
        ),
        ["proxy@1"]
    );
    assert_eq!(
        found("class D:\n    def __get__(self, o, t): ...\n    def __set__(self, o, v): ...\n"),
        ["descriptor@1"]
    );
}

#[test]
fn of_tests_only_what_they_share_counts() {
    let text = "import pytest\n@pytest.fixture\ndef db(): ...\nclass A(metaclass=Singleton): ...\n";
    let found = patterns(&Source::from_text(text), "tests/test_a.py");
    let kinds: Vec<_> = found.iter().map(|one| (one.kind, one.line)).collect();
    assert_eq!(kinds, [("test_fixture", 3)]);
}

#[test]
fn what_does_not_parse_does_no_harm() {
    for text in [
        "",
        "class",
        "def f(:\n  return\n",
        "@\nclass A(\n",
        "x = [",
        "\u{feff}if",
    ] {
        let _ = found(text);
    }
}

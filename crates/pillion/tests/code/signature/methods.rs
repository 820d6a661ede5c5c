//! Methods with their overrides, and classes by their `__init__`.

use pillion_testing::project::{find, members};
use serde_json::json;

use super::{check, program};

const FAMILY: &str = "\
class Base:
    def save(self, force=False, depth=1):
        return ['base', depth]

    @classmethod
    def make(cls, name, size):
        return cls(name, size)

    @staticmethod
    def join(left, right):
        return f'{left}-{right}'

    def __init__(self, name, size=0):
        self.name = name
        self.size = size

    def twin(self):
        return type(self)(self.name, self.size), self.__class__(self.name)


class Child(Base):
    def save(self, force=False, depth=1, *, extra=None):
        return ['child', extra] + super().save(force, depth)


class Other(Base):
    def __init__(self, name):
        super().__init__(name, 5)

    def save(self, *args, **kwargs):
        return ['other'] + super().save(*args, **kwargs)


class Old(Base):
    def __init__(self, size):
        Base.__init__(self, 'old', size)
";
const FAMILY_MAIN: &str = "\
from family import Base, Child, Other
import family

b, c, o = Base('b', 1), Child('c', 2), Other('o')
print(b.save(True, 2), c.save(depth=3), c.save(False, 4, extra=1), o.save(True, depth=5))
print(Base.save(b, True, 6), Child.save(c), family.Base.save(c, depth=7))
print(Base.make('m', 3).size, c.make(size=4, name='n').name, Child.make('x', 9).size)
print(Base.join('l', 'r'), b.join('l', right='r'))
print([x.name for x in b.twin()], family.Old(3).size, o.size, family.Child('q').size)
K = Base
print(K.save(b, False, 8), K.__name__)


def unknown(x):
    return x.save


print(unknown(b)())
";

#[test]
fn methods_change_with_their_family_and_their_callers() {
    let mut project = program(&[("family.py", FAMILY), ("main.py", FAMILY_MAIN)]);
    let answer = check(
        &mut project,
        json!({"name_path": "Base/save", "remove": ["force"]}),
        &[
            "    def save(self, depth=1):",
            "    def save(self, depth=1, *, extra=None):",
            "super().save(depth)",
            "    def save(self, *args, **kwargs):",
            "super().save(*args, **kwargs)",
            "b.save(2), c.save(depth=3), c.save(4, extra=1), o.save(depth=5)",
            "Base.save(b, 6), Child.save(c), family.Base.save(c, depth=7)",
            "K.save(b, 8)",
        ],
    );
    let why = members(&answer["possible"], "why");
    assert!(why.iter().any(|why| why.contains("not known")), "{why:?}");
    check(
        &mut project,
        json!({"name_path": "Child/save", "order": ["depth", "force", "extra"]}),
        &[
            "    def save(self, depth=1, force=False):",
            "    def save(self, depth=1, force=False, *, extra=None):",
            "b.save(2, True)",
            "Base.save(b, 6, True)",
        ],
    );
    check(
        &mut project,
        json!({"name_path": "Base/make", "order": ["size", "name"]}),
        &[
            "def make(cls, size, name):",
            "Base.make(3, 'm').size, c.make(size=4, name='n').name, Child.make(9, 'x')",
        ],
    );
    check(
        &mut project,
        json!({"name_path": "Base/join", "order": ["right", "left"]}),
        &[
            "def join(right, left):",
            "Base.join('r', 'l'), b.join(left='l', right='r')",
        ],
    );
}

#[test]
fn a_class_means_its_init() {
    let mut project = program(&[("family.py", FAMILY), ("main.py", FAMILY_MAIN)]);
    for name in ["Base", "Base/__init__"] {
        check(
            &mut project,
            json!({"name_path": name, "add": [{"name": "kind", "value": "1", "index": 0}]}),
            &[
                "def __init__(self, kind, name, size=0):",
                "return cls(1, name, size)",
                "type(self)(1, self.name, self.size), self.__class__(1, self.name)",
                "super().__init__(1, name, 5)",
                "Base.__init__(self, 1, 'old', size)",
                "Base(1, 'b', 1), Child(1, 'c', 2), Other('o')",
                "family.Old(3).size, o.size, family.Child(1, 'q')",
            ],
        );
    }
    // From a use, by its place.
    let (line, col) = find(FAMILY_MAIN, "= |Base('b'");
    let params = json!({"file": "main.py", "line": line, "col": col,
        "add": [{"name": "kind", "default": "0"}]});
    let answer = check(
        &mut project,
        params,
        &["def __init__(self, name, size=0, kind=0):"],
    );
    let left = &answer["possible"][0];
    assert_eq!(
        (&left["line"], &left["column"]),
        (&json!(10), &json!(5)),
        "`K = Base`"
    );
}

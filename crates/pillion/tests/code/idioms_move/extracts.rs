//! Extracting: a variable that a function beside the range shares with it stays one variable.

use super::{Changed, Idiom, Refused, check};

#[test]
fn what_is_extracted_shares_its_variables_as_before() {
    check(TABLE);
}

const TABLE: &[Idiom] = &[
    Idiom {
        name: "lines that delete what is read after them",
        program: "\
--- main.py
def f():
    x = 1
    y = 2
    del x
    z = y
    try:
        return x
    except NameError:
        return z


print(f())
",
        ask: ("extract_method", "main.py", ""),
        more: r#"{"start_line": 4, "end_line": 5, "method_name": "taken"}"#,
        verdict: Refused("the range deletes `x`"),
    },
    Idiom {
        name: "lines that delete what nobody reads after them",
        program: "\
--- main.py
def f():
    x = 1
    y = 2
    z = x + y
    del x
    return z


print(f())
",
        ask: ("extract_method", "main.py", ""),
        more: r#"{"start_line": 4, "end_line": 5, "method_name": "taken"}"#,
        verdict: Changed(&["+    z = taken(x, y)"]),
    },
    Idiom {
        name: "lines that delete a name of the module",
        program: "\
--- main.py
x = 1
del x
z = 2
print(z, 'x' in globals())
",
        ask: ("extract_method", "main.py", ""),
        more: r#"{"start_line": 2, "end_line": 3, "method_name": "taken"}"#,
        verdict: Refused("the range deletes `x`"),
    },
    Idiom {
        name: "a closure reads what the range gives a value",
        program: "\
--- main.py
def unpack(args, spec):
    rv = []
    star = None

    def fetch(items):
        return items.pop(0) if star is None else items.pop()

    while spec:
        n = fetch(spec)
        if n < 0:
            star = len(rv)
            rv.append(None)
        else:
            rv.append(fetch(args))
    return rv, star


print(unpack([1, 2, 3, 4], [1, -1, 1]))
",
        ask: ("extract_method", "main.py", ""),
        more: r#"{"start_line": 8, "end_line": 14, "method_name": "taken"}"#,
        verdict: Refused("`fetch`"),
    },
    Idiom {
        name: "a closure reads it by way of another",
        program: "\
--- main.py
def f():
    n = 1

    def inner():
        return n

    def outer():
        return inner()

    n = 2
    x = outer()
    return n, x


print(f())
",
        ask: ("extract_method", "main.py", ""),
        more: r#"{"start_line": 10, "end_line": 11, "method_name": "taken"}"#,
        verdict: Refused("`inner`"),
    },
    Idiom {
        name: "a closure that others were given",
        program: "\
--- main.py
watchers = []


def tell():
    return [watcher() for watcher in watchers]


def f():
    n = 1
    watchers.append(lambda: n)
    n = 2
    x = tell()
    return n, x


print(f())
",
        ask: ("extract_method", "main.py", ""),
        more: r#"{"start_line": 11, "end_line": 12, "method_name": "taken"}"#,
        verdict: Refused("`n`"),
    },
    Idiom {
        name: "a closure gives a value to what the range reads",
        program: "\
--- main.py
def f():
    n = 0

    def bump():
        nonlocal n
        n += 1

    bump()
    print(n)
    bump()
    print(n)


f()
",
        ask: ("extract_method", "main.py", ""),
        more: r#"{"start_line": 8, "end_line": 9, "method_name": "taken"}"#,
        verdict: Refused("`bump`"),
    },
    Idiom {
        name: "a closure that only runs after the range",
        program: "\
--- main.py
def f():
    n = 1

    def show():
        return n

    first = show()
    n = first + 1
    n = n * 2
    return n, show()


print(f())
",
        ask: ("extract_method", "main.py", ""),
        more: r#"{"start_line": 8, "end_line": 9, "method_name": "taken"}"#,
        verdict: Changed(&["+    n = taken(first)"]),
    },
    Idiom {
        name: "a closure that the range calls and that reads other things",
        program: "\
--- main.py
def f(items):
    base = 1

    def add(n):
        return n + base

    total = 0
    for item in sorted(items, key=lambda item: -item):
        total += add(item)
    return total


print(f([1, 2]))
",
        ask: ("extract_method", "main.py", ""),
        more: r#"{"start_line": 7, "end_line": 9, "method_name": "taken"}"#,
        verdict: Changed(&["taken("]),
    },
    Idiom {
        name: "a key that has been used up",
        program: "\
--- main.py
def f(items):
    n = -1
    items = sorted(items, key=lambda item: n * item)
    n = len(items)
    n += 1
    return n, items


print(f([1, 2]))
",
        ask: ("extract_method", "main.py", ""),
        more: r#"{"start_line": 4, "end_line": 5, "method_name": "taken"}"#,
        verdict: Changed(&["+    n = taken(items)"]),
    },
];

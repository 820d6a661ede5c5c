//! How the effort of reading a file grows with its size.

use pillion_index::steps;

use super::read;

/// A text of so many pieces, nested or side by side.
type Made = fn(usize) -> String;

fn around(before: &str, middle: &str, after: &str, n: usize) -> String {
    format!("{}{middle}{}", before.repeat(n), after.repeat(n))
}

fn numbered(n: usize, piece: impl Fn(usize) -> String) -> String {
    (0..n).map(piece).collect()
}

const SHAPES: &[(&str, &str, Made)] = &[
    ("a.js", "nested functions", |n| {
        around("function f(a) { g(a); ", "", "}\n", n)
    }),
    ("a.js", "nested named functions", |n| {
        numbered(n, |i| {
            format!("function make_{i}(a) {{ const x{i} = a; g(x{i}); return new A{i}();\n")
        }) + &"}".repeat(n)
    }),
    ("a.js", "nested arrows", |n| {
        around("const f = (a) => { let b = g(a); ", "", "};\n", n)
    }),
    ("a.js", "nested expressions", |n| {
        around("(function (a) { return ", "1", "})()", n)
    }),
    ("a.js", "nested callbacks", |n| {
        around("all.forEach((a) => { g(a); ", "", "});\n", n)
    }),
    ("a.js", "nested classes", |n| {
        around("class A { m(a) { this.x = a; ", "", "}}\n", n)
    }),
    ("a.js", "nested calls", |n| around("f(", "1", ")", n)),
    ("a.js", "nested arrays", |n| around("[", "1", "]", n)),
    ("a.js", "nested objects", |n| {
        around("x = {a: ", "1", "}", n)
    }),
    ("a.js", "chained calls", |n| {
        format!("a{};", ".b(1)".repeat(n))
    }),
    ("a.js", "sums", |n| format!("x = a{};", " + a".repeat(n))),
    ("a.js", "else if", |n| {
        format!("if (a) {{}}{}", " else if (a) { f(); }".repeat(n))
    }),
    ("a.js", "nested ifs", |n| {
        around("if (a) { f();", "", "}", n)
    }),
    ("a.js", "functions", |n| {
        numbered(n, |i| format!("function f{i}(a) {{ g(a); }}\n"))
    }),
    ("a.js", "one long function", |n| {
        format!("function f(a) {{ {} }}", "x.push(a); y[a] = a;\n".repeat(n))
    }),
    ("a.js", "methods", |n| {
        format!(
            "class A {{ {} }}",
            numbered(n, |i| format!("m{i}(a) {{ this.all.push(a); }}\n"))
        )
    }),
    ("a.js", "classes", |n| {
        numbered(n, |i| {
            format!("class A{i} extends B {{ m(a) {{ return new A{i}(); }} }}\n")
        })
    }),
    ("a.js", "imports", |n| {
        numbered(n, |i| format!("import a{i} from './m{i}';\n"))
    }),
    ("a.js", "exports", |n| {
        numbered(n, |i| format!("export const a{i} = f(a);\n"))
    }),
    ("a.js", "variables", |n| {
        numbered(n, |i| {
            format!("const a{i} = new Map(); function s{i}(x) {{ a{i}.set(x, x); }}\n")
        })
    }),
    ("a.js", "mistakes", |n| "function ( { ] => ;\n".repeat(n)),
    ("a.js", "decorators", |n| {
        format!("{}class A {{}}", "@d(1)\n".repeat(n))
    }),
    ("a.js", "comments", |n| {
        "// a\n".repeat(n) + "function f() {}"
    }),
    ("a.ts", "nested functions", |n| {
        around("function f(a: A): B { g(a); ", "", "}\n", n)
    }),
    ("a.ts", "nested types", |n| {
        format!("let x: {};", around("A<", "B", ">", n))
    }),
    ("a.tsx", "nested elements", |n| {
        format!("x = {};", around("<A b={1}>", "c", "</A>", n))
    }),
    ("a.go", "nested functions", |n| {
        format!(
            "package p\nfunc f() {{ {} }}",
            around("a := func() { g(); ", "", "}\n", n)
        )
    }),
    ("a.go", "functions", |n| {
        "package p\n".to_owned()
            + &numbered(n, |i| {
                format!("func (t *T) F{i}(a int) {{ t.all = append(t.all, a) }}\n")
            })
    }),
    ("a.go", "nested calls", |n| {
        format!("package p\nvar x = {}", around("f(", "1", ")", n))
    }),
    ("a.rs", "nested functions", |n| {
        around("fn f(a: A) { g(a); ", "", "}\n", n)
    }),
    ("a.rs", "nested closures", |n| {
        format!(
            "fn f() {{ let x = {}; }}",
            around("|a| { g(a); ", "1", "}", n)
        )
    }),
    ("a.rs", "nested modules", |n| {
        around("mod m { use a::b; ", "", "}\n", n)
    }),
    ("a.rs", "functions", |n| {
        numbered(n, |i| {
            format!("impl T {{ fn f{i}(&self, a: A) {{ self.all.push(a); }} }}\n")
        })
    }),
    ("a.rs", "attributes", |n| {
        format!("{}fn f() {{}}", "#[a(b)]\n".repeat(n))
    }),
    ("a.rs", "macros", |n| {
        format!("fn f() {{ {} }}", "m!(a, b(c));\n".repeat(n))
    }),
    ("a.rs", "nested macros", |n| {
        format!("fn f() {{ {}; }}", around("m!(", "1", ")", n))
    }),
    ("a.java", "nested classes", |n| {
        around("class A { void m(B a) { g(a); } ", "", "}\n", n)
    }),
    ("a.java", "nested lambdas", |n| {
        format!(
            "class A {{ Object x = {}; }}",
            around("f((a) -> { g(a); return ", "1", "; })", n)
        )
    }),
    ("a.java", "methods", |n| {
        format!(
            "class A {{ {} }}",
            numbered(n, |i| format!("void m{i}(B a) {{ all.add(a); }}\n"))
        )
    }),
    ("a.c", "nested blocks", |n| {
        format!("void f() {{ {} }}", around("if (a) { g(a); ", "", "}\n", n))
    }),
    ("a.c", "functions", |n| {
        numbered(n, |i| format!("void f{i}(int a) {{ g(a); }}\n"))
    }),
    ("a.c", "declarators", |n| {
        format!("int {};", around("(*", "a", ")", n))
    }),
    ("a.c", "definitions", |n| {
        numbered(n, |i| format!("#define A{i}(x) f(x)\n"))
    }),
    ("a.py", "functions", |n| {
        numbered(n, |i| format!("def f{i}(a):\n    return g(a)\n"))
    }),
    ("a.py", "methods", |n| {
        "class A:\n".to_owned()
            + &numbered(n, |i| {
                format!(
                    "    def m{i}(self, a):\n        self.x{i} = a\n        self.all.append(a)\n"
                )
            })
    }),
    ("a.py", "classes", |n| {
        numbered(n, |i| format!("class A{i}(B):\n    x: 'int' = 1\n"))
    }),
    ("a.py", "one long function", |n| {
        "def f(a):\n".to_owned() + &"    x.append(a)\n    y[a] = f(a)\n".repeat(n)
    }),
    ("a.py", "imports", |n| {
        numbered(n, |i| format!("from m{i} import a{i} as b{i}\n"))
    }),
    ("a.py", "names", |n| {
        numbered(n, |i| format!("a{i} = b{i} = c.d\n"))
    }),
    ("a.py", "one long line", |n| {
        format!("x = [{}]\n", numbered(n, |i| format!("(a{i}, f(b{i})), ")))
    }),
    ("a.py", "one long line of others", |n| {
        format!(
            "x = ['é', {}]\n",
            numbered(n, |i| format!("(a{i}, f(b{i})), "))
        )
    }),
    ("a.py", "definitions on one line", |n| {
        numbered(n, |i| format!("é{i} = 1; "))
    }),
    ("a.py", "elif", |n| {
        "if a: pass\n".to_owned() + &"elif a: f()\n".repeat(n)
    }),
    ("a.py", "decorators", |n| {
        "@d(1)\n".repeat(n) + "def f(): pass\n"
    }),
    ("a.py", "globals", |n| {
        format!(
            "def f():\n{}",
            numbered(n, |i| format!("    global a{i}\n    a{i} = 1\n"))
        )
    }),
    ("a.py", "mistakes", |n| "def ( [ ] : ;\n".repeat(n)),
    ("a.py", "offers", |n| {
        numbered(n, |i| format!("__all__ += ['a{i}']\n"))
    }),
];

/// The steps that reading a text takes.
fn effort(path: &str, text: &str) -> usize {
    steps::counted(|| drop(read(path, text.as_bytes())))
}

/// How many times the steps may be for eight times the text. As much as the text grows would
/// be 8, and with the square of it 64.
const MOST: usize = 12;

#[test]
fn the_effort_does_not_grow_much_faster_than_the_file() {
    let mut slow = Vec::new();
    for (path, what, made) in SHAPES {
        // What nests is not read at all if it nests too deeply.
        let n = if what.contains("nested") { 20 } else { 250 };
        let (few, many) = (effort(path, &made(n)), effort(path, &made(8 * n)));
        println!("{path} {what}: {few}, then {many}: {}", many / few.max(1));
        // Every piece is looked at.
        assert!(few >= n, "{path} {what}: {few} steps are not all of them");
        if many > MOST * few {
            slow.push(format!("{path} {what}: {few} steps, then {many}"));
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

#[test]
fn what_nests_too_deeply_is_told_in_every_language() {
    for (path, what, made) in SHAPES {
        // Whatever it is, it comes to an end.
        let told = read(path, made(3_000).as_bytes());
        if ["nested functions", "nested calls", "nested classes"].contains(what) {
            let is_told = told.iter().any(|error| error.contains("nests too deeply"));
            assert!(is_told, "{path} {what}: {told:?}");
        }
    }
}

/// Texts that nest as deep as they are told to, in every way that Python knows.
fn nests(n: usize) -> Vec<(&'static str, String)> {
    let around = |before: &str, middle: &str, after: &str| {
        format!("{}{middle}{}", before.repeat(n), after.repeat(n))
    };
    let blocks = |head: &str| {
        // Indentation takes the square of its depth.
        let n = n.min(700);
        let mut text: String = (0..n)
            .map(|i| format!("{}{head}\n", " ".repeat(i)))
            .collect();
        text.push_str(&format!("{}pass\n", " ".repeat(n)));
        text
    };
    vec![
        ("minus", format!("x = {}1\n", "-".repeat(n))),
        ("mixed signs", format!("x = {}1\n", "-~+".repeat(n))),
        ("not", format!("x = {}1\n", "not ".repeat(n))),
        ("lists", format!("x = {}\n", around("[", "", "]"))),
        ("open lists", format!("x = {}\n", "[".repeat(n))),
        ("targets", format!("{} = 1\n", around("[", "x", "]"))),
        ("tuple targets", format!("{} = 1\n", around("(", "x", ",)"))),
        ("deleted", format!("del {}\n", around("[", "x", "]"))),
        ("parentheses", format!("x = {}\n", around("(", "1", ")"))),
        ("dictionaries", format!("x = {}\n", around("{1:", "1", "}"))),
        ("sets", format!("x = {}\n", around("{", "1", "}"))),
        ("calls", format!("x = {}\n", around("f(", "1", ")"))),
        ("keywords", format!("x = {}\n", around("f(a=", "1", ")"))),
        ("chained calls", format!("x = f{}\n", "()".repeat(n))),
        ("subscripts", format!("x = {}\n", around("a[", "1", "]"))),
        ("chained subscripts", format!("x = a{}\n", "[0]".repeat(n))),
        ("attributes", format!("x = a{}\n", ".a".repeat(n))),
        ("attributes set", format!("a{} = 1\n", ".a".repeat(n))),
        ("bases", format!("class C(a{}): pass\n", ".a".repeat(n))),
        (
            "decorators",
            format!("@a{}\ndef f(): pass\n", ".a".repeat(n)),
        ),
        ("sums", format!("x = a{}\n", "+a".repeat(n))),
        (
            "strings added",
            format!("__all__ = ['a']{}\n", "+['a']".repeat(n)),
        ),
        ("powers", format!("x = a{}\n", "**a".repeat(n))),
        ("comparisons", format!("x = a{}\n", "<a".repeat(n))),
        ("and", format!("x = a{}\n", " and a".repeat(n))),
        ("and or", format!("x = a{}\n", " and a or a".repeat(n))),
        ("ternaries", format!("x = {}1\n", "a if b else ".repeat(n))),
        (
            "ternaries in front",
            format!("x = {}\n", around("(", "1", " if b else c)")),
        ),
        ("lambdas", format!("x = {}1\n", "lambda a, b: ".repeat(n))),
        (
            "lambda defaults",
            format!("x = {}\n", around("lambda a=", "1", ": 1")),
        ),
        (
            "await",
            format!("async def f():\n    {}x\n", "await ".repeat(n)),
        ),
        (
            "yield",
            format!("def f():\n    {}\n", around("(yield ", "1", ")")),
        ),
        ("walrus", format!("x = {}\n", around("(a := ", "1", ")"))),
        ("starred", format!("x = [{}a]\n", "*".repeat(n))),
        (
            "comprehensions",
            format!("x = {}\n", around("[a for a in ", "b", "]")),
        ),
        ("f-strings", format!("x = {}\n", around("f'{", "1", "}'"))),
        (
            "format specs",
            format!("x = f'{}{}'\n", "{a:".repeat(n), "}".repeat(n)),
        ),
        ("in an f-string", format!("x = f'{{{}1}}'\n", "-".repeat(n))),
        (
            "annotation",
            format!("x: {} = 1\n", around("list[", "int", "]")),
        ),
        (
            "union",
            format!("def f(x: int{}): pass\n", " | int".repeat(n)),
        ),
        (
            "quoted",
            format!("def f(x: '{}'): pass\n", around("list[", "int", "]")),
        ),
        (
            "quoted union",
            format!("x: 'int{}' = 1\n", " | int".repeat(n)),
        ),
        ("quoted minus", format!("x: '{}1' = 1\n", "-".repeat(n))),
        (
            "patterns",
            format!("match x:\n    case {}: pass\n", around("[", "y", "]")),
        ),
        (
            "class patterns",
            format!("match x:\n    case {}: pass\n", around("C(a=", "y", ")")),
        ),
        (
            "or patterns",
            format!("match x:\n    case 1{}: pass\n", " | 1".repeat(n)),
        ),
        (
            "type parameters",
            format!("type X[T: {}] = int\n", around("(", "int", ")")),
        ),
        ("async", format!("{}x = 1\n", "async ".repeat(n))),
        ("with", format!("with {}: pass\n", around("(", "a", ")"))),
        ("equals", format!("{}1\n", "x = ".repeat(n))),
        ("closers that do not fit", "f(]".repeat(n)),
        (
            "openers that do not fit",
            format!("x = {}\n", "([{".repeat(n)),
        ),
        ("functions", blocks("def f():")),
        ("classes", blocks("class C:")),
        ("ifs", blocks("if a:")),
        ("tries", blocks("try:")),
        (
            "functions behind an open bracket",
            format!("f(\n{}", blocks("if a, b:")),
        ),
        ("on one line", "if a: ".repeat(n)),
        (
            "elif",
            format!("if a: pass\n{}", "elif a: pass\n".repeat(n)),
        ),
    ]
}

/// Whether reading a text ends in being told that it nests too deeply.
fn is_refused(text: &str) -> bool {
    let errors = super::read("deep.py", text.as_bytes());
    errors
        .iter()
        .any(|error| error.contains("nests too deeply"))
}

#[test]
fn whatever_nests_a_little_is_read() {
    for (what, text) in nests(300) {
        assert!(!is_refused(&text), "{what}");
    }
}

#[test]
fn whatever_nests_is_read_or_refused() {
    let flat = ["and", "comparisons", "equals", "elif", "or patterns"];
    for n in [1_950, 7_000] {
        for (what, text) in nests(n) {
            let is_refused = is_refused(&text);
            let is_flat = n < 2_000 && flat.contains(&what);
            assert!(!is_refused || !is_flat, "{what}, {n} times");
        }
    }
    for what in ["minus", "lists", "calls", "ternaries", "attributes", "sums"] {
        let text = nests(7_000).into_iter().find(|(known, _)| *known == what);
        assert!(is_refused(&text.unwrap().1), "{what}");
    }
}

#[test]
fn blocks_nest_too_deeply_as_well() {
    let mut text = String::new();
    for level in 0..=pillion_index::parsed::MAX_DEPTH {
        text.push_str(&" ".repeat(level));
        text.push_str("if a:\n");
    }
    text.push_str(&" ".repeat(pillion_index::parsed::MAX_DEPTH + 1));
    text.push_str("pass\n");
    pillion_index::parsed::parsed(&text, "deep.py", |parsed| {
        assert!(parsed.errors()[0].error.to_string().contains("too deeply"));
        assert!(parsed.body().is_empty());
    });
}

#[test]
fn words_of_a_refused_text_are_still_there() {
    for n in [3_000, 30_000] {
        let text = format!("x = {}wanted.inner and not other\n", "-".repeat(n));
        let source = pillion_index::source::Source::decode(text.as_bytes());
        let found = pillion_index::mentions_in(&source, &"deep.py".into(), "inner");
        assert_eq!(found.len(), 1);
        assert!(found[0].is_attribute);
        let facts = pillion_index::extract_facts(&source, "deep.py");
        assert!(facts.may_mention(pillion_index::facts::name_hash("other")));
        assert!(!facts.may_mention(pillion_index::facts::name_hash("not")));
    }
}

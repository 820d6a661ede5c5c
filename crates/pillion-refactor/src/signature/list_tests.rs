//! What becomes of lists.

use ruff_python_ast::Expr;
use ruff_python_parser::parse_expression;

use super::*;

/// The call as it is written with these items: numbers are old ones, anything else is new.
fn made(call: &str, new: &[&str]) -> String {
    let parsed = parse_expression(call).unwrap();
    let Expr::Call(found) = parsed.expr() else {
        panic!("{call} is no call");
    };
    let nodes: Vec<Range<usize>> = found
        .arguments
        .iter_source_order()
        .map(|arg| arg.range().start().to_usize()..arg.range().end().to_usize())
        .collect();
    let list = List::read(parsed.tokens().in_range(found.arguments.range), &nodes).unwrap();
    assert_eq!(list.items.len(), nodes.len(), "{call}");
    let new: Vec<New> = new
        .iter()
        .map(|item| match item.parse::<usize>() {
            Ok(old) => New::Old(old),
            Err(_) => New::Fresh((*item).to_owned()),
        })
        .collect();
    let mut out = call.to_owned();
    let edits = list.edits(call, &new, |range| call[range].to_owned());
    for edit in edits.iter().rev() {
        out.replace_range(edit.range.clone(), &edit.text);
    }
    out
}

#[test]
fn items_on_one_line() {
    let cases: &[(&str, &[&str], &str)] = &[
        ("f(a, b)", &["0", "1"], "f(a, b)"),
        ("f(a, b)", &["1", "0"], "f(b, a)"),
        ("f(a, b, c)", &["1", "2"], "f(b, c)"),
        ("f(a, b, c)", &["0", "2"], "f(a, c)"),
        ("f(a, b, c)", &["0", "1"], "f(a, b)"),
        ("f(a, b, c)", &["0"], "f(a)"),
        ("f(a, b, c)", &["2"], "f(c)"),
        ("f(a, b,)", &["0"], "f(a,)"),
        ("f(a, b,)", &["1"], "f(b,)"),
        ("f(a, b)", &[], "f()"),
        ("f(a, b, )", &[], "f( )"),
        ("f()", &["x", "y"], "f(x, y)"),
        ("f( )", &["x"], "f(x )"),
        ("f(a)", &["x"], "f(x)"),
        ("f(a)", &["0", "x"], "f(a, x)"),
        ("f(a,)", &["0", "x"], "f(a, x,)"),
        ("f(a)", &["x", "0"], "f(x, a)"),
        ("f(a, b)", &["0", "x", "1"], "f(a, x, b)"),
        ("f(a, b)", &["0", "x"], "f(a, x)"),
        ("f(a, b, c)", &["0", "x", "y"], "f(a, x, y)"),
        ("f(a, b, c)", &["2", "x", "0"], "f(c, x, a)"),
        ("f((a), (b))", &["1", "0"], "f((b), (a))"),
        ("f(lambda a, b: a, c)", &["1", "0"], "f(c, lambda a, b: a)"),
        (
            "f([a, b], {c: d}, g(e, h))",
            &["2", "0"],
            "f(g(e, h), [a, b])",
        ),
        (
            "f(a, *b, k=c, **d)",
            &["0", "1", "2", "x", "3"],
            "f(a, *b, k=c, x, **d)",
        ),
    ];
    for (call, new, wanted) in cases {
        assert_eq!(made(call, new), *wanted, "{call} {new:?}");
    }
}

#[test]
fn items_on_lines_of_their_own_keep_their_comments() {
    let call = "f(\n    a,  # the a\n    # about b\n    b,\n    c,  # the c\n)";
    let cases: &[(&[&str], &str)] = &[
        (&["1", "2"], "f(\n    # about b\n    b,\n    c,  # the c\n)"),
        (&["0", "1"], "f(\n    a,  # the a\n    # about b\n    b,\n)"),
        (
            &["0", "1", "2", "x"],
            "f(\n    a,  # the a\n    # about b\n    b,\n    c,  # the c\n    x,\n)",
        ),
        (
            &["0", "x", "1", "2"],
            "f(\n    a,  # the a\n    x,\n    # about b\n    b,\n    c,  # the c\n)",
        ),
        (
            &["x", "0", "1", "2"],
            "f(\n    x,\n    a,  # the a\n    # about b\n    b,\n    c,  # the c\n)",
        ),
        (
            &["1", "0", "2"],
            "f(\n    b,  # the a\n    # about b\n    a,\n    c,  # the c\n)",
        ),
    ];
    for (new, wanted) in cases {
        assert_eq!(made(call, new), *wanted, "{new:?}");
    }
    assert_eq!(made("f(\n  a,\n  b  # b\n)", &["0"]), "f(\n  a\n)");
    assert_eq!(
        made("f(\n  a,\n  b  # b\n)", &["0", "1", "x"]),
        "f(\n  a,\n  b,  # b\n  x\n)"
    );
    assert_eq!(made("f(a,\n  b)", &["0", "1", "x"]), "f(a,\n  b,\n  x)");
    assert_eq!(
        made("f(a, b,  # both\n  c)", &["0", "2"]),
        "f(a,  # both\n  c)"
    );
    assert_eq!(made("f(\n  a\n)", &["0", "x"]), "f(\n  a,\n  x\n)");
}

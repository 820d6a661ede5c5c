//! Which expression a range means.

use super::*;

/// Snap the text between `«` and `»`; the result as text, or the message.
fn snap(marked: &str) -> Result<String, String> {
    let start = marked.find('«').unwrap();
    let end = marked.find('»').unwrap() - '«'.len_utf8();
    let text = marked.replace(['«', '»'], "");
    let source = Source::decode(text.as_bytes());
    let at = |offset| source.position(offset);
    let (start, end) = (at(start), at(end));
    let asked = AskedRange {
        start_line: start.line + 1,
        start_col: Some(start.column + 1),
        end_line: end.line + 1,
        end_col: Some(end.column + 1),
    };
    let found = asked
        .offsets(&source)
        .and_then(|wanted| expression(&source, "m.py", wanted));
    found
        .map(|range| text[range].to_owned())
        .map_err(|e| e.message)
}

#[test]
fn ranges_snap_to_the_smallest_expression() {
    let cases = [
        ("x = «a + b»", "a + b"),
        ("x = «a +» b", "a + b"),
        ("x = a «+ b»", "a + b"),
        ("x = a + «b + c»", "a + b + c"),
        ("x = «a + b» + c", "a + b"),
        ("x = a «+» b * c", "a + b * c"),
        ("x = a + b «* c»", "b * c"),
        ("x = f(«a + b  »)", "a + b"),
        ("x = f(«  a + b»)", "a + b"),
        ("x = «(a + b)» * 2", "a + b"),
        ("x = «( a + b )» * 2", "a + b"),
        ("x = «((a))» * 2", "a"),
        ("x = «(a) + (b)»", "(a) + (b)"),
        ("x = «(a, b)»", "(a, b)"),
        ("x = fo«»o(1)", "foo"),
        ("x = foo«(1)»", "foo(1)"),
        ("x = a.«b».c", "a.b"),
        ("x = a[«1:2»]", "a[1:2]"),
        ("x = f(*«a»)", "a"),
        ("x = f(«*a»)", "f(*a)"),
        ("x = f(k=«v»)", "v"),
        ("x = f(«k=v»)", "f(k=v)"),
        ("x = sum(«i for i in y»)", "sum(i for i in y)"),
        ("x = «[i for i in y]»", "[i for i in y]"),
        ("x = (\n    «a +\n    b»\n)", "a +\n    b"),
        ("x = f(\n    «a»,\n    b,\n)", "a"),
        ("x = f(\n    «a,\n    b»,\n)", "f(\n    a,\n    b,\n)"),
        ("«return a + b»", "a + b"),
        ("«x = a + b»", "a + b"),
        ("«x: int = a + b»", "a + b"),
        ("«x += a»", "a"),
        ("«print(a)»", "print(a)"),
        ("if «a and b»:\n    pass", "a and b"),
        ("x = «f'{a}'»", "f'{a}'"),
        ("x = «'é' + y»", "'é' + y"),
        ("async def f():\n    x = «await g()»", "await g()"),
        ("x = '😀' + «b»", "b"),
        ("def f(a=«1 + 2»): pass", "1 + 2"),
    ];
    for (marked, wanted) in cases {
        assert_eq!(snap(marked).as_deref(), Ok(wanted), "{marked}");
    }
}

#[test]
fn what_is_no_value_is_refused() {
    let cases = [
        "x = f'{«a»}'",
        "x = f'text «more» {a}'",
        "x = f'{a:{«w»}}'",
        "«x» = 1",
        "def «f»(): pass",
        "x: «int» = 1",
        "@«decorator»\ndef f(): pass",
        "match x:\n    case «A.b»: pass",
        "import «os»",
        "del «x»",
        "x = 1«   »",
        "«a = 1\nb = 2»",
    ];
    for marked in cases {
        assert!(snap(marked).is_err(), "{marked}: {:?}", snap(marked));
    }
}

#[test]
fn whole_lines_are_trimmed_and_places_are_checked() {
    let source = Source::decode("a = 1\n\n\n  b = 'é'  \n\n".as_bytes());
    let asked = |start_line, start_col, end_line, end_col| {
        let asked = AskedRange {
            start_line,
            start_col,
            end_line,
            end_col,
        };
        asked
            .offsets(&source)
            .map(|range| source.text()[range].to_owned())
    };
    assert_eq!(asked(2, None, 5, None).unwrap(), "b = 'é'");
    assert_eq!(asked(4, Some(3), 4, Some(10)).unwrap(), "b = 'é'");
    assert_eq!(asked(1, None, 4, None).unwrap(), "a = 1\n\n\n  b = 'é'");
    // An end behind the line's own is the line's end.
    assert_eq!(asked(1, None, 1, Some(99)).unwrap(), "a = 1");
    let wrong = [
        (0, None, 1, None),
        (1, Some(0), 1, None),
        (2, None, 1, None),
        (1, Some(4), 1, Some(2)),
    ];
    for (a, b, c, d) in wrong {
        assert_eq!(asked(a, b, c, d).unwrap_err().code, Code::InvalidParams);
    }
    let absent = [
        (1, None, 9, None),
        (1, Some(99), 1, None),
        (4, Some(1), 4, Some(3)),
    ];
    for (a, b, c, d) in absent {
        assert_eq!(asked(a, b, c, d).unwrap_err().code, Code::NotFound);
    }
}

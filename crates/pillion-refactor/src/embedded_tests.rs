//! What code in texts means: strings, doctests, documents.

use super::*;

fn sought(form: Form, homes: &[&str], owners: &[&str]) -> Sought {
    Sought {
        name: "f".into(),
        form,
        homes: homes.iter().map(ToString::to_string).collect(),
        owners: owners.iter().map(ToString::to_string).collect(),
    }
}

fn lines(found: &[Embedded]) -> Vec<u32> {
    found.iter().map(|one| one.span.start.line + 1).collect()
}

#[test]
fn code_in_strings_is_known_by_its_imports() {
    let text = "\
run('import shop; shop.f()')
run('from shop import f\\nf()')
run('from shop import f as g; g()')
run(f'import shop as s; s.f({x})')
run('from other import f; f()')
run('f is what you import from shop')
run('shop.f')
eval('x.f + shop.f')
exec(f'f({x})')
";
    let found = in_python(
        &Source::from_text(text),
        "m.py",
        &sought(Form::Name, &[], &["shop"]),
    );
    assert_eq!(lines(&found), [1, 2, 2, 3, 4]);
    assert_eq!(found[2].span.start.column, 25);
    let name = sought(Form::Name, &["m.py"], &["shop"]);
    let found = in_python(&Source::from_text(text), "m.py", &name);
    assert_eq!(lines(&found), [1, 2, 2, 3, 4, 9]);
    let attribute = sought(Form::Attribute, &[], &["Shop"]);
    let found = in_python(&Source::from_text(text), "m.py", &attribute);
    assert_eq!(lines(&found), [8, 8]);
}

#[test]
fn doctests_have_the_names_of_their_module() {
    let text = "\
def f(f):
    \"\"\">>> f(1)
    f
    >>> [f(x)
    ...  for x in 'f']
    >>> g(f=1)
    >>> other.f()
    \"\"\"
";
    let source = Source::from_text(text);
    let found = in_python(&source, "m.py", &sought(Form::Name, &["m.py"], &["m"]));
    assert_eq!(lines(&found), [2, 4]);
    let found = in_python(&source, "m.py", &sought(Form::Attribute, &["m.py"], &["A"]));
    assert_eq!(lines(&found), [7]);
    let g = Form::Keyword(["g".to_owned()].into());
    let found = in_python(&source, "m.py", &sought(g, &["m.py"], &["m"]));
    assert_eq!(lines(&found), [6]);
}

#[test]
fn documents_show_code_and_scripts_are_code() {
    let text = "\
f is in shop.

    from shop import f
    f()

>>> import shop
>>> shop.f()
";
    let name = sought(Form::Name, &[], &["shop"]);
    let found = in_document(&Source::from_text(text), "a.md", &name);
    let runs: Vec<bool> = found.iter().map(|one| one.runs).collect();
    assert_eq!(
        (lines(&found), runs),
        (vec![7, 3, 4], vec![true, false, false])
    );
    let script = "#!/usr/bin/python3\nfrom shop import f\nf()\n";
    let found = in_document(&Source::from_text(script), "bin/tool", &name);
    assert_eq!(lines(&found), [2, 3]);
}

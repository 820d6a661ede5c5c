//! Tests of the page, above all that nothing of a notebook runs in it.

use serde_json::json;

use super::*;

fn notebook(cells: &Value, metadata: &Value) -> Notebook {
    let text = json!({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5});
    Notebook::read(text.to_string().as_bytes()).unwrap()
}

fn code(source: &str, outputs: &Value) -> Value {
    json!([{"cell_type": "code", "id": "a", "metadata": {}, "source": source,
        "execution_count": 3, "outputs": outputs}])
}

fn page(outputs: &Value) -> String {
    html(&notebook(&code("x", outputs), &json!({})), "t")
}

fn shown(data: &Value) -> String {
    page(
        &json!([{"output_type": "execute_result", "execution_count": 3, "metadata": {},
        "data": data}]),
    )
}

/// The tags of a page with all of their attributes, read as a browser reads them: a quoted
/// attribute ends at its quote and nowhere else.
fn tags(page: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        let mut quoted = false;
        let end = rest[at..].find(|c| {
            quoted ^= c == '"';
            c == '>' && !quoted
        });
        let end = end.expect("every tag ends") + at;
        tags.push(rest[at + 1..end].to_owned());
        rest = &rest[end + 1..];
        // Its text is no markup.
        if tags.last().is_some_and(|tag| tag == "style") {
            rest = &rest[rest.find("</style>").unwrap()..];
        }
    }
    tags
}

#[test]
fn no_field_of_a_notebook_becomes_code() {
    const EVIL: &str =
        "\"'><script>alert(1)</script><img src=x onerror=alert(1)></pre></style></title><!--";
    let mut mimes = serde_json::Map::new();
    for mime in [
        "text/plain",
        "text/html",
        "text/markdown",
        "text/latex",
        "image/svg+xml",
        "image/png",
        "image/jpeg",
        "image/gif",
        "application/json",
        "application/javascript",
        EVIL,
        "application/x+json",
    ] {
        mimes.insert(mime.into(), EVIL.into());
    }
    let mut outputs = vec![
        json!({"output_type": "stream", "name": EVIL, "text": format!("\u{1b}[31m{EVIL}\u{1b}[{EVIL}m{EVIL}")}),
        json!({"output_type": "stream", "name": "stderr", "text": EVIL}),
        json!({"output_type": "error", "ename": EVIL, "evalue": EVIL, "traceback": []}),
        json!({"output_type": "error", "ename": EVIL, "evalue": EVIL, "traceback": [EVIL, EVIL]}),
        json!({"output_type": EVIL, EVIL: EVIL}),
        json!({"output_type": "execute_result", "execution_count": EVIL, "data": mimes, "metadata": {}}),
    ];
    for (mime, value) in &mimes {
        for value in [value.clone(), json!([EVIL]), json!({EVIL: EVIL})] {
            outputs.push(json!({"output_type": "display_data", "data": {mime: value},
                "metadata": {mime: {"width": EVIL, "height": EVIL}, "width": EVIL}}));
        }
    }
    let sources = [
        EVIL.to_owned(),
        format!("%%{EVIL}"),
        format!("# {EVIL}\n'{EVIL}\n@{EVIL}\ndef {EVIL}"),
    ];
    let mut cells = Vec::new();
    for source in &sources {
        for kind in ["code", "markdown", "raw", EVIL] {
            cells.push(json!({"cell_type": kind, "id": EVIL, "source": source,
                "metadata": {EVIL: EVIL, "tags": [EVIL]}, "execution_count": EVIL, "outputs": outputs,
                "attachments": {EVIL: {"image/png": EVIL}}}));
        }
    }
    for markdown in [
        format!("[{EVIL}](<{EVIL}> \"{EVIL}\")"),
        format!("![{EVIL}](<{EVIL}>)"),
        format!("![{EVIL}](attachment:x)"),
        format!("```{EVIL}\n{EVIL}\n```\n\n```python\n{EVIL}\n```\n\n`{EVIL}` ${EVIL}$"),
        format!("|{EVIL}|\n|-|\n|{EVIL}|\n\n[^{EVIL}]\n\n[^{EVIL}]: {EVIL}"),
    ] {
        cells.push(
            json!({"cell_type": "markdown", "id": "m", "source": markdown, "metadata": {},
            "attachments": {"x": {"image/png": EVIL, EVIL: EVIL}}}),
        );
    }
    let metadata = json!({"title": EVIL, "kernelspec": {"name": EVIL, "language": EVIL},
        "authors": [EVIL]});
    for metadata in [metadata, json!({})] {
        let page = html(&notebook(&cells.clone().into(), &metadata), EVIL);
        let tags = tags(&page);
        assert!(tags.len() > 500);
        for tag in &tags {
            let name = tag.split([' ', '/']).find(|word| !word.is_empty()).unwrap();
            let known = [
                "!doctype", "html", "head", "meta", "title", "style", "body", "main", "section",
                "div", "pre", "code", "span", "p", "a", "img", "iframe", "table", "thead", "tbody",
                "tr", "th", "td", "sup", "h1",
            ];
            assert!(known.contains(&name), "{tag}");
            // Outside of quotes there is nothing but our own attributes.
            let bare: String = tag.split('"').step_by(2).collect();
            assert!(
                !bare.contains("on") || name == "section" || name == "meta",
                "{tag}"
            );
            assert!(!bare.contains("alert"), "{tag}");
            if name == "iframe" && tag.len() > 8 {
                assert!(tag.contains("sandbox=\"\""), "{tag}");
            }
        }
        assert_eq!(tags.iter().filter(|tag| *tag == "/title").count(), 1);
        assert_eq!(tags.iter().filter(|tag| *tag == "/style").count(), 1);
    }
}

#[test]
fn the_policy_of_the_page_allows_no_scripts_and_no_network() {
    let page = page(&json!([]));
    assert!(
        page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:;")
    );
    let policy = page.find("Content-Security-Policy").unwrap();
    assert!(policy < page.find("<title>").unwrap());
    let tags = tags(&page);
    assert!(
        !tags
            .iter()
            .any(|tag| tag.contains("http://") || tag.contains("https://"))
    );
}

#[test]
fn cells_have_their_numbers_and_colours() {
    let outputs = json!([
        {"output_type": "stream", "name": "stdout", "text": ["\u{1b}[1;31mred\u{1b}[0m & \u{1b}[38;5;28mgreen", "\n10 %\r20 %"]},
        {"output_type": "execute_result", "execution_count": 3, "metadata": {},
            "data": {"text/plain": ["4"]}},
    ]);
    let page = html(
        &notebook(&code("if 2: pass", &outputs), &json!({})),
        "A & b",
    );
    for part in [
        "<title>A &amp; b</title>",
        "In [3]:",
        "<span class=\"k\">if</span> <span class=\"n\">2</span>",
        "<span class=\"bold fg1\">red</span> &amp; <span style=\"color: light-dark(rgb(0, 135, 0), rgb(112, 187, 112));\">green\n20 %</span>",
        "Out[3]:",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
}

#[test]
fn the_richest_representation_is_shown() {
    let table =
        shown(&json!({"text/html": "<table><tr><td>\"1\"</td></tr></table>", "text/plain": "1"}));
    assert!(table.contains("<iframe sandbox=\"\"") && table.contains("&lt;td&gt;&quot;1&quot;"));
    let plot = shown(&json!({"text/html": "<script>draw()</script>", "image/png": "aGk=\n"}));
    assert!(!plot.contains("<iframe") && plot.contains("src=\"data:image/png;base64,aGk=\""));
    let dead = shown(&json!({"text/html": "<SCRIPT>draw()</SCRIPT>", "text/plain": "Chart"}));
    assert!(dead.contains("<iframe") && dead.contains("do not run") && dead.contains("Chart"));
    let svg = shown(&json!({"image/svg+xml": "<svg><script>x</script></svg>"}));
    let encoded = STANDARD.encode("<svg><script>x</script></svg>");
    assert!(svg.contains(&format!("src=\"data:image/svg+xml;base64,{encoded}\"")));
    let json = shown(&json!({"application/json": {"a": [1]}, "text/plain": "<IPython.JSON>"}));
    assert!(json.contains("{\n  &quot;a&quot;: ["));
    let broken = shown(&json!({"image/png": "\" onload=\""}));
    assert!(broken.contains("no valid base64"));
    let unknown = shown(&json!({"application/x-what": "x"}));
    assert!(unknown.contains("not shown: application/x-what"));
}

#[test]
fn long_texts_are_cut_and_the_page_says_so() {
    let text = "é".repeat(MAX_TEXT);
    let page = page(&json!([{"output_type": "stream", "name": "stdout", "text": text}]));
    assert!(page.len() < MAX_TEXT + 20_000);
    assert!(page.contains("bytes are not shown]"));
}

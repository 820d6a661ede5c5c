//! A notebook as one page that needs nothing else: no network, no scripts.
//!
//! Whatever a notebook contains is foreign. Text is escaped; HTML that a cell gave goes into a
//! frame without rights (`sandbox`, so neither scripts nor forms, nor the page's own origin);
//! SVG is shown as an image, in which scripts are dead; HTML within Markdown is shown as text.
//! On top of that the page's policy allows styles and images of its own, and nothing else, and
//! frames inherit it.

mod markdown;
mod python;

use std::fmt::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::ansi::{self, Colour, Look};
use super::cell::{Cell, CellKind};
use super::notebook::Notebook;
use super::output::{Bundle, Output, is_json};
use super::outputs::overwrite;
use super::parameters::is_python;
pub use python::{TokenKind, tokens};

const STYLE: &str = include_str!("page.css");
/// What frames look like: they do not see the page's style.
const FRAME_STYLE: &str = include_str!("frame.css");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
/// How much of one text is shown.
const MAX_TEXT: usize = 1024 * 1024;
/// How large the HTML of one output may be.
const MAX_HTML: usize = 8 * 1024 * 1024;
/// Images whose bytes are in base64.
const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The page of a notebook. `title` is used if the notebook itself has none.
pub fn html(notebook: &Notebook, title: &str) -> String {
    let metadata = notebook.metadata();
    let own = metadata.get("title").and_then(Value::as_str);
    let title = escaped(own.unwrap_or(title));
    let language = notebook.language();
    let highlight = language.as_deref().is_none_or(is_python);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
    );
    for (at, cell) in notebook.cells().iter().enumerate() {
        let kind = cell.kind().as_str();
        let _ = writeln!(page, "<section class=\"cell {kind}\" id=\"cell-{at}\">");
        match cell.kind() {
            CellKind::Code => code(cell, highlight, &mut page),
            CellKind::Markdown => {
                let text = bounded(&cell.source());
                let rendered = markdown::render(&text, &cell.attachments());
                let _ = writeln!(page, "<div class=\"text\">\n{rendered}</div>");
            }
            CellKind::Raw | CellKind::Unknown => preformatted("raw", &cell.source(), &mut page),
        }
        page.push_str("</section>\n");
    }
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn code(cell: &Cell, highlight: bool, page: &mut String) {
    let source = bounded(&cell.source());
    let source = match highlight {
        true => python::highlighted(&source),
        false => escaped(&source),
    };
    let count = cell.execution_count();
    let count = count.map_or_else(|| " ".to_owned(), |count| count.to_string());
    let _ = writeln!(
        page,
        "<div class=\"row\"><div class=\"prompt\">In [{count}]:</div>\
         <pre class=\"source\"><code>{source}</code></pre></div>"
    );
    for output in cell.outputs() {
        let prompt = match &output {
            Output::Result {
                execution_count: Some(count),
                ..
            } => format!("Out[{count}]:"),
            _ => String::new(),
        };
        let _ = write!(
            page,
            "<div class=\"row\"><div class=\"prompt\">{prompt}</div><div class=\"output\">"
        );
        one(&output, page);
        page.push_str("</div></div>\n");
    }
}

fn one(output: &Output, page: &mut String) {
    match output {
        Output::Stream { name, text } => {
            let class = if name == "stderr" { "stderr" } else { "stdout" };
            let mut seen = String::new();
            overwrite(&mut seen, text);
            terminal(class, &seen, page);
        }
        Output::Error {
            ename,
            evalue,
            traceback,
        } => match traceback.is_empty() {
            true => terminal("error", &format!("{ename}: {evalue}"), page),
            false => terminal("error", &traceback.join("\n"), page),
        },
        Output::Display { data, metadata } | Output::Result { data, metadata, .. } => {
            bundle(data, metadata, page);
        }
        Output::Other(Value::Null) => note("an output that is too large to show", page),
        Output::Other(value) => preformatted("json", &value.to_string(), page),
    }
}

/// Show the richest of what there is.
fn bundle(data: &Bundle, metadata: &Bundle, page: &mut String) {
    let text = |mime: &str| data.get(mime).and_then(Value::as_str);
    let image = IMAGES.iter().find_map(|mime| Some((*mime, text(mime)?)));
    let has_image = image.is_some() || text("image/svg+xml").is_some();
    if let Some(html) = text("text/html").filter(|html| html.len() <= MAX_HTML) {
        let needs_scripts = html.to_ascii_lowercase().contains("<script");
        // Charts come as scripts, which are dead here, and often as an image, too.
        if !needs_scripts || !has_image {
            frame(html, page);
            if needs_scripts {
                note(
                    "this output has scripts, which do not run in this page",
                    page,
                );
                text("text/plain")
                    .into_iter()
                    .for_each(|text| terminal("plain", text, page));
            }
            return;
        }
    }
    if let Some(text) = text("text/markdown") {
        let rendered = markdown::render(&bounded(text), &Value::Null);
        let _ = write!(page, "<div class=\"text\">{rendered}</div>");
    } else if let Some(svg) = text("image/svg+xml") {
        picture("image/svg+xml", &STANDARD.encode(svg), metadata, page);
    } else if let Some((mime, base64)) = image {
        let base64: String = base64.split_ascii_whitespace().collect();
        match STANDARD.decode(&base64) {
            Ok(_) => picture(mime, &base64, metadata, page),
            Err(_) => note(&format!("{mime} that is no valid base64"), page),
        }
    } else if let Some(text) = text("text/latex") {
        preformatted("math", text, page);
    } else if let Some((_, value)) = data.iter().find(|(mime, _)| *mime == "application/json") {
        let pretty = serde_json::to_string_pretty(value);
        preformatted("json", &pretty.unwrap_or_default(), page);
    } else if let Some(text) = text("text/plain") {
        terminal("plain", text, page);
    } else if let Some((_, value)) = data.iter().find(|(mime, _)| is_json(mime)) {
        let pretty = serde_json::to_string_pretty(value);
        preformatted("json", &pretty.unwrap_or_default(), page);
    } else {
        let mimes: Vec<_> = data.keys().map(String::as_str).collect();
        note(&format!("not shown: {}", mimes.join(", ")), page);
    }
}

/// HTML of a cell, in a frame without rights. Nothing tells the page how high it is, so the
/// height is guessed, and can be changed by hand.
fn frame(html: &str, page: &mut String) {
    let lower = html.to_ascii_lowercase();
    let rows = ["<tr", "<p", "<br", "<li", "<div", "<h"].iter();
    let rows: usize = rows.map(|tag| lower.matches(tag).count()).sum();
    let height = (rows * 28 + 48).clamp(64, 640);
    let document =
        format!("<!doctype html><meta charset=\"utf-8\"><style>{FRAME_STYLE}</style>{html}");
    let _ = write!(
        page,
        "<iframe sandbox=\"\" loading=\"lazy\" style=\"height: {height}px\" srcdoc=\"{}\"></iframe>",
        escaped(&document)
    );
}

/// `base64` is checked.
fn picture(mime: &str, base64: &str, metadata: &Bundle, page: &mut String) {
    let _ = write!(page, "<img alt=\"\" src=\"data:{mime};base64,{base64}\"");
    // For the screens of today an image has more pixels than it is meant to be wide.
    let sizes = metadata.get(mime).unwrap_or(&Value::Null);
    for side in ["width", "height"] {
        let size = sizes.get(side).or_else(|| metadata.get(side));
        if let Some(pixels) = size.and_then(Value::as_u64) {
            let _ = write!(page, " {side}=\"{pixels}\"");
        }
    }
    page.push('>');
}

fn note(text: &str, page: &mut String) {
    let _ = write!(page, "<p class=\"note\">[{}]</p>", escaped(text));
}

fn preformatted(class: &str, text: &str, page: &mut String) {
    let text = escaped(&bounded(text));
    // The first line end in it is not shown, so that there is one to lose.
    let _ = write!(page, "<pre class=\"{class}\">\n{text}</pre>");
}

/// Text with the colours that it has on a terminal.
fn terminal(class: &str, text: &str, page: &mut String) {
    let _ = writeln!(page, "<pre class=\"{class}\">");
    for (look, piece) in ansi::pieces(&bounded(text)) {
        let (classes, style) = looks(look);
        if classes.is_empty() && style.is_empty() {
            page.push_str(&escaped(piece));
            continue;
        }
        page.push_str("<span");
        for (name, value) in [("class", classes), ("style", style)] {
            if !value.is_empty() {
                let _ = write!(page, " {name}=\"{}\"", value.trim_end());
            }
        }
        let _ = write!(page, ">{}</span>", escaped(piece));
    }
    page.push_str("</pre>");
}

/// The classes and the style of a look.
fn looks(look: Look) -> (String, String) {
    let (mut classes, mut style) = (String::new(), String::new());
    let flags = [
        (look.bold, "bold "),
        (look.faint, "faint "),
        (look.italic, "italic "),
        (look.underlined, "underlined "),
        (look.inverse, "inverse "),
    ];
    for (on, name) in flags {
        classes.push_str(if on { name } else { "" });
    }
    for (colour, prefix) in [(look.colour, "fg"), (look.ground, "bg")] {
        if let Some(Colour::Named(index)) = colour {
            let _ = write!(classes, "{prefix}{index} ");
        }
    }
    if let Some(Colour::Rgb(red, green, blue)) = look.colour {
        // Tracebacks have colours that were chosen for a light ground.
        let [r, g, b] = [red, green, blue].map(|part| part + (255 - part) / 9 * 4);
        let _ = write!(
            style,
            "color: light-dark(rgb({red}, {green}, {blue}), rgb({r}, {g}, {b})); "
        );
    }
    if let Some(Colour::Rgb(red, green, blue)) = look.ground {
        let _ = write!(style, "background: rgb({red} {green} {blue} / 30%); ");
    }
    (classes, style)
}

/// A text that is no longer than what is shown.
fn bounded(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MAX_TEXT);
    let left_out = text.len() - end;
    format!("{}\n[... {left_out} bytes are not shown]", &text[..end])
}

/// A text that is only text, between tags and in quoted attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

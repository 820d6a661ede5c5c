//! Markdown as HTML that is harmless.

use pulldown_cmark::{CodeBlockKind, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};
use serde_json::Value;

use super::{escaped, python};

/// Tags without attributes that change how text looks and nothing else.
const HARMLESS: &[&str] = &[
    "b", "br", "code", "em", "i", "kbd", "mark", "s", "small", "strong", "sub", "sup", "u",
];
/// Where a link may lead.
const SCHEMES: &[&str] = &["http", "https", "mailto"];

/// Render a text. `attachments` are the cell's: file name, media type, bytes in base64.
pub(super) fn render(source: &str, attachments: &Value) -> String {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_MATH;
    let mut tame = Tame {
        attachments,
        images: Vec::new(),
        block: None,
    };
    let events = Parser::new_ext(source, options).flat_map(|event| tame.event(event));
    let mut out = String::new();
    pulldown_cmark::html::push_html(&mut out, events);
    out
}

/// What makes events harmless.
struct Tame<'a> {
    attachments: &'a Value,
    /// Whether each image that is open became a link.
    images: Vec<bool>,
    /// The text so far of a block of Python.
    block: Option<String>,
}

impl Tame<'_> {
    fn event<'e>(&mut self, event: Event<'e>) -> Vec<Event<'e>> {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => {
                vec![match is_harmless(&html) {
                    true => Event::InlineHtml(html),
                    false => Event::Text(html),
                }]
            }
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            }) => {
                let dest_url = link(dest_url);
                vec![Event::Start(Tag::Link {
                    // An address in angle brackets would get `mailto:` in front of it.
                    link_type: match link_type {
                        LinkType::Email => LinkType::Email,
                        _ => LinkType::Inline,
                    },
                    dest_url,
                    title,
                    id,
                })]
            }
            Event::Start(Tag::Image {
                dest_url,
                title,
                id,
                ..
            }) => self.image(&dest_url, title, id),
            Event::End(TagEnd::Image) => match self.images.pop() {
                Some(true) => vec![Event::End(TagEnd::Link)],
                _ => vec![Event::End(TagEnd::Image)],
            },
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language)))
                if matches!(&*language, "python" | "py" | "python3" | "ipython") =>
            {
                self.block = Some(String::new());
                Vec::new()
            }
            Event::Text(text) => match &mut self.block {
                Some(block) => {
                    block.push_str(&text);
                    Vec::new()
                }
                None => vec![Event::Text(text)],
            },
            Event::End(TagEnd::CodeBlock) => match self.block.take() {
                Some(block) => {
                    let code = python::highlighted(&block);
                    let html = format!("<pre class=\"source\"><code>{code}</code></pre>\n");
                    vec![Event::Html(html.into())]
                }
                None => vec![Event::End(TagEnd::CodeBlock)],
            },
            other => vec![other],
        }
    }

    /// An image of the cell itself, or a link to one that is elsewhere: the page fetches
    /// nothing.
    fn image<'e>(&mut self, url: &str, title: CowStr<'e>, id: CowStr<'e>) -> Vec<Event<'e>> {
        let own = match url.strip_prefix("attachment:") {
            Some(name) => self.attached(name),
            None => is_image(url).then(|| url.to_owned()),
        };
        self.images.push(own.is_none());
        match own {
            Some(url) => vec![Event::Start(Tag::Image {
                link_type: LinkType::Inline,
                dest_url: url.into(),
                title,
                id,
            })],
            None => vec![
                Event::Start(Tag::Link {
                    link_type: LinkType::Inline,
                    dest_url: link(url.to_owned().into()),
                    title,
                    id,
                }),
                Event::InlineHtml(format!("[{}] ", escaped(url)).into()),
            ],
        }
    }

    fn attached(&self, name: &str) -> Option<String> {
        let bundle = self.attachments.get(name)?.as_object()?;
        bundle.iter().find_map(|(mime, content)| {
            let url = format!("data:{mime};base64,{}", content.as_str()?.trim());
            is_image(&url).then_some(url)
        })
    }
}

/// A link's address, or nowhere if it may not be followed.
fn link(url: CowStr<'_>) -> CowStr<'_> {
    // Browsers pass over blanks and control characters when they look for the scheme.
    let seen: String = url
        .chars()
        .filter(|c| !c.is_control() && !c.is_whitespace())
        .collect();
    let scheme = seen
        .split_once(':')
        .map(|(scheme, _)| scheme)
        .filter(|scheme| !scheme.contains(['/', '?', '#']));
    let allowed = scheme.is_none_or(|scheme| {
        SCHEMES
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
    });
    if allowed { url } else { "#".into() }
}

fn is_image(url: &str) -> bool {
    const KINDS: &[&str] = &["png", "jpeg", "gif", "webp", "svg+xml"];
    let content = KINDS.iter().find_map(|kind| {
        let rest = url.strip_prefix("data:image/")?.strip_prefix(kind)?;
        rest.strip_prefix(";base64,")
    });
    let is_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    content.is_some_and(|content| content.bytes().all(is_base64))
}

fn is_harmless(html: &str) -> bool {
    let inner = html
        .trim()
        .strip_prefix('<')
        .and_then(|html| html.strip_suffix('>'));
    let name = inner.map(|inner| inner.trim_start_matches('/').trim_end_matches('/').trim());
    name.is_some_and(|name| HARMLESS.contains(&name.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plain(source: &str) -> String {
        render(source, &Value::Null)
    }

    #[test]
    fn markdown_is_rendered() {
        assert_eq!(plain("# A *b*"), "<h1>A <em>b</em></h1>\n");
        assert!(plain("|a|\n|-|\n|1|").contains("<td>1</td>"));
        assert!(plain("x<sub>1</sub><br/>y").contains("x<sub>1</sub><br/>y"));
        assert!(plain("$a<b$").contains("math-inline\">a&lt;b</span>"));
        assert!(plain("```python\nif x: pass\n```").contains("<span class=\"k\">if</span>"));
    }

    #[test]
    fn foreign_html_is_text() {
        for source in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "<b onclick=alert(1)>x</b>",
            "<div>\n<iframe src=x>\n</div>",
            "<!-- <script> -->",
            "<br onload=x>",
        ] {
            let html = plain(source);
            for tag in ["<script", "<img", "<b o", "<iframe", "<div", "<br o"] {
                assert!(!html.contains(tag), "{source}: {html}");
            }
        }
    }

    #[test]
    fn links_lead_to_pages_only() {
        for bad in [
            "[x](javascript:alert(1))",
            "[x](JaVaScRiPt:alert(1))",
            "[x](java&#10;script:alert(1))",
            "[x](&#106;avascript:alert(1))",
            "[x](<\u{1} javascript:alert(1)>)",
            "[x](data:text/html,x)",
            "[x](vbscript:x)",
            "<javascript:alert(1)>",
            "[x][y]\n\n[y]: javascript:alert(1)",
        ] {
            let html = plain(bad);
            assert!(html.contains("href=\"#\""), "{bad}: {html}");
        }
        assert!(plain("[x](https://e.org/a?b=c)").contains("href=\"https://e.org/a?b=c\""));
        assert!(plain("[x](other.ipynb#a:b)").contains("href=\"other.ipynb#a:b\""));
        assert!(plain("<me@e.org>").contains("href=\"mailto:me@e.org\""));
    }

    #[test]
    fn images_are_the_cells_own_or_links() {
        let attachments =
            json!({"a.png": {"image/png": "aGk="}, "x": {"image/png": "\" onerror=\""}});
        let html = render("![alt](attachment:a.png)", &attachments);
        assert!(
            html.contains("src=\"data:image/png;base64,aGk=\" alt=\"alt\""),
            "{html}"
        );
        let html = render("![alt](attachment:x)", &attachments);
        assert!(
            !html.contains("<img") && !html.contains("onerror"),
            "{html}"
        );
        let html = plain("![a *b*](https://e.org/i.png \"t\")");
        assert!(!html.contains("<img") && html.contains("<a href=\"https://e.org/i.png\""));
        assert!(html.contains("a <em>b</em></a>"), "{html}");
    }
}

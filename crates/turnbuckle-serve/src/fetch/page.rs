//! The text of a page, as a model reads it.

use htmd::HtmlToMarkdown;
use http::header::CONTENT_TYPE;
use markup5ever_rcdom::Handle;

use super::{charset, dom, markdown_size};
use crate::web::WebResponse;

/// The elements without text for a reader.
const SKIPPED: [&str; 10] = [
    "button", "head", "iframe", "nav", "noscript", "script", "select", "style", "svg", "template",
];

/// The bytes of Markdown that any page may become, and how often its own size beyond them.
const MAX_MARKDOWN_BYTES: usize = 16 << 20;
const MAX_GROWTH: usize = 8;

/// The text of a page.
pub(super) struct Page {
    pub(super) text: String,
    /// A line that says that the text is no Markdown.
    pub(super) note: String,
}

/// Returns the text of a response: HTML as Markdown, unless `raw`, and everything else as it is.
///
/// # Errors
/// When the encoding is not known, or the HTML is beyond the bounds.
pub(super) fn read(response: &WebResponse, raw: bool) -> Result<Page, String> {
    let media_type = response.headers.get(CONTENT_TYPE);
    let media_type = media_type
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_ascii_lowercase();
    let text = charset::decode(&response.body, &media_type)?;
    let begin: String = text.chars().take(100).collect();
    let is_html = media_type.is_empty()
        || media_type.contains("text/html")
        || media_type.contains("application/xhtml+xml")
        || begin.contains("<html");
    if is_html && !raw {
        return Ok(Page {
            text: to_markdown(&text).map_err(|reason| format!("{reason}; try it with raw"))?,
            note: String::new(),
        });
    }
    Ok(Page {
        note: format!(
            "Content type {media_type} cannot be simplified to markdown, but here is the raw content:\n"
        ),
        text,
    })
}

/// Converts the main part of a page to Markdown.
///
/// # Errors
/// When the page is beyond the bounds.
fn to_markdown(html: &str) -> Result<String, String> {
    let document = dom::parse(html)?;
    let part = main_part(&document);
    let max_bytes = html.len().saturating_mul(MAX_GROWTH);
    if markdown_size::estimate(&part) > max_bytes.saturating_add(MAX_MARKDOWN_BYTES) {
        return Err("it is too large as Markdown".to_owned());
    }
    let converter = HtmlToMarkdown::builder()
        .skip_tags(SKIPPED.to_vec())
        .build();
    let text = converter.tree_to_markdown(&part);
    Ok(text.trim().to_owned())
}

/// Returns the one `<main>` with text, or the one `<article>` if it has most of the text, or else the whole page.
fn main_part(document: &Handle) -> Handle {
    let length = |node: &Handle| dom::text_length(node, &SKIPPED);
    let only = |name| {
        let found = dom::find_outermost(document, name).into_iter();
        let mut found = found.filter(|node| length(node) > 0);
        found.next().filter(|_| found.next().is_none())
    };
    let has_most = |node: &Handle| length(node) > length(document) / 2;
    let main = only("main").or_else(|| only("article").filter(has_most));
    main.unwrap_or_else(|| document.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_becomes_markdown() {
        let html = "<!doctype html><html><head><title>T</title><style>p{}</style></head><body><nav>Menu</nav>\
                    <h1>Head &amp; line</h1><p>One <b>bold</b> <a href=\"/x\">link</a>.<script>x()</script>\
                    <ul><li>a<li>b</ul><pre><code>let x;\n</code></pre></body></html>";
        let text = to_markdown(html).unwrap();
        assert_eq!(
            text,
            "# Head & line\n\nOne **bold** [link](/x).\n\n*   a\n*   b\n\n```\nlet x;\n```"
        );
    }

    #[test]
    fn the_main_part_is_preferred() {
        let html = "<body><header>Banner</header><main><p>Text</p></main><footer>Foot</footer>";
        assert_eq!(to_markdown(html).unwrap(), "Text");
        let article = "<h1>a</h1><article>bcd<article>e</article></article>";
        assert_eq!(to_markdown(article).unwrap(), "bcd\n\ne");
        assert_eq!(to_markdown("").unwrap(), "");
    }

    #[test]
    fn no_text_is_lost_for_a_main_part_that_is_none() {
        for html in [
            "<h1>a</h1><article>b</article><article>c</article>",
            "<p>abcdef</p><section><article>bc</article></section>",
            "<main> </main><p>a</p><p>bc</p>",
            "<main><script>x()</script></main><p>abc</p>",
            "<main>a</main><main>bc</main>",
        ] {
            let text = to_markdown(html).unwrap();
            let has = |letter| text.contains(letter);
            assert!(has('a') && has('b') && has('c'), "{html}: {text}");
        }
    }

    #[test]
    fn a_page_that_becomes_a_text_without_end_is_refused() {
        let quotes = format!("{}{}", "<blockquote>".repeat(190), "x<br>".repeat(10_000));
        let lists = format!("{}<pre>{}", "<ul><li>".repeat(95), "\n".repeat(20_000));
        let rows = "<tr><td>x".repeat(500);
        let table = format!("<table><tr><th>{}{rows}", "x".repeat(100_000));
        let inner = format!("<table><tr><td>{table}</table>{rows}");
        for html in [quotes, lists, table.clone(), inner] {
            let error = to_markdown(&html).unwrap_err();
            assert_eq!(error, "it is too large as Markdown");
        }
        // Nothing is filled with spaces if there is no header, so this one is small.
        let table = table.replace("th>", "td>");
        assert!(to_markdown(&table).unwrap().len() < 200_000);
    }

    #[test]
    fn hostile_pages_are_refused() {
        let deep = "<div>".repeat(3_000);
        let bold: String = (0..300).map(|number| format!("<b id={number}>")).collect();
        let repeated = format!("<p>{bold}</p>{}", "<p>x</p>".repeat(2_000));
        let links = "<a href=x>y</a>".repeat(50_000);
        let many = "<br>".repeat(500_000);
        for (html, reason) in [
            (deep, "nested"),
            (repeated, "too many"),
            (links, "too many"),
            (many, "too many"),
        ] {
            let error = to_markdown(&html).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn the_deepest_page_is_read() {
        let html = format!("{}text", "<blockquote><ul><li><b>".repeat(48));
        // As on a thread of the runtime's.
        let read = std::thread::Builder::new().stack_size(2 << 20);
        let read = read.spawn(move || to_markdown(&html).unwrap()).unwrap();
        assert!(read.join().unwrap().contains("text"));
    }
}

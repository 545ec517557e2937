//! The text of a page, as a model reads it.

use htmd::HtmlToMarkdown;
use http::header::CONTENT_TYPE;

use super::{charset, dom};
use crate::web::WebResponse;

/// The elements without text for a reader.
const SKIPPED: [&str; 10] = [
    "button", "head", "iframe", "nav", "noscript", "script", "select", "style", "svg", "template",
];

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
        .unwrap_or_default();
    let text = charset::decode(&response.body, media_type)?;
    let begin: String = text.chars().take(100).collect();
    let is_html =
        media_type.is_empty() || media_type.contains("text/html") || begin.contains("<html");
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

/// Converts a page to Markdown: its main part, if it says which that is.
///
/// # Errors
/// When the page is beyond the bounds.
fn to_markdown(html: &str) -> Result<String, String> {
    let document = dom::parse(html)?;
    let main = ["main", "article"]
        .iter()
        .find_map(|name| dom::find(&document, name));
    let converter = HtmlToMarkdown::builder()
        .skip_tags(SKIPPED.to_vec())
        .build();
    let text = converter.tree_to_markdown(main.as_ref().unwrap_or(&document));
    Ok(text.trim().to_owned())
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
        assert_eq!(to_markdown("<p>a<article>b</article>").unwrap(), "b");
        assert_eq!(to_markdown("").unwrap(), "");
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

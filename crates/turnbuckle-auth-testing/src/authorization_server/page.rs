//! The pages that a browser shows: plain HTML without scripts, under a policy that allows none.

use http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_FRAME_OPTIONS};
use http::{HeaderValue, StatusCode};

use super::answer::{Answer, ErrorCode, Refusal, forbid_storing, with_body};

/// The warning on each page.
const WARNING: &str = "This is turnbuckle's test authorization server. It asks for no password and \
    protects nothing. Never use it in production.";

const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:40em;margin:2em auto;padding:0 1em}\
    .warning{border:2px solid #b00;padding:.5em 1em}dt{font-weight:bold}\
    dd{overflow-wrap:anywhere}button{font:inherit;padding:.4em 1.5em;margin-right:1em}";

/// Creates a page that shows an error and redirects nowhere.
pub(super) fn error_page(status: StatusCode, refusal: &Refusal) -> Answer {
    let body = format!(
        "<p>The request cannot be answered, and you are not sent back to the client.</p>\
         <dl><dt>{}</dt><dd>{}</dd></dl>",
        escape(refusal.error()),
        escape(refusal.description()),
    );
    let mut answer = page(status, "Authorization failed", &body, None);
    answer
        .extensions_mut()
        .insert(ErrorCode(refusal.error().to_owned()));
    answer
}

/// Creates a page. `form_target` is the origin to which a form may lead besides this server:
/// browsers apply `form-action` to redirects too.
pub(super) fn page(
    status: StatusCode,
    title: &str,
    body: &str,
    form_target: Option<&str>,
) -> Answer {
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\
         <style>{STYLE}</style></head><body><p class=\"warning\">{WARNING}</p>\
         <h1>{title}</h1>{body}</body></html>",
    );
    let mut answer = with_body(status, "text/html; charset=utf-8", html);
    forbid_storing(&mut answer);
    let form_action = match form_target {
        Some(target) => format!("'self' {target}"),
        None => "'none'".to_owned(),
    };
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; \
         form-action {form_action}",
    );
    let headers = answer.headers_mut();
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    answer
}

/// Escapes a text for HTML, in content and in attributes. Controls and marks that change the
/// direction of text become U+FFFD.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                escaped.push('\u{fffd}');
            }
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_the_client_is_escaped() {
        assert_eq!(
            escape("<b a=\"x\" c='y'>&\u{202e}\n"),
            "&lt;b a=&quot;x&quot; c=&#39;y&#39;&gt;&amp;\u{fffd}\u{fffd}",
        );
    }
}

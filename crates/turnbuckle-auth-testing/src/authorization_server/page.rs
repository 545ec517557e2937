//! The pages that a browser shows: plain HTML without scripts, under a policy that allows none.

use http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_FRAME_OPTIONS};
use http::{HeaderValue, StatusCode};
use turnbuckle_types::base::text::is_hidden;

use super::answer::{Answer, ErrorCode, Refusal, forbid_storing, with_body};

/// Creates a page that shows an error and redirects nowhere.
pub(super) fn error_page(status: StatusCode, refusal: Refusal) -> Answer {
    let body = fill(
        include_str!("pages/error.html"),
        &[
            ("error", &escape(&refusal.error)),
            ("description", &escape(&refusal.description)),
        ],
    );
    let mut answer = page(status, "Authorization failed", &body, "'none'");
    answer.extensions_mut().insert(ErrorCode(refusal.error));
    answer
}

/// Creates a page. `form_action` names the origins to which a form may lead: browsers apply the rule
/// to redirects too.
pub(super) fn page(status: StatusCode, title: &str, body: &str, form_action: &str) -> Answer {
    let html = fill(
        include_str!("pages/page.html"),
        &[("title", title), ("body", body)],
    );
    let mut answer = with_body(status, "text/html; charset=utf-8", html);
    forbid_storing(&mut answer);
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

/// Replaces each `{name}` in a template by its HTML. Braces of other texts stay.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut html = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        html.push_str(before);
        let place = after.split_once('}');
        let value = place.and_then(|(name, _)| values.iter().find(|(known, _)| *known == name));
        match (place, value) {
            (Some((_, behind)), Some((_, value))) => {
                html.push_str(value);
                rest = behind;
            }
            _ => {
                html.push('{');
                rest = after;
            }
        }
    }
    html + rest
}

/// Escapes a text for HTML, in content and in attributes. Hidden characters become U+FFFD.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            char if is_hidden(char) => escaped.push('\u{fffd}'),
            char => escaped.push(char),
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

    #[test]
    fn a_template_is_filled_once() {
        let filled = fill("p{color:red}{a}{b}{a", &[("a", "{b}"), ("b", "x")]);
        assert_eq!(filled, "p{color:red}{b}x{a");
    }
}

//! Tests of what a page may be.

use super::*;

const HTML: &str = "<!doctype html><title>t</title>";

fn page_meta(builder: PageBuilder) -> Option<String> {
    let page = builder.html(HTML).unwrap();
    page.0
        .meta
        .get_raw(META_KEY)
        .map(|json| json.as_str().to_owned())
}

fn html_error(builder: PageBuilder, html: &str) -> String {
    builder.html(html).unwrap_err().to_string()
}

fn page() -> PageBuilder {
    Page::builder("ui://a/b.html", "b")
}

#[test]
fn a_page_that_asks_for_nothing_says_nothing() {
    assert_eq!(page_meta(page()), None);
}

#[test]
fn the_permissions_of_a_page_have_the_names_of_the_specification() {
    let full = page()
        .connect_domain("wss://live.example.com")
        .connect_domain("https://api.example.com")
        .connect_domain("https://api.example.com")
        .resource_domain("https://*.example.com")
        .frame_domain("https://video.example.com")
        .base_uri_domain("https://cdn.example.com")
        .permission(Permission::ClipboardWrite)
        .permission(Permission::Camera)
        .permission(Permission::Microphone)
        .permission(Permission::Geolocation)
        .permission(Permission::Camera)
        .domain("a904794854a047f6.example.com")
        .prefers_border(false);
    let csp = concat!(
        r#"{"connectDomains":["https://api.example.com","wss://live.example.com"],"#,
        r#""resourceDomains":["https://*.example.com"],"#,
        r#""frameDomains":["https://video.example.com"],"#,
        r#""baseUriDomains":["https://cdn.example.com"]}"#
    );
    let permissions = r#"{"camera":{},"microphone":{},"geolocation":{},"clipboardWrite":{}}"#;
    let expected = format!(
        r#"{{"csp":{csp},"permissions":{permissions},"domain":"a904794854a047f6.example.com","prefersBorder":false}}"#
    );
    assert_eq!(page_meta(full), Some(expected));
}

#[test]
fn each_thing_is_said_alone() {
    for (builder, expected) in [
        (
            page().base_uri_domain("https://a.example"),
            r#"{"csp":{"baseUriDomains":["https://a.example"]}}"#,
        ),
        (
            page().permission(Permission::Camera),
            r#"{"permissions":{"camera":{}}}"#,
        ),
        (page().domain("a.example"), r#"{"domain":"a.example"}"#),
        (page().prefers_border(true), r#"{"prefersBorder":true}"#),
    ] {
        assert_eq!(page_meta(builder).as_deref(), Some(expected));
    }
}

#[test]
fn the_uri_is_one_of_a_page() {
    let long = format!("ui://{}", "a".repeat(2044));
    for uri in [
        "",
        "view.html",
        "ui:view",
        "ui://",
        "UI://a",
        "https://a.example/view.html",
        "ui://a/{id}",
        "ui://a b",
        "ui://a\n",
        "ui://ü",
        &long,
    ] {
        let error = html_error(Page::builder(uri, "x"), HTML);
        assert!(error.contains("URI"), "{uri:?}: {error}");
    }
    let just = format!("ui://{}", "a".repeat(2043));
    for uri in ["ui://weather-dashboard", "ui://a/b/c.html?v=1#x", &just] {
        assert_eq!(Page::builder(uri, "x").html(HTML).unwrap().uri(), uri);
    }
}

#[test]
fn a_domain_is_an_origin_and_the_error_says_which_is_not() {
    let uri = r#"page "ui://a/b.html": "#;
    for (builder, reason) in [
        (
            page().connect_domain("https://*.example.com"),
            r#""https://*.example.com": only a resource domain may be a wildcard"#,
        ),
        (
            page().resource_domain("example.com"),
            r#""example.com": an origin begins with a scheme, such as `https://`"#,
        ),
        (
            page().frame_domain("https://a.example/x"),
            r#""https://a.example/x": an origin is a scheme, a host and perhaps a port, and nothing else"#,
        ),
        (
            page().base_uri_domain("wss://a.example"),
            r#""wss://a.example": its scheme is not one of the web"#,
        ),
        (page().domain(""), "its domain is no name"),
        (page().domain("a.example; x"), "its domain is no name"),
    ] {
        assert_eq!(html_error(builder, HTML), format!("{uri}{reason}"));
    }
}

#[test]
fn the_text_is_a_whole_document() {
    for html in [
        "<!DOCTYPE html><html></html>",
        "\u{feff}\n  <!-- made by a tool -->\n<!-- -->\n<!Doctype HTML SYSTEM \"about:legacy-compat\">\n",
    ] {
        assert!(page().html(html).is_ok(), "{html:?}");
    }
    for html in [
        "",
        "<p>Hello</p>",
        "<html></html>",
        "<!-- <!doctype html>",
        "<!doctype svg>",
        "<!doctype html5>",
        "text <!doctype html>",
        "<!doctype htmé",
    ] {
        let error = html_error(page(), html);
        assert!(error.ends_with("`<!doctype html>`"), "{html:?}: {error}");
    }
}

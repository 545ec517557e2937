//! URIs that are allowed for icons and for roots.

use turnbuckle_types::{Icon, Root, RootError};

#[test]
fn an_icon_comes_from_the_servers_own_origin_or_from_itself() {
    let server = Some("https://Example.com/mcp");
    let safe = |src: &str, server| Icon::new(src).is_safe_for(server);
    for src in [
        "https://example.com/icon.png",
        "HTTPS://EXAMPLE.COM:443/icon.png",
        "https://example.com?x",
        "https://example.com",
        "data:image/png;base64,AA==",
        "DATA:image/svg+xml;charset=utf-8;BASE64,AA==",
    ] {
        assert!(safe(src, server), "{src}");
    }
    for src in [
        "",
        "icon.png",
        "/icon.png",
        "//example.com/icon.png",
        "http://example.com/icon.png",
        "https:example.com/icon.png",
        "https://example.com:8443/icon.png",
        "https://example.com.evil.org/icon.png",
        "https://evil.org/example.com",
        "https://example.com@evil.org/",
        "https://user@example.com/",
        "https://evil.org\\@example.com/",
        "https://example.com\\.evil.org/",
        "https://exa\tmple.com/",
        " https://example.com/",
        "https://example%2ecom/",
        "https://example.com:99999/",
        "https:///icon.png",
        "javascript:alert(1)",
        "file:///icon.png",
        "ftp://example.com/icon.png",
        "ws://example.com/",
        "data:text/html;base64,AA==",
        "data:image/png,raw",
        "data:image/png;base64",
    ] {
        assert!(!safe(src, server), "{src}");
    }
    // An empty port is the default one; what follows the slash is a path.
    assert!(safe("https://example.com:/@evil.org/", server));
}

#[test]
fn a_server_without_an_https_origin_has_no_icons_by_url() {
    for server in [
        None,
        Some("http://example.com"),
        Some("http://127.0.0.1:3000/mcp"),
        Some(""),
    ] {
        assert!(!Icon::new("https://example.com/icon.png").is_safe_for(server));
        assert!(Icon::new("data:image/png;base64,AA==").is_safe_for(server));
    }
    let v6 = Some("https://[::1]:8443/mcp");
    assert!(Icon::new("https://[::1]:8443/a").is_safe_for(v6));
    assert!(!Icon::new("https://[::1]/a").is_safe_for(v6));
}

#[test]
fn a_root_is_an_absolute_file_uri() {
    for uri in [
        "file:///",
        "file:///home/a..b",
        "FILE:///c:/x",
        "file://server/share",
        "file:///a/...",
    ] {
        assert_eq!(
            Root::new(uri).map(|root| root.uri),
            Ok(uri.to_owned()),
            "{uri}"
        );
    }
    for uri in ["", "/home", "http://a/", "file:/home", "files:///a", "é"] {
        assert_eq!(Root::new(uri), Err(RootError::NotAFileUri), "{uri}");
    }
    for uri in ["file://", "file://home"] {
        assert_eq!(Root::new(uri), Err(RootError::NotAbsolute), "{uri}");
    }
    for uri in [
        "file:///a/../b",
        "file:///..",
        "file:///a/%2e%2E/b",
        "file:///a/.%2e",
        "file:///a%2f..%2fb",
        "file:///a\\..\\b",
        "file:///a/..%5Cb",
    ] {
        assert_eq!(Root::new(uri), Err(RootError::ParentSegment), "{uri}");
    }
    assert_eq!(
        Root::unchecked("http://a/").check(),
        Err(RootError::NotAFileUri)
    );
}

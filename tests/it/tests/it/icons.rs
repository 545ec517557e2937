//! Icons: which of them may be shown.

use turnbuckle_types::Icon;

// requirement: 5698de63154f 858383f7845a 9c9cf3ddae1e
#[test]
fn only_safe_icons_pass() {
    let server = Some("https://example.com/mcp");
    let pass = [
        "https://example.com/icon.png",
        "HTTPS://Example.COM/icon.png",
        "https://example.com:443/icon.png",
        "data:image/png;base64,AAAA",
        "DATA:Image/PNG;base64,AAAA",
    ];
    let fail = [
        // Schemes.
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ftp://example.com/icon.png",
        "ws://example.com/icon.png",
        "wss://example.com/icon.png",
        "http://example.com/icon.png",
        "myapp://icon",
        "blob:https://example.com/1",
        "",
        "icon.png",
        "//example.com/icon.png",
        " https://example.com/icon.png",
        // Other data than pictures.
        "data:text/html;base64,AAAA",
        "data:text/html,<script>",
        "data:,x",
        // Other origins, and what looks like this one.
        "https://example.org/icon.png",
        "https://sub.example.com/icon.png",
        "https://example.com:8443/icon.png",
        "https://example.com.evil.org/icon.png",
        "https://example.com@evil.org/icon.png",
        r"https://example.com\@evil.org/icon.png",
        "https://user:pass@example.com/icon.png",
        "https://example.com%2eevil.org/icon.png",
        "https://exаmple.com/icon.png",
        "https:///icon.png",
    ];
    for src in pass {
        assert!(Icon::new(src).is_safe_for(server), "{src}");
    }
    for src in fail {
        assert!(!Icon::new(src).is_safe_for(server), "{src}");
    }
    // Who has no origin can only bring the picture along.
    assert!(!Icon::new("https://example.com/icon.png").is_safe_for(None));
    assert!(Icon::new("data:image/png;base64,AAAA").is_safe_for(None));
    // A server without TLS has no safe origin.
    let plain = Some("http://example.com");
    assert!(!Icon::new("http://example.com/icon.png").is_safe_for(plain));
    assert!(!Icon::new("https://example.com/icon.png").is_safe_for(plain));
}

//! Settings that are refused.

use std::time::Duration;

use crate::server::{ResourceServer, ResourceServerBuilder, ResourceServerError};

const RESOURCE: &str = "https://mcp.example.com/mcp";
const ISSUER: &str = "https://as.example.com";
const TOKEN: &str = "a-long-random-token-0123456789";

fn error(
    configure: impl FnOnce(ResourceServerBuilder) -> ResourceServerBuilder,
) -> ResourceServerError {
    configure(ResourceServer::builder(RESOURCE))
        .build()
        .unwrap_err()
}

#[tokio::test]
async fn a_setting_that_is_wrong_is_named() {
    for (error, names) in [
        (error(|it| it), "`issuer`"),
        (error(|it| it.issuer("as.example.com")), "as.example.com"),
        (
            error(|it| it.issuer("http://as.example.com")),
            "http://as.example.com",
        ),
        (error(|it| it.issuer("https://as.example.com?x=y")), "query"),
        (error(|it| it.issuer(ISSUER).issuer(ISSUER)), "twice"),
        (error(|it| it.jwks(ISSUER, "ftp://x")), "`jwks`"),
        (error(|it| it.issuer(ISSUER).algorithms(["HS256"])), "HS256"),
        (error(|it| it.issuer(ISSUER).algorithms(["none"])), "none"),
        (
            error(|it| it.issuer(ISSUER).leeway(Duration::from_secs(301))),
            "`leeway`",
        ),
        (
            error(|it| it.issuer(ISSUER).api_key_header("a b")),
            "`api_key_header`",
        ),
        (
            error(|it| it.issuer(ISSUER).api_key_header("Authorization")),
            "`api_key_header`",
        ),
        (
            error(|it| it.issuer(ISSUER).required_scopes(["a b"])),
            "a b",
        ),
        (
            error(|it| it.issuer(ISSUER).required_scopes(["offline_access"])),
            "offline_access",
        ),
        (error(|it| it.static_token("ci", "short", ["x"])), "ci: "),
        (
            error(|it| it.static_token("ci", "sha256:00", ["x"])),
            "64 hexadecimal",
        ),
        (
            error(|it| {
                it.static_token("a", TOKEN, ["x"])
                    .static_token("b", TOKEN, ["x"])
            }),
            "b: ",
        ),
        (
            error(|it| {
                it.introspection(ISSUER, "https://as.example.com/i", "id", "secret")
                    .introspection("https://b.example", "https://b.example/i", "id", "secret")
            }),
            "`introspection`",
        ),
        (
            error(|it| it.issuer(ISSUER).root_certificates_pem("no certificate")),
            "`root_certificates_pem`",
        ),
    ] {
        assert!(error.to_string().contains(names), "{error}");
        assert!(!error.to_string().contains(TOKEN) && !error.to_string().contains("short,"));
    }
    let error = ResourceServer::builder("mcp.example.com")
        .issuer(ISSUER)
        .build()
        .unwrap_err();
    assert!(error.to_string().contains("`resource`"), "{error}");
}

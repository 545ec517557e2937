//! The user of tests who approves at once.

use url::Url;

use super::super::TestAuthorizationServer;
use turnbuckle_auth::AuthErrorKind;
use turnbuckle_auth::client::interaction::LoginUi as _;

const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

#[tokio::test]
async fn a_login_is_approved_for_the_user_without_a_browser() {
    let redirect_uri = "https://app.example.com/callback";
    let server = TestAuthorizationServer::builder()
        .public_client("app", [redirect_uri])
        .start()
        .await
        .unwrap();
    let ui = server.auto_login("ann").redirect_uri(redirect_uri);
    for (client, is_approved) in [("app", true), ("unknown", false)] {
        let mut url = Url::parse(&format!("{}/authorize", server.issuer())).unwrap();
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", client),
            ("redirect_uri", redirect_uri),
            ("state", "the-state"),
            ("resource", "https://mcp.example.com/mcp"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ]);
        let pending = ui.prepare(None).await.unwrap();
        assert_eq!(pending.redirect_uri(), redirect_uri);
        let redirect = pending.open(url.as_str()).await;
        if is_approved {
            let redirect = redirect.unwrap();
            assert!(redirect.starts_with(redirect_uri), "{redirect}");
            assert!(
                redirect.contains("?code=") && redirect.contains("state=the-state"),
                "{redirect}"
            );
        } else {
            let error = redirect.unwrap_err();
            assert_eq!(error.kind(), AuthErrorKind::Denied);
            assert!(error.to_string().contains("400"), "{error}");
        }
    }
    assert_eq!(server.events().len(), 2);
}

//! The consent page.

use super::{Answer, CLIENT, RESOURCE, Script, builder, claims};

/// Returns the value of a hidden field.
fn field(page: &str, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let rest = page.split(&start).nth(1).unwrap();
    rest.split('"').next().unwrap().to_owned()
}

async fn decide(script: &Script, page: &Answer, changes: &[(&str, &str)]) -> Answer {
    let request = field(&page.body, "request");
    let right = [
        ("request", request.as_str()),
        ("user", "alice"),
        ("decision", "allow"),
    ];
    let form = super::changed(&right, changes);
    script.post("/consent", &form, &[]).await
}

#[tokio::test]
async fn the_consent_page_shows_client_and_scopes_and_has_no_scripts() {
    let script = Script::start(builder().auto_approve(false).user("bob")).await;
    let page = script.authorize(&[]).await;
    page.assert_page(200, CLIENT);
    for text in [
        "127.0.0.1",
        "read write",
        RESOURCE,
        "<option value=\"bob\">",
        "this computer",
    ] {
        assert!(page.body.contains(text), "{text}");
    }
    assert!(!page.body.contains("<script"));
    let policy = page.header("content-security-policy");
    for rule in [
        "default-src 'none'",
        "frame-ancestors 'none'",
        "form-action 'self' http://127.0.0.1",
    ] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("script-src"));
    assert_eq!(page.header("x-frame-options"), "DENY");
    assert_eq!(page.header("cache-control"), "no-store");
    assert_eq!(page.header("referrer-policy"), "no-referrer");
}

#[tokio::test]
async fn consent_leads_to_a_token_of_the_chosen_user_once() {
    let script = Script::start(builder().auto_approve(false).user("bob")).await;
    let page = script.authorize(&[]).await;
    let answer = decide(&script, &page, &[("user", "bob")]).await;
    assert_eq!(answer.status, 303);
    let parameters = answer.redirect();
    assert_eq!(parameters["iss"], script.server.issuer());
    let token = script
        .exchange(&parameters["code"], &[])
        .await
        .text("access_token");
    assert_eq!(claims(&token)["sub"], "bob");
    decide(&script, &page, &[])
        .await
        .assert_page(403, "sent already");
}

#[tokio::test]
async fn denial_and_unknown_users_are_access_denied() {
    let script = Script::start(builder().auto_approve(false)).await;
    for change in [("decision", "deny"), ("decision", ""), ("user", "mallory")] {
        let page = script.authorize(&[]).await;
        let parameters = decide(&script, &page, &[change]).await.redirect();
        assert_eq!(parameters["error"], "access_denied");
        assert_eq!(parameters["state"], "st&te=1");
        assert_eq!(parameters["iss"], script.server.issuer());
    }
}

#[tokio::test]
async fn a_form_with_an_id_that_no_page_has_is_refused() {
    let script = Script::start(builder().auto_approve(false)).await;
    let page = script.authorize(&[]).await;
    let other = field(&script.authorize(&[]).await.body, "request");
    assert_ne!(other, field(&page.body, "request"));
    for id in ["", "x"] {
        let answer = decide(&script, &page, &[("request", id)]).await;
        answer.assert_page(403, "start again in the client");
    }
    script
        .server
        .set_faults(|it| it.clock_advance_seconds = 600);
    let late = decide(&script, &page, &[]).await;
    late.assert_page(403, "too old");
}

#[tokio::test]
async fn prompt_none_needs_interaction() {
    let script = Script::start(builder().auto_approve(false)).await;
    let parameters = script.authorize(&[("prompt", "none")]).await.redirect();
    assert_eq!(parameters["error"], "interaction_required");
}

#[tokio::test]
async fn names_of_clients_are_escaped() {
    let script = Script::start(builder().auto_approve(false)).await;
    let body = serde_json::json!({
        "client_name": "<img src=x onerror=alert(1)>\"'",
        "redirect_uris": ["https://app.example/callback"],
        "token_endpoint_auth_method": "none",
    });
    let answer = super::clients::register(&script, &body).await;
    let id = answer.json()["client_id"].as_str().unwrap().to_owned();
    let changes = [
        ("client_id", id.as_str()),
        ("redirect_uri", "https://app.example/callback"),
    ];
    let page = script.authorize(&changes).await;
    page.assert_page(200, "&lt;img src=x onerror=alert(1)&gt;&quot;&#39;");
    assert!(!page.body.contains("<img"));
    assert!(page.body.contains("app.example"));
    assert!(!page.body.contains("this computer"));
    let policy = page.header("content-security-policy");
    assert!(
        policy.contains("form-action 'self' https://app.example"),
        "{policy}"
    );
}

//! Good and bad answers of a token endpoint.

use serde_json::json;

use super::*;

#[tokio::test]
async fn lifetimes_are_read_leniently() {
    let ten_years = 315_360_000;
    for (sent, read) in [
        (json!(3600), Some(3600)),
        (json!("3600"), Some(3600)),
        (json!(" 60 "), Some(60)),
        (json!(59.9), Some(59)),
        (json!(0), None),
        (json!(-1), None),
        (json!("-5"), None),
        (json!("soon"), None),
        (json!("NaN"), None),
        (json!("inf"), None),
        (json!(null), None),
        (json!([1]), None),
        (json!(u64::MAX), Some(ten_years)),
        (json!(1e300), Some(ten_years)),
        (json!("99999999999999999999999999"), Some(ten_years)),
    ] {
        let body = json!({ "access_token": "a", "token_type": "Bearer", "expires_in": sent });
        assert_eq!(
            answer(Reply::json(body)).await.unwrap().expires_in,
            read,
            "{sent}"
        );
    }
}

#[tokio::test]
async fn all_fields_of_an_answer_are_read() {
    let body = json!({
        "access_token": "a", "token_type": "BEARER", "refresh_token": "r", "scope": "x y",
        "id_token": "i", "issued_token_type": "t", "unknown": {},
    });
    let response = answer(Reply::json(body)).await.unwrap();
    assert_eq!(response.token_type, "Bearer");
    assert_eq!(response.refresh_token.as_ref().unwrap().expose(), "r");
    assert_eq!(response.scope.as_deref(), Some("x y"));
    assert_eq!(response.issued_token_type.as_deref(), Some("t"));
    let shown = format!("{response:?}");
    assert!(
        !shown.contains("\"a\"") && !shown.contains("\"r\""),
        "{shown}"
    );
}

#[tokio::test]
async fn answers_with_another_form_are_read() {
    let plain = Reply::status(200).header("content-type", "text/plain");
    let json = plain
        .clone()
        .with_body(r#"{"access_token":"a","token_type":"bearer"}"#);
    assert_eq!(answer(json).await.unwrap().access_token.expose(), "a");
    let form = plain
        .clone()
        .with_body("access_token=a%2Bb&token_type=bearer&expires_in=7");
    let response = answer(form).await.unwrap();
    assert_eq!(
        (response.access_token.expose(), response.expires_in),
        ("a+b", Some(7))
    );
    let form = plain.with_body("error=bad_code&error_description=The+code+ended\n");
    let refusal = refusal(answer(form).await);
    assert_eq!(
        refusal,
        (
            200,
            "bad_code".to_owned(),
            Some("The code ended".to_owned())
        )
    );
    let no_type = Reply::json(json!({ "access_token": "a" }));
    assert_eq!(answer(no_type).await.unwrap().token_type, "Bearer");
}

#[tokio::test]
async fn token_errors_are_read_with_any_status_and_content_type() {
    let body = r#"{"error":"invalid_grant","error_description":"the code\nhas ended"}"#;
    for status in [200, 400, 401, 403, 500] {
        let reply = Reply::status(status)
            .header("content-type", "text/html")
            .with_body(body);
        let expected = (
            status,
            "invalid_grant".to_owned(),
            Some("the code has ended".to_owned()),
        );
        assert_eq!(refusal(answer(reply).await), expected);
    }
    let nested = json!({ "error": { "code": "bad", "message": "very bad" } });
    let nested = refusal(answer(Reply::status(400).with_json(nested)).await);
    assert_eq!(nested, (400, "bad".to_owned(), Some("very bad".to_owned())));
    let empty = refusal(answer(Reply::status(400).with_json(json!({ "error": "" }))).await);
    assert_eq!(empty, (400, "unknown_error".to_owned(), None));
    let harmless = json!({ "error": "", "access_token": "a", "token_type": "Bearer" });
    assert!(answer(Reply::json(harmless)).await.is_ok());
}

// requirement: ff46d9735c02
#[tokio::test]
async fn errors_never_hold_secrets_of_the_request() {
    let echo = |request: &RecordedRequest| {
        let sent = String::from_utf8(request.body.clone()).unwrap();
        let body = json!({
            "error": "invalid_grant the-secret-code",
            "error_description": format!("no: {sent} sh-hidden {}", "long ".repeat(200)),
        });
        Reply::status(400).with_json(body)
    };
    for method in ["client_secret_basic", "client_secret_post"] {
        let fixture = Fixture::new(echo).await.secret("sh-hidden", Some(method));
        let error = fixture.request().await.unwrap_err();
        let shown = format!("{error} {error:?}");
        for secret in ["the-secret-code", "the-secret-verifier", "sh-hidden"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(error.to_string().chars().count() < 500);
    }
    let described = describe_form(&FORM);
    assert!(
        described.contains("grant_type=authorization_code code=…"),
        "{described}"
    );
    assert!(!described.contains("the-secret"));
}

#[tokio::test]
async fn pages_of_html_are_cut() {
    let page = format!(
        "<html><body class=\"x\"><h1>Bad\tGateway</h1>{}",
        "blah ".repeat(500)
    );
    let reply = Reply::status(502)
        .header("content-type", "text/html")
        .with_body(page);
    let error = answer(reply).await.unwrap_err();
    let TokenError::Unexpected { status: 502, body } = &error else {
        panic!("{error:?}")
    };
    assert!(
        body.starts_with("Bad Gateway blah") && body.chars().count() <= 121,
        "{body}"
    );
    assert!(error.is_transient());
    let reply = Reply::status(200)
        .header("content-type", "text/html")
        .with_body("<html>Hello");
    let error = answer(reply).await.unwrap_err();
    assert!(
        error.to_string().contains("answered with text/html"),
        "{error}"
    );
    let error = answer(Reply::status(404)).await.unwrap_err();
    assert!(matches!(&error, TokenError::Unexpected { status: 404, .. }) && !error.is_transient());
    let redirect = answer(Reply::redirect("https://evil.example.com/"))
        .await
        .unwrap_err();
    assert!(matches!(
        redirect,
        TokenError::Unexpected { status: 302, .. }
    ));
}

// requirement: be5d9699fcd0
#[tokio::test]
async fn answers_without_a_usable_token_are_refused() {
    for body in [
        json!({}),
        json!([]),
        json!({ "access_token": "", "token_type": "Bearer" }),
        json!({ "access_token": 7, "token_type": "Bearer" }),
        json!({ "access_token": "a\r\nx: y", "token_type": "Bearer" }),
        json!({ "access_token": "a b", "token_type": "Bearer" }),
        json!({ "access_token": "a", "token_type": "mac" }),
        json!({ "access_token": "a", "token_type": "N_A" }),
        json!({ "access_token": "a", "token_type": "DPoP" }),
    ] {
        let error = answer(Reply::json(body.clone())).await.unwrap_err();
        assert!(matches!(error, TokenError::Invalid(_)), "{body}");
    }
}

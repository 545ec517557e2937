//! Audiences that count beside the URI of the resource.

use serde_json::json;

use super::support::{Fixture, RESOURCE, TestIssuer};
use crate::server::ResourceServer;

#[tokio::test]
async fn an_audience_of_one_issuer_does_not_count_for_another() {
    let (first, second) = (TestIssuer::start().await, TestIssuer::start().await);
    let fixture = Fixture::new(|it| {
        it.issuer(first.issuer())
            .issuer(second.issuer())
            .issuer_audience(first.issuer(), "api://shop")
            .audience("everywhere")
    });
    fixture
        .assert_admitted(&first.token_with("aud", json!("api://shop")))
        .await;
    fixture
        .assert_refused(&second.token_with("aud", json!("api://shop")))
        .await;
    fixture
        .assert_refused(&first.token_with("aud", json!("api://shop/")))
        .await;
    for issuer in [&first, &second] {
        for audience in [RESOURCE, "everywhere"] {
            let token = issuer.token_with("aud", json!(["x", audience]));
            fixture.assert_admitted(&token).await;
        }
    }
}

#[test]
fn an_audience_of_an_issuer_that_is_not_trusted_is_a_wrong_setting() {
    let error = ResourceServer::builder(RESOURCE)
        .issuer("https://login.example.com")
        .issuer_audience("https://login.example.com/", "api://shop")
        .build()
        .unwrap_err();
    assert!(error.to_string().contains("issuer_audience"), "{error}");
}

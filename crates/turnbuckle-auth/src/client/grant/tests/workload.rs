//! Workloads that present an assertion of their platform.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

#[tokio::test]
async fn a_workload_presents_an_assertion_for_the_server() {
    let fixture = Fixture::new(|_| token()).await;
    let workload = WorkloadIdentity::from_fn(|request: AssertionRequest| async move {
        assert_eq!(request.resource.as_deref(), Some(RESOURCE));
        assert_eq!(request.token_endpoint, format!("{}/token", request.issuer));
        Ok(Secret::new("\n the-assertion \n"))
    });
    fixture
        .request(&Grant::WorkloadIdentity(workload))
        .await
        .unwrap();
    let [request] = fixture.requests();
    assert_eq!(request.form("grant_type").as_deref(), Some(JWT_BEARER));
    assert_eq!(request.form("assertion").as_deref(), Some("the-assertion"));
    assert_eq!(request.form("scope").as_deref(), Some("read write"));
    assert_eq!(request.form("resource").as_deref(), Some(RESOURCE));
    assert_eq!(request.form("client_id"), None);
    assert_eq!(request.header("authorization"), None);
    assert!(
        !fixture
            .recorder
            .transcript()
            .to_string()
            .contains("the-assertion")
    );
}

#[tokio::test]
async fn a_workload_may_also_have_a_client() {
    let fixture = Fixture::new(|_| token()).await;
    let workload = WorkloadIdentity::from_fn(|_| async { Ok("the-assertion".into()) });
    let public = workload
        .clone()
        .client(ClientCredentials::public("the-client"));
    fixture
        .request(&Grant::WorkloadIdentity(public))
        .await
        .unwrap();
    fixture
        .request(&Grant::WorkloadIdentity(workload.client(client())))
        .await
        .unwrap();
    let [public, secret] = fixture.requests();
    assert_eq!(public.form("client_id").as_deref(), Some("the-client"));
    assert!(secret.header("authorization").is_some());
}

#[tokio::test]
async fn a_refused_workload_is_not_tried_again_in_any_way() {
    for code in [
        "invalid_grant",
        "invalid_scope",
        "unauthorized_client",
        "use_dpop_nonce",
    ] {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let workload = WorkloadIdentity::from_fn(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Ok("the-assertion".into()) }
        });
        let fixture = Fixture::new(move |_| refuse(code)).await;
        let error = fixture
            .request(&Grant::WorkloadIdentity(workload))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), AuthErrorKind::Token);
        assert_eq!(
            (fixture.http.requests().len(), calls.load(Ordering::SeqCst)),
            (1, 1)
        );
    }
}

#[tokio::test]
async fn the_file_of_a_workload_is_read_each_time() {
    let fixture = Fixture::new(|_| token()).await;
    let name = format!("turnbuckle-assertion-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let grant = Grant::WorkloadIdentity(WorkloadIdentity::from_file(&path));
    let error = fixture.request(&grant).await.unwrap_err();
    assert!(
        error.to_string().contains("turnbuckle-assertion"),
        "{error}"
    );
    for text in ["first\n", "second\n"] {
        std::fs::write(&path, text).unwrap();
        fixture.request(&grant).await.unwrap();
    }
    for (text, reason) in [(" \n".to_owned(), "empty"), ("a".repeat(200_000), "longer")] {
        std::fs::write(&path, text).unwrap();
        let error = fixture.request(&grant).await.unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
    std::fs::remove_file(&path).unwrap();
    let [first, second] = fixture.requests();
    assert_eq!(first.form("assertion").as_deref(), Some("first"));
    assert_eq!(second.form("assertion").as_deref(), Some("second"));
}

#[tokio::test(start_paused = true)]
async fn a_source_that_fails_or_hangs_ends_the_login() {
    let fixture = Fixture::new(|_| token()).await;
    let failing = WorkloadIdentity::from_fn(|_| async { Err("no metadata service".into()) });
    let error = fixture
        .request(&Grant::WorkloadIdentity(failing))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("no metadata service"), "{error}");
    let hanging = WorkloadIdentity::from_fn(|_| std::future::pending());
    let error = fixture
        .request(&Grant::WorkloadIdentity(hanging))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("five minutes"), "{error}");
    assert!(fixture.http.requests().is_empty());
}

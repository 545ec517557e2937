//! Bounds of a discovery as a whole.

use super::*;

#[tokio::test(start_paused = true)]
async fn authorization_servers_that_never_answer_are_not_all_waited_for() {
    let server = Url::parse("https://mcp.example.com/mcp").unwrap();
    let settings = OutboundSettings {
        use_env_proxy: false,
        lookup: Some(std::sync::Arc::new(|_| Box::pin(std::future::pending()))),
        ..OutboundSettings::default()
    };
    let outbound = Outbound::new(&server, settings).unwrap();
    let resource = ProtectedResourceMetadata {
        authorization_servers: (0..100)
            .map(|n| format!("https://as{n}.example.com/a"))
            .collect(),
        ..ProtectedResourceMetadata::default()
    };
    let start = Instant::now();
    let error = find_listed(&outbound, &resource, None, &Recorder::new()).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::Network);
    assert!(error.to_string().contains("within 30 s"), "{error}");
    assert!(
        start.elapsed() <= Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
}

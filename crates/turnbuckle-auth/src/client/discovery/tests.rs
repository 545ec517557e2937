mod bounds;

use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::outbound::OutboundSettings;
use crate::test_http::{RecordedRequest, Reply, ScriptedServer};

const PRM: &str = "/.well-known/oauth-protected-resource";
const AS: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

fn outbound(server: &Url) -> Outbound {
    let settings = OutboundSettings {
        timeout: Duration::from_secs(2),
        use_env_proxy: false,
        ..OutboundSettings::default()
    };
    Outbound::new(server, settings).unwrap()
}

/// Runs a discovery for the MCP server at `url`. Returns its recorder too.
async fn run(
    url: &str,
    announced: Option<&str>,
    preferred_issuer: Option<&str>,
) -> (Result<Discovery, AuthError>, Recorder) {
    let server = Url::parse(url).unwrap();
    let challenge = announced.map(|url| Challenge::new("Bearer").with("resource_metadata", url));
    let recorder = Recorder::new();
    let outbound = outbound(&server);
    let discovery = discover(
        &outbound,
        &server,
        url,
        challenge.as_ref(),
        preferred_issuer,
        &recorder,
    )
    .await;
    let discovery = discovery.map_err(|error| error.with_steps(&recorder));
    (discovery, recorder)
}

fn resource(origin: &str, issuer: &str) -> Reply {
    Reply::json(json!({
        "resource": format!("{origin}/mcp"),
        "authorization_servers": [issuer],
        "scopes_supported": ["a", "b"],
    }))
}

fn server_document(issuer: &str) -> Value {
    json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "code_challenge_methods_supported": ["S256"],
    })
}

fn server(issuer: &str) -> Reply {
    Reply::json(server_document(issuer))
}

/// Answers as an MCP server at `/mcp` that is its own authorization server.
fn complete(request: &RecordedRequest) -> Reply {
    let origin = request.origin();
    match request.path.as_str() {
        "/.well-known/oauth-protected-resource/mcp" => resource(&origin, &origin),
        AS => server(&origin),
        _ => Reply::status(404),
    }
}

// requirement: 329fd9342b90 4d66f7be6f6a 54fc8909e860 729f4016ec41 c35fdc39cdf5 d35bce523461
#[tokio::test]
async fn discovery_asks_the_path_and_stops_at_the_first_document() {
    let mcp = ScriptedServer::start(complete).await;
    let (discovery, recorder) = run(&mcp.url("/mcp"), None, None).await;
    let discovery = discovery.unwrap();
    assert_eq!(discovery.resource.unwrap(), mcp.url("/mcp"));
    assert_eq!(discovery.resource_scopes.unwrap(), ["a", "b"]);
    assert_eq!(discovery.issuer, mcp.origin());
    assert!(!discovery.is_legacy);
    assert_eq!(mcp.paths(), [&format!("{PRM}/mcp"), AS]);
    assert!(
        recorder
            .transcript()
            .steps
            .iter()
            .all(|step| step.succeeded)
    );
}

// requirement: 1c67e8f30abd
#[tokio::test]
async fn the_resource_is_kept_byte_for_byte() {
    let mcp = ScriptedServer::start(|request| {
        let origin = request.origin();
        match request.path.as_str() {
            // `Url` would add a slash.
            PRM => Reply::json(json!({"resource": origin, "authorization_servers": [origin]})),
            AS => server(&origin),
            _ => Reply::status(404),
        }
    })
    .await;
    let (discovery, _) = run(&mcp.url("/mcp"), None, None).await;
    assert_eq!(discovery.unwrap().resource.unwrap(), mcp.origin());
    assert_eq!(mcp.paths(), [&format!("{PRM}/mcp"), PRM, AS]);
}

#[tokio::test]
async fn announced_metadata_on_another_origin_is_allowed_and_still_checked() {
    let mcp = ScriptedServer::start(|_| Reply::status(404)).await;
    let mcp_origin = mcp.origin();
    let other =
        ScriptedServer::start_at("127.0.0.2:0", move |request| match request.path.as_str() {
            "/good" => resource(&mcp_origin, &request.origin()),
            "/bad" => resource("http://127.0.0.1:1", &request.origin()),
            AS => server(&request.origin()),
            _ => Reply::status(404),
        })
        .await;
    let (discovery, _) = run(&mcp.url("/mcp"), Some(&other.url("/good")), None).await;
    assert_eq!(discovery.unwrap().issuer, other.origin());
    let (discovery, _) = run(&mcp.url("/mcp"), Some(&other.url("/bad")), None).await;
    let error = discovery.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::Discovery);
    assert!(error.to_string().contains("resource"), "{error}");
    // The authorization server was asked once: for the good document.
    assert_eq!(other.paths(), ["/good", AS, "/bad"]);
    assert_eq!(mcp.requests().len(), 0);
}

// requirement: 4d66f7be6f6a 599b20164796
#[tokio::test]
async fn resource_mismatch_is_refused() {
    let mcp = ScriptedServer::start(|request| match request.path.as_str() {
        path if path.starts_with(PRM) => resource("https://evil.example.com", &request.origin()),
        AS => server(&request.origin()),
        _ => Reply::status(404),
    })
    .await;
    let (discovery, recorder) = run(&mcp.url("/mcp"), None, None).await;
    let error = discovery.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::Discovery);
    assert!(
        error.to_string().contains("https://evil.example.com/mcp"),
        "{error}"
    );
    // Neither the authorization server nor the fallback of 2025-03-26 was tried.
    assert_eq!(mcp.paths(), [&format!("{PRM}/mcp"), PRM]);
    assert!(
        recorder
            .transcript()
            .steps
            .iter()
            .all(|step| step.advice.is_some())
    );
}

// requirement: 0e707a3c1973 397e8ba9452e 7a2391561cdd
#[tokio::test]
async fn one_bad_document_does_not_end_discovery() {
    let mcp = ScriptedServer::start(|request| {
        let origin = request.origin();
        match request.path.as_str() {
            "/announced" => Reply::status(500),
            "/.well-known/oauth-protected-resource/mcp" => {
                Reply::json(json!({"authorization_servers": [origin]}))
            }
            PRM => Reply::json(json!({
                "resource": origin,
                "authorization_servers": ["not a URL", format!("{origin}/gone"), origin],
                "bearer_methods_supported": null,
                "scopes_supported": "a",
            })),
            AS => Reply::status(200).with_body("<html>"),
            OPENID => server(&origin),
            _ => Reply::status(404),
        }
    })
    .await;
    let (discovery, recorder) = run(&mcp.url("/mcp"), Some(&mcp.url("/announced")), None).await;
    let discovery = discovery.unwrap();
    assert_eq!(discovery.issuer, mcp.origin());
    assert_eq!(discovery.resource_scopes, None);
    let steps = recorder.transcript().steps;
    let failed: Vec<&str> = steps
        .iter()
        .filter(|step| !step.succeeded)
        .map(|step| step.request.as_str())
        .collect();
    assert_eq!(
        failed,
        [
            &format!("GET {} (announced by the challenge)", mcp.url("/announced")),
            &format!("GET {}/mcp", mcp.url(PRM)),
            "use the issuer not a URL",
        ]
    );
}

#[tokio::test]
async fn failed_discovery_says_which_step_failed_and_how_each_candidate_answered() {
    let mcp = ScriptedServer::start(|request| match request.path.as_str() {
        PRM => resource(&request.origin(), &format!("{}/t1", request.origin())),
        "/.well-known/oauth-authorization-server/t1" => Reply::status(403),
        "/.well-known/openid-configuration/t1" => server("https://other.example.com"),
        _ => Reply::status(404),
    })
    .await;
    let (discovery, _) = run(&mcp.url("/mcp"), None, None).await;
    let error = discovery.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::Discovery);
    let steps = &error.transcript().steps;
    let answers: Vec<(StepKind, bool, &str)> = steps
        .iter()
        .map(|step| (step.step, step.succeeded, step.response.as_str()))
        .collect();
    let server_step = StepKind::AuthorizationServerMetadata;
    assert_eq!(answers[0], (StepKind::ResourceMetadata, true, "404"));
    assert!(answers[1].2.starts_with("200, "), "{answers:?}");
    assert_eq!(answers[2], (server_step, true, "403"));
    assert!(
        answers[3]
            .2
            .contains("its issuer is https://other.example.com/"),
        "{answers:?}"
    );
    assert_eq!(answers[4], (server_step, true, "404"));
    let text = error.to_string();
    assert!(
        text.starts_with("no usable metadata of the authorization server ("),
        "{text}"
    );
    assert!(
        text.contains("oauth-authorization-server/t1: 403"),
        "{text}"
    );
}

// requirement: 8575aa56683b 87796f91f40f c35fdc39cdf5 db820ec4902b fadf8689de39
#[tokio::test]
async fn issuer_mismatch_is_refused() {
    let mcp = ScriptedServer::start(|request| match request.path.as_str() {
        AS | OPENID => server("https://attacker.example.com"),
        _ => complete(request),
    })
    .await;
    let (discovery, _) = run(&mcp.url("/mcp"), None, None).await;
    let error = discovery.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::Discovery);
    assert!(
        error.to_string().contains("https://attacker.example.com/"),
        "{error}"
    );
}

// requirement: 8575aa56683b 87796f91f40f
#[tokio::test]
async fn issuer_path_confusion_is_refused() {
    for (listed, named) in [
        ("/tenant1", "/tenant1/"),
        ("/tenant1/", "/tenant1"),
        ("/tenant1", "/tenant2"),
        ("/tenant1", ""),
        ("", "/"),
        ("/", ""),
        ("/Tenant1", "/tenant1"),
        ("/tenant1", "/%74enant1"),
        ("/tenant1/../tenant2", "/tenant2"),
    ] {
        let mcp = ScriptedServer::start(move |request| {
            let origin = request.origin();
            match request.path.as_str() {
                PRM => resource(&origin, &format!("{origin}{listed}")),
                path if path.contains(AS) || path.contains(OPENID) => {
                    let mut document = server_document(&origin);
                    document["issuer"] = json!(format!("{origin}{named}"));
                    Reply::json(document)
                }
                _ => Reply::status(404),
            }
        })
        .await;
        let (discovery, _) = run(&mcp.url("/mcp"), None, None).await;
        let error = discovery.unwrap_err();
        assert_eq!(error.kind(), AuthErrorKind::Discovery, "{listed} {named}");
    }
}

// requirement: 8575aa56683b
#[tokio::test]
async fn an_issuer_with_a_trailing_slash_is_kept_byte_for_byte() {
    let mcp = ScriptedServer::start(|request| {
        let origin = request.origin();
        match request.path.as_str() {
            PRM => resource(&origin, &format!("{origin}/t1/")),
            "/t1/.well-known/openid-configuration" => server(&format!("{origin}/t1/")),
            _ => Reply::status(404),
        }
    })
    .await;
    let (discovery, _) = run(&mcp.url("/mcp"), None, None).await;
    assert_eq!(discovery.unwrap().issuer, mcp.url("/t1/"));
    let candidates = [
        "/.well-known/oauth-authorization-server/t1",
        "/.well-known/openid-configuration/t1",
        "/t1/.well-known/openid-configuration",
    ];
    assert_eq!(mcp.paths()[2..], candidates);
}

// requirement: b2719fd95e8f b4ed9af096d1 e1068c440d34 fc27530183f4
#[tokio::test]
async fn ssrf_by_metadata_is_refused() {
    for (announced, listed, endpoint) in [
        ("http://169.254.169.254/latest", "", ""),
        ("/prm", "http://169.254.169.254", ""),
        ("/prm", "https://10.0.0.1@169.254.169.254", ""),
        ("/prm", "file:///etc", ""),
        ("/prm", "", "http://10.0.0.1/token"),
        ("/prm", "", "javascript:alert(1)"),
    ] {
        let mcp = ScriptedServer::start(move |request| {
            let origin = request.origin();
            match request.path.as_str() {
                "/prm" => resource(&origin, if listed.is_empty() { &origin } else { listed }),
                AS => {
                    let mut document = server_document(&origin);
                    if !endpoint.is_empty() {
                        document["token_endpoint"] = json!(endpoint);
                    }
                    Reply::json(document)
                }
                _ => Reply::status(404),
            }
        })
        .await;
        let announced = match announced.strip_prefix('/') {
            Some(_) => mcp.url(announced),
            None => announced.to_owned(),
        };
        let (discovery, _) = run(&mcp.url("/mcp"), Some(&announced), None).await;
        let error = discovery.unwrap_err();
        assert_eq!(
            error.kind(),
            AuthErrorKind::UrlRefused,
            "{announced} {listed}: {error}"
        );
    }
}

#[tokio::test]
async fn huge_and_slow_documents_do_not_stop_the_next_candidate() {
    let mcp = ScriptedServer::start(|request| match request.path.as_str() {
        "/huge" => Reply::status(200).with_body(vec![b' '; 1 << 20]),
        "/slow" => Reply::status(200).delay(Duration::from_secs(60)),
        _ => complete(request),
    })
    .await;
    for path in ["/huge", "/slow"] {
        let (discovery, recorder) = run(&mcp.url("/mcp"), Some(&mcp.url(path)), None).await;
        assert_eq!(discovery.unwrap().issuer, mcp.origin());
        assert!(!recorder.transcript().steps[0].succeeded);
    }
}

#[tokio::test]
async fn a_preferred_issuer_is_tried_first_and_kept_while_it_is_down() {
    let first = ScriptedServer::start(|request| match request.path.as_str() {
        AS => server(&request.origin()),
        _ => Reply::status(404),
    })
    .await;
    let second = ScriptedServer::start(|request| match request.path.as_str() {
        AS => server(&request.origin()),
        _ => Reply::status(404),
    })
    .await;
    let down = ScriptedServer::start(|_| Reply::status(503)).await;
    let listed = json!([first.origin(), second.origin(), down.origin()]);
    let mcp = ScriptedServer::start(move |request| match request.path.as_str() {
        PRM => Reply::json(json!({"resource": request.origin(), "authorization_servers": listed})),
        _ => Reply::status(404),
    })
    .await;
    let (discovery, _) = run(&mcp.origin(), None, Some(&second.origin())).await;
    assert_eq!(discovery.unwrap().issuer, second.origin());
    assert_eq!(first.requests().len(), 0);
    let (discovery, _) = run(&mcp.origin(), None, Some(&down.origin())).await;
    assert_eq!(discovery.unwrap_err().kind(), AuthErrorKind::Network);
    assert_eq!(first.requests().len(), 0);
    // An issuer that the resource does not list is never used.
    let (discovery, _) = run(&mcp.origin(), None, Some("https://old.example.com")).await;
    assert_eq!(discovery.unwrap().issuer, first.origin());
}

// requirement: 329fd9342b90 9bfa24152171 9ea76bd8262e b9b3423a0f56 c35fdc39cdf5 eb76f37fea4e
#[tokio::test]
async fn a_server_of_2025_03_26_has_its_metadata_at_the_root() {
    let mcp = ScriptedServer::start(|request| match request.path.as_str() {
        AS => server(&request.origin()),
        _ => Reply::status(404),
    })
    .await;
    let (discovery, _) = run(&mcp.url("/v1/mcp"), None, None).await;
    let discovery = discovery.unwrap();
    assert!(discovery.is_legacy);
    assert_eq!(discovery.resource, None);
    assert_eq!(discovery.issuer, mcp.origin());
    let version = mcp
        .requests()
        .last()
        .unwrap()
        .header("mcp-protocol-version")
        .map(str::to_owned);
    assert!(version.is_some());
}

// requirement: 6b9926ad36ef 9ea76bd8262e
#[tokio::test]
async fn a_server_of_2025_03_26_without_metadata_has_default_endpoints() {
    for status in [404, 401, 405] {
        let mcp = ScriptedServer::start(move |_| Reply::status(status)).await;
        let (discovery, _) = run(&mcp.url("/v1/mcp"), None, None).await;
        let discovery = discovery.unwrap();
        assert!(discovery.is_legacy);
        assert_eq!(
            discovery.server.authorization_endpoint,
            Some(mcp.url("/authorize"))
        );
        assert_eq!(discovery.server.token_endpoint, Some(mcp.url("/token")));
        assert_eq!(
            discovery.server.registration_endpoint,
            Some(mcp.url("/register"))
        );
        let methods = discovery.server.code_challenge_methods_supported.unwrap();
        assert_eq!(methods, ["S256"]);
    }
}

#[tokio::test]
async fn a_failing_or_announcing_server_is_not_taken_for_one_of_2025_03_26() {
    let failing = ScriptedServer::start(|request| match request.path.as_str() {
        AS => server(&request.origin()),
        _ => Reply::status(503),
    })
    .await;
    let (discovery, _) = run(&failing.url("/mcp"), None, None).await;
    assert_eq!(discovery.unwrap_err().kind(), AuthErrorKind::Network);
    let announcing = ScriptedServer::start(|_| Reply::status(404)).await;
    let announced = announcing.url("/gone");
    let (discovery, _) = run(&announcing.url("/mcp"), Some(&announced), None).await;
    let error = discovery.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::Discovery);
    assert!(error.to_string().contains("/gone: 404"), "{error}");
    let lying = ScriptedServer::start(|request| match request.path.as_str() {
        AS => server("https://attacker.example.com"),
        _ => Reply::status(404),
    })
    .await;
    let (discovery, _) = run(&lying.url("/mcp"), None, None).await;
    assert_eq!(discovery.unwrap_err().kind(), AuthErrorKind::Discovery);
}

#[tokio::test]
async fn a_resource_without_issuers_falls_back_to_its_own_origin() {
    let mcp = ScriptedServer::start(|request| match request.path.as_str() {
        PRM => Reply::json(json!({"resource": request.origin()})),
        AS => server(&request.origin()),
        _ => Reply::status(404),
    })
    .await;
    let (discovery, recorder) = run(&mcp.url("/mcp"), None, None).await;
    let discovery = discovery.unwrap();
    assert_eq!(discovery.resource, Some(mcp.origin()));
    assert!(!discovery.is_legacy);
    assert!(
        recorder
            .transcript()
            .to_string()
            .contains("without authorization_servers")
    );
}

#[tokio::test]
async fn secrets_in_the_servers_url_are_not_shown() {
    let mcp = ScriptedServer::start(|_| Reply::status(503)).await;
    let (discovery, _) = run(&mcp.url("/mcp?key=hidden"), None, None).await;
    let error = discovery.unwrap_err();
    assert_eq!(mcp.requests()[0].query.as_deref(), Some("key=hidden"));
    assert!(!format!("{error} {error:?} {}", error.transcript()).contains("hidden"));
}

mod endless;
mod rebinding;

use std::io;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Instant;

use url::Host;

use super::policy::normalize;
use super::*;
use crate::test_http::{Reply, ScriptedServer};

/// Returns a lookup with fixed answers. Other names do not exist.
fn fixed_lookup(answers: &'static [(&'static str, &'static [&'static str])]) -> Lookup {
    Arc::new(move |name| {
        Box::pin(async move {
            let answer = answers.iter().find(|(known, _)| *known == name);
            let (_, addresses) = answer.ok_or_else(|| io::Error::other("no such name"))?;
            Ok(addresses
                .iter()
                .map(|address| address.parse().unwrap())
                .collect())
        })
    })
}

fn outbound(server: &str, lookup: Option<Lookup>) -> Outbound {
    outbound_with_timeout(server, lookup, Duration::from_secs(2))
}

fn outbound_with_timeout(server: &str, lookup: Option<Lookup>, timeout: Duration) -> Outbound {
    let settings = OutboundSettings {
        timeout,
        use_env_proxy: false,
        lookup,
        ..OutboundSettings::default()
    };
    Outbound::new(&Url::parse(server).unwrap(), settings).unwrap()
}

async fn refusal(outbound: &Outbound, url: &str) -> String {
    match outbound.get(url).await {
        Err(OutboundError::Refused { reason, .. }) => reason,
        other => panic!("{url}: {other:?}"),
    }
}

const PUBLIC: &[(&str, &[&str])] = &[
    ("mcp.example.com", &["93.184.216.34"]),
    ("loopback.example.com", &["127.0.0.1"]),
    (
        "private.example.com",
        &["10.0.0.1", "192.168.7.7", "fd00::1"],
    ),
    ("metadata.example.com", &["169.254.169.254"]),
    (
        "mapped.example.com",
        &["::ffff:127.0.0.1", "::ffff:a9fe:a9fe"],
    ),
    ("nat64.example.com", &["64:ff9b::7f00:1"]),
    ("linklocal.example.com", &["fe80::1"]),
];

// requirement: 141cb5be32f0 31211e65db5c 428746a79db9 a6409c59a473 fc27530183f4
#[tokio::test]
async fn ssrf_by_literal_address_is_refused() {
    let outbound = outbound("https://mcp.example.com/mcp", Some(fixed_lookup(PUBLIC)));
    for url in [
        "https://127.0.0.1/",
        "https://127.1/",
        "https://0x7f.0.0.1/",
        "https://2130706433/",
        "https://017700000001/",
        "https://0.0.0.0/",
        "https://10.0.0.1/",
        "https://192.168.0.1:8443/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "https://[::]/",
        "https://[fe80::1]/",
        "https://[fd00::1]/",
        "https://[fd00:ec2::254]/",
        "https://localhost/",
        "https://LOCALHOST./",
        "https://a.localhost/",
        "https://localhost:6379/",
    ] {
        let reason = refusal(&outbound, url).await;
        assert!(reason.starts_with("the address "), "{url}: {reason}");
    }
}

#[tokio::test]
async fn ssrf_by_ipv4_mapped_ipv6_is_refused() {
    let outbound = outbound("https://mcp.example.com/mcp", Some(fixed_lookup(PUBLIC)));
    for url in [
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:169.254.169.254]/",
        "https://[::ffff:a00:1]/",
        "https://[::127.0.0.1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[2002:7f00:1::]/",
        "https://mapped.example.com/",
        "https://nat64.example.com/",
    ] {
        let reason = refusal(&outbound, url).await;
        assert!(reason.starts_with("the address "), "{url}: {reason}");
    }
}

// requirement: 141cb5be32f0 31211e65db5c 428746a79db9 a6409c59a473 fc27530183f4
#[tokio::test]
async fn ssrf_by_dns_answer_is_refused() {
    let outbound = outbound("https://mcp.example.com/mcp", Some(fixed_lookup(PUBLIC)));
    for name in ["loopback", "private", "metadata", "linklocal"] {
        let reason = refusal(&outbound, &format!("https://{name}.example.com/")).await;
        assert!(reason.starts_with("the address "), "{name}: {reason}");
    }
    // For a POST too: a token endpoint has secrets in its requests.
    let posted = outbound
        .post_form("https://private.example.com/", &[], HeaderMap::new())
        .await;
    assert!(
        matches!(posted, Err(OutboundError::Refused { .. })),
        "{posted:?}"
    );
}

#[tokio::test]
async fn a_dns_answer_that_changes_after_the_check_is_refused() {
    // The MCP server's own name points to a public address first, and then to this machine.
    let answers = Mutex::new(vec!["127.0.0.1", "93.184.216.34"]);
    let lookup: Lookup = Arc::new(move |_| {
        let answer = answers.lock().unwrap().pop();
        Box::pin(async move {
            let address: IpAddr = answer.unwrap_or("127.0.0.1").parse().unwrap();
            Ok(vec![address])
        })
    });
    let outbound = outbound("https://mcp.example.com/mcp", Some(lookup));
    for url in ["https://as.example.com/", "https://mcp.example.com/"] {
        let reason = refusal(&outbound, url).await;
        assert!(reason.contains("127.0.0.1"), "{url}: {reason}");
    }
}

// requirement: 00be74a7db05 9d0b5361c8aa e7567512b10e ea365753b9e0 fc27530183f4
#[tokio::test]
async fn ssrf_by_redirect_is_refused() {
    for target in [
        "http://169.254.169.254/latest/meta-data/",
        "https://[fe80::1]/",
        "http://10.0.0.1/",
        "http://mcp.example.com/",
        "file:///etc/passwd",
        "https://user:pass@127.0.0.1/",
    ] {
        let server = ScriptedServer::start(move |_| Reply::redirect(target)).await;
        let outbound = outbound(&server.origin(), Some(fixed_lookup(PUBLIC)));
        let result = outbound.get(&server.origin()).await;
        assert!(
            matches!(result, Err(OutboundError::Refused { .. })),
            "{target}: {result:?}"
        );
        assert_eq!(server.requests().len(), 1);
    }
}

// requirement: 00be74a7db05 9d0b5361c8aa
#[tokio::test]
async fn ssrf_by_redirect_of_a_public_server_is_refused() {
    // The server's name has this machine's address beside a public one, so that a test can reach
    // it.
    const NAMES: &[(&str, &[&str])] = &[
        ("mcp.example.com", &["127.0.0.1", "93.184.216.34"]),
        ("private.example.com", &["10.0.0.1"]),
        ("loopback.example.com", &["127.0.0.1"]),
    ];
    for target in [
        "https://127.0.0.1/",
        "https://localhost/",
        "https://10.0.0.1/",
        "https://[::ffff:7f00:1]/",
        "https://169.254.169.254/",
        "https://private.example.com/",
        "https://loopback.example.com/",
    ] {
        let server = ScriptedServer::start(move |_| Reply::redirect(target)).await;
        let url = format!("http://mcp.example.com:{}/mcp", server.address().port());
        let server_url = Url::parse(&url).unwrap();
        let settings = OutboundSettings {
            plain_http_origins: vec![server_url.clone()],
            use_env_proxy: false,
            lookup: Some(fixed_lookup(NAMES)),
            ..OutboundSettings::default()
        };
        let outbound = Outbound::new(&server_url, settings).unwrap();
        let reason = refusal(&outbound, &url).await;
        assert!(reason.starts_with("the address "), "{target}: {reason}");
        assert_eq!(server.paths(), ["/mcp"]);
    }
}

// requirement: ea365753b9e0
#[tokio::test]
async fn three_redirects_are_followed_and_a_fourth_is_not() {
    let server = ScriptedServer::start(|request| match request.path.as_str() {
        "/3" => Reply::redirect("/2"),
        "/2" => Reply::redirect("1"),
        "/1" => Reply::redirect("/0"),
        "/0" => Reply::json(serde_json::json!({"a": 1})),
        _ => Reply::redirect("/3"),
    })
    .await;
    let outbound = outbound(&server.origin(), None);
    let response = outbound.get(&server.url("/3")).await.unwrap();
    assert_eq!((response.status, response.url.path()), (200, "/0"));
    let reason = refusal(&outbound, &server.url("/4")).await;
    assert!(reason.contains("after 3 redirects"), "{reason}");
}

#[tokio::test]
async fn a_post_follows_no_redirect() {
    let server = ScriptedServer::start(|_| Reply::status(307).header("location", "/b")).await;
    let outbound = outbound(&server.origin(), None);
    let form = [("grant_type", "a&b=c"), ("code", "ü")];
    let response = outbound
        .post_form(&server.url("/a"), &form, HeaderMap::new())
        .await
        .unwrap();
    assert_eq!(response.status, 307);
    assert_eq!(server.paths(), ["/a"]);
    let request = &server.requests()[0];
    assert_eq!(request.form("grant_type").unwrap(), "a&b=c");
    assert_eq!(request.form("code").unwrap(), "ü");
    assert_eq!(request.header("accept"), Some("application/json"));
    assert_eq!(
        request.header("content-type"),
        Some("application/x-www-form-urlencoded")
    );
}

// requirement: 2fb10c85b4aa 416eda68887e 4c23ed895e37 565b3abb9385 5f2fb62faae3 6746d7f83be7
// requirement: 8c66547c0824 9a20eba2434e b2719fd95e8f b4ed9af096d1 cde76d7ac36b dd8ffdfbcd40
// requirement: e1068c440d34 e7567512b10e ff46d9735c02
#[tokio::test]
async fn plain_http_is_only_for_this_machine() {
    let public = outbound("https://mcp.example.com/mcp", Some(fixed_lookup(PUBLIC)));
    for url in [
        "http://mcp.example.com/",
        "http://93.184.216.34/",
        "http://localhost/",
        "ftp://a/",
    ] {
        let reason = refusal(&public, url).await;
        assert!(reason.contains("https://"), "{url}: {reason}");
    }
    let local = outbound("http://localhost:1/mcp", Some(fixed_lookup(PUBLIC)));
    assert!(local.check_url("http://127.0.0.1:9000/a").is_ok());
    assert!(local.check_url("http://as.localhost/a").is_ok());
    assert!(local.check_url("http://mcp.example.com/").is_err());
    assert!(local.check_url("http://localhost.example.com/").is_err());
    assert!(local.check_url("javascript:alert(1)").is_err());
    assert!(
        local
            .check_url("https://as.example.com\\@127.0.0.1/")
            .is_err()
    );
    assert!(local.check_url("https://as.exa\tmple.com/").is_err());
    assert!(local.check_url("https://user@as.example.com/").is_err());
}

// requirement: 13fca990877d
#[tokio::test]
async fn plain_http_origins_are_allowed_by_name() {
    let settings = OutboundSettings {
        plain_http_origins: vec![Url::parse("http://mcp:8080").unwrap()],
        ..OutboundSettings::default()
    };
    let outbound = Outbound::new(&Url::parse("http://mcp:8080/mcp").unwrap(), settings).unwrap();
    assert!(outbound.check_url("http://mcp:8080/token").is_ok());
    assert!(outbound.check_url("http://mcp:9090/token").is_err());
    assert!(outbound.check_url("http://localhost/token").is_err());
}

#[tokio::test]
async fn a_server_on_this_machine_may_name_localhost() {
    let server = ScriptedServer::start(|_| Reply::status(204)).await;
    let outbound = outbound(&server.origin(), None);
    // No lookup: `localhost` is always this machine.
    for host in ["localhost", "as.localhost", "127.0.0.1"] {
        let url = format!("http://{host}:{}/", server.address().port());
        assert_eq!(outbound.get(&url).await.unwrap().status, 204, "{host}");
    }
}

#[tokio::test]
async fn a_private_server_may_name_private_and_public_hosts_but_not_this_machine() {
    let policy = UrlPolicy::new(&Url::parse("https://10.1.2.3/mcp").unwrap(), &[], None);
    let is_allowed = async |address: &str| {
        let host = Url::parse(&format!("https://{address}/")).unwrap();
        policy
            .check_literal(&policy.check_url(&host).unwrap())
            .await
            .is_ok()
    };
    assert!(is_allowed("10.1.2.3").await);
    assert!(is_allowed("192.168.0.1").await);
    assert!(is_allowed("1.1.1.1").await);
    assert!(!is_allowed("127.0.0.1").await);
    assert!(!is_allowed("169.254.169.254").await);
}

#[tokio::test]
async fn a_private_ipv6_of_the_servers_own_origin_is_allowed() {
    for (server, own, other) in [
        (
            "https://[fd12::5]/mcp",
            "https://[fd12::5]:8443/",
            "https://[::1]/",
        ),
        (
            "https://[fe80::5]/mcp",
            "https://[fe80::5]/",
            "https://[fe80::6]/",
        ),
    ] {
        let policy = UrlPolicy::new(&Url::parse(server).unwrap(), &[], None);
        let own = policy.check_url(&Url::parse(own).unwrap()).unwrap();
        assert!(policy.check_literal(&own).await.is_ok(), "{server}");
        let other = policy.check_url(&Url::parse(other).unwrap()).unwrap();
        assert!(policy.check_literal(&other).await.is_err(), "{server}");
    }
}

#[tokio::test]
async fn a_server_with_public_and_private_addresses_keeps_its_own_but_names_no_other_private_ones()
{
    const NAMES: &[(&str, &[&str])] = &[
        ("mcp.example.com", &["93.184.216.34", "fd12::5"]),
        ("as.example.com", &["fd12::5"]),
    ];
    let url = Url::parse("https://mcp.example.com/mcp").unwrap();
    let policy = UrlPolicy::new(&url, &[], Some(fixed_lookup(NAMES)));
    let resolve = async |name: &str| policy.resolve(&normalize(Host::Domain(name))).await;
    let own = resolve("MCP.example.com").await.unwrap();
    let expected: [IpAddr; 2] = ["93.184.216.34".parse().unwrap(), "fd12::5".parse().unwrap()];
    assert_eq!(own, expected);
    let other = resolve("as.example.com").await;
    assert!(other.unwrap_err().to_string().contains("fd12::5"));
}

#[tokio::test]
async fn huge_documents_are_refused() {
    let announced = ScriptedServer::start(|_| Reply::status(200).with_body(vec![b' '; 300 << 10]));
    let endless = ScriptedServer::start(|_| {
        Reply::status(200)
            .with_body(vec![b' '; 300 << 10])
            .without_length()
    });
    for server in [announced.await, endless.await] {
        let result = outbound(&server.origin(), None).get(&server.origin()).await;
        let max_body_bytes = 256 << 10;
        let url = format!("{}/", server.origin());
        assert_eq!(
            result.unwrap_err(),
            OutboundError::TooLarge {
                url,
                max_body_bytes
            }
        );
    }
}

#[tokio::test]
async fn slow_documents_are_given_up() {
    let late = ScriptedServer::start(|_| Reply::status(200).delay(Duration::from_secs(30)));
    let dripping = ScriptedServer::start(|_| {
        Reply::status(200)
            .with_body(vec![b' '; 1000])
            .byte_interval(Duration::from_millis(50))
    });
    let redirecting =
        ScriptedServer::start(|_| Reply::redirect("/").delay(Duration::from_millis(900)));
    for server in [late.await, dripping.await, redirecting.await] {
        let started = Instant::now();
        let result = outbound(&server.origin(), None)
            .get(&server.url("/?token=secret"))
            .await;
        assert!(started.elapsed() < Duration::from_secs(5));
        let error = result.unwrap_err();
        assert!(error.is_transient(), "{error:?}");
        assert!(!error.to_string().contains("secret"), "{error}");
        assert!(
            error.to_string().ends_with("did not answer within 2 s"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn an_unreachable_server_is_named_without_its_query() {
    let server = ScriptedServer::start(|_| Reply::status(200)).await;
    let origin = server.origin();
    drop(server);
    tokio::task::yield_now().await;
    let result = outbound(&origin, None)
        .get(&format!("{origin}/a?token=secret"))
        .await;
    let text = result.unwrap_err().to_string();
    assert!(
        text.starts_with(&format!("{origin}/a?… cannot be reached: ")),
        "{text}"
    );
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn settings_without_a_certificate_are_refused() {
    let settings = OutboundSettings {
        extra_roots_pem: vec![b"no certificate".to_vec()],
        ..OutboundSettings::default()
    };
    let url = Url::parse("https://mcp.example.com").unwrap();
    assert!(matches!(
        Outbound::new(&url, settings),
        Err(OutboundError::Setup { .. })
    ));
}

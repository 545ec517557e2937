//! A store over TLS. The certificates that are trusted are those of the operating system, so each case runs
//! in a process of its own whose system trusts the authority of this test (`SSL_CERT_FILE`).
#![cfg(all(unix, feature = "tls"))]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use turnbuckle_engines::RedisServer;
use turnbuckle_redis::RedisStore;
use turnbuckle_store::{Condition, Store as _, StoreKey, TopicEvent};

/// The variable with the URL, which makes a client of this program.
const URL: &str = "TURNBUCKLE_TLS_TEST_URL";

/// The client: it does nothing unless a test has started it.
#[tokio::test]
async fn client() {
    let Ok(url) = std::env::var(URL) else {
        return;
    };
    let store = match RedisStore::connect(&url).await {
        Ok(store) => store,
        Err(error) => {
            println!("refused: {error}");
            return;
        }
    };
    let key = StoreKey::new("k").unwrap();
    let ttl = Duration::from_secs(60);
    let mut subscription = store.subscribe(&key).await.unwrap();
    let put = store.put(&key, "v".into(), Condition::Always, ttl);
    put.await.unwrap();
    store.publish(&key, "m".into()).await.unwrap();
    let message = subscription.next().await;
    assert_eq!(message, Some(TopicEvent::Message("m".into())));
    println!("connected");
}

/// Runs the client and returns what it printed.
fn run_client(url: &str, trusted: &Path) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "client", "--nocapture"])
        .env(URL, url)
        .env("SSL_CERT_FILE", trusted)
        .env_remove("SSL_CERT_DIR")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Creates an authority. Returns it and its certificate.
fn authority() -> (Issuer<'static, KeyPair>, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    (Issuer::new(params, key), certificate)
}

#[test]
fn tls_needs_a_certificate_of_the_name_from_a_trusted_authority() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (issuer, certificate) = authority();
    fs::write(path("ca.pem"), certificate).unwrap();
    fs::write(path("other.pem"), authority().1).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    fs::write(path("redis.pem"), certificate.pem()).unwrap();
    fs::write(path("key.pem"), key.serialize_pem()).unwrap();

    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let number = port.local_addr().unwrap().port();
    drop(port);
    let file = |name| path(name).display().to_string();
    let _server = RedisServer::start_with(&[
        "--tls-port",
        &number.to_string(),
        "--tls-cert-file",
        &file("redis.pem"),
        "--tls-key-file",
        &file("key.pem"),
        "--tls-ca-cert-file",
        &file("ca.pem"),
        "--tls-auth-clients",
        "no",
    ]);

    let url = |host: &str| format!("rediss://{host}:{number}/");
    let done = run_client(&url("localhost"), &path("ca.pem"));
    assert!(done.contains("connected"), "{done}");
    for (host, trusted) in [("localhost", "other.pem"), ("127.0.0.1", "ca.pem")] {
        let done = run_client(&url(host), &path(trusted));
        assert!(done.contains("refused:"), "{done}");
        assert!(done.contains("certificate"), "{done}");
    }
    let done = run_client(
        &format!("{}#insecure", url("localhost")),
        &path("other.pem"),
    );
    assert!(done.contains("refused:"), "{done}");
}

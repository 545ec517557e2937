//! Connections with TLS.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use turnbuckle_engines::PostgresServer;
use turnbuckle_postgres::{PostgresStore, PostgresStoreOptions};
use turnbuckle_store::{Store, StoreErrorKind, TopicEvent};

use crate::engine::{Engine, get, key, next, put, wait_for};

/// Starts a server with TLS, and returns the certificate of its authority.
async fn start() -> (Engine, String) {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().unwrap();
    let root = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = Issuer::new(authority, authority_key);
    let server_key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&server_key, &issuer).unwrap();

    let server = PostgresServer::start_on_port();
    let certificate = server.write_file("server.pem", &certificate.pem());
    let server_key = server.write_file("server.key", &server_key.serialize_pem());
    let engine = Engine::with(server).await;
    for sql in [
        format!(
            "ALTER SYSTEM SET ssl_cert_file = '{}'",
            certificate.display()
        ),
        format!("ALTER SYSTEM SET ssl_key_file = '{}'", server_key.display()),
        "ALTER SYSTEM SET ssl = on".to_owned(),
        "SELECT pg_reload_conf()".to_owned(),
    ] {
        engine.admin.batch_execute(&sql).await.unwrap();
    }
    let is_on = "SELECT count(*) FROM pg_settings WHERE name = 'ssl' AND setting = 'on'";
    wait_for(&engine.admin, is_on, 1).await;
    (engine, root)
}

#[tokio::test]
async fn a_connection_with_tls_trusts_who_it_is_told_to() {
    let (engine, root) = start().await;
    let address = |host: &str, mode: &str| {
        let port = engine.server.port();
        format!("postgres://turnbuckle@{host}:{port}/store?sslmode={mode}")
    };
    let options = || {
        PostgresStoreOptions::new()
            .add_roots(root.as_bytes())
            .unwrap()
    };
    let store = PostgresStore::connect_with(&address("127.0.0.1", "require"), options()).await;
    let store = store.unwrap();
    put(&store, "k", "v").await.unwrap();
    assert_eq!(get(&store, "k").await.as_deref(), Some("v"));
    let mut subscription = store.subscribe(&key("t")).await.unwrap();
    store.publish(&key("t"), "m".into()).await.unwrap();
    assert_eq!(
        next(&mut subscription).await,
        TopicEvent::Message("m".into())
    );
    let plain = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE datname = 'store' AND NOT ssl";
    let plain = engine.admin.query_one(plain, &[]).await.unwrap();
    assert_eq!(plain.get::<_, i64>(0), 0);

    // Neither an authority that nobody trusts, nor a certificate of another host.
    for mode in ["require", "prefer"] {
        let unknown = PostgresStore::connect(&address("127.0.0.1", mode)).await;
        assert!(unknown.unwrap_err().to_string().contains("certificate"));
        let other = PostgresStore::connect_with(&address("localhost", mode), options()).await;
        assert!(other.unwrap_err().to_string().contains("certificate"));
    }
    PostgresStore::connect(&address("127.0.0.1", "disable"))
        .await
        .unwrap();
}

#[tokio::test]
async fn roots_are_certificates() {
    let refused = PostgresStoreOptions::new().add_roots(b"no certificate");
    assert_eq!(refused.unwrap_err().kind(), StoreErrorKind::Misconfigured);
}

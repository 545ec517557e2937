//! A program's own reqwest works beside turnbuckle, and both reach a server.

use turnbuckle::auth::DocumentClient;
use turnbuckle::http::{HttpConnector, HttpServer, HttpServerOptions};
use turnbuckle::{Client, Server};

/// Starts a server without tools. Returns its URL.
async fn start() -> String {
    let server = Server::new("beside-reqwest", "1").build().unwrap();
    let server = HttpServer::bind(server, "127.0.0.1:0", HttpServerOptions::new());
    let server = server.await.unwrap();
    let url = server.url();
    tokio::spawn(server.serve());
    url
}

#[tokio::test]
async fn the_client_of_the_program_and_those_of_turnbuckle_reach_a_server() {
    let url = start().await;
    for _ in 0..2 {
        let connector = HttpConnector::new(&url).unwrap();
        let client = Client::builder("test", "1")
            .connect(connector)
            .await
            .unwrap();
        client.close().await;
        // Without a provider of cryptography, this panics.
        let answer = reqwest::Client::new().delete(&url).send().await.unwrap();
        assert!(answer.status().is_client_error(), "{}", answer.status());
        // Requests of a login.
        let documents = DocumentClient::new(&url).unwrap();
        let error = documents.fetch::<bool>(&url).await.unwrap_err().to_string();
        assert!(error.contains("answered with status 4"), "{error}");
    }
}

#[tokio::test]
async fn both_use_tls() {
    // The server speaks no TLS, so that both handshakes fail.
    let url = start().await.replace("http:", "https:");
    let error = reqwest::Client::new().get(&url).send().await.unwrap_err();
    assert!(error.is_connect(), "{error}");
    let connector = HttpConnector::new(&url).unwrap();
    let connected = Client::builder("test", "1").connect(connector).await;
    let error = connected.unwrap_err().to_string();
    assert!(error.contains("the TLS handshake failed"), "{error}");
}

#[test]
fn the_exporter_is_there() {
    // Without a collector in the environment, nothing is exported.
    turnbuckle::otel::init("beside-reqwest")
        .unwrap()
        .shutdown()
        .unwrap();
}

//! Logins of a host at the servers of a configuration file.

use std::sync::{Arc, Mutex};

use serde_json::json;
use turnbuckle::auth::ResourceServer;
use turnbuckle::auth::client::store::{CredentialStore as _, MemoryStore};
use turnbuckle::auth_testing::TestAuthorizationServer;
use turnbuckle::http::{HttpServer, HttpServerOptions};
use turnbuckle::servers::config::ConfigFile;
use turnbuckle::servers::{ServerState, Servers};
use turnbuckle::{Authorize as _, LogIn as _, Server, Tool};

/// Starts a server with the tool `whoami`, protected if it has an issuer. Returns its URL.
async fn serve(issuer: Option<&str>) -> String {
    let whoami = Tool::builder("whoami").handler(|who: Option<turnbuckle::types::Principal>| {
        who.map_or("nobody".to_owned(), |who| who.subject)
    });
    let server = Server::new("s", "1.0.0").tool(whoami).build().unwrap();
    let http = HttpServer::bind(server, "127.0.0.1:0", HttpServerOptions::new());
    let mut http = http.await.unwrap();
    let url = http.url();
    if let Some(issuer) = issuer {
        let auth = ResourceServer::builder(&url).issuer(issuer);
        http = http.auth(auth.build().unwrap());
    }
    tokio::spawn(http.serve());
    url
}

fn config(servers: &[(&str, &str)]) -> ConfigFile {
    let entries = servers.iter().map(|(name, url)| {
        let entry = json!({"url": url});
        ((*name).to_owned(), entry)
    });
    let entries: serde_json::Map<_, _> = entries.collect();
    ConfigFile::parse(&json!({"mcpServers": entries}).to_string()).unwrap()
}

#[tokio::test]
async fn one_call_logs_in_at_every_server_of_a_configuration() {
    let login = TestAuthorizationServer::builder().start().await.unwrap();
    let one = serve(Some(login.issuer())).await;
    let two = serve(Some(login.issuer())).await;
    let open = serve(None).await;
    let config = config(&[("one", &one), ("two", &two), ("open", &open)]);
    let store = MemoryStore::new();
    let configured = Arc::new(Mutex::new(Vec::new()));
    let (seen, ann) = (configured.clone(), login.auto_login("ann"));
    let servers = Servers::builder("my-app", "1.0.0")
        .config(config.clone(), ".")
        .oauth_with(store.clone(), move |server, oauth| {
            seen.lock().unwrap().push(server.to_owned());
            oauth.login_ui(ann.clone())
        });
    let servers = servers.connect().await.unwrap();
    for (tool, caller) in [
        ("one__whoami", "ann"),
        ("two__whoami", "ann"),
        ("open__whoami", "nobody"),
    ] {
        let result = servers.call_tool(tool, &()).await.unwrap();
        assert_eq!(result.content[0].as_text(), Some(caller), "{tool}");
    }
    let mut configured = configured.lock().unwrap().clone();
    configured.sort();
    assert_eq!(configured, ["one", "open", "two"]);
    servers.close().await;
    // The credentials of both are in the one store: the next start asks nobody.
    let keys = store.keys().await.unwrap();
    let credentials = keys.iter().filter(|key| key.starts_with("credentials:"));
    assert_eq!(credentials.count(), 2, "{keys:?}");
    let servers = Servers::builder("my-app", "1.0.0").config(config, ".");
    let servers = servers.oauth_with(store, |_, oauth| oauth.stored_only());
    let servers = servers.connect().await.unwrap();
    assert_eq!(servers.tools().len(), 3);
    servers.close().await;
}

#[tokio::test]
async fn a_login_that_cannot_be_set_up_is_a_failed_server_with_the_reason() {
    let servers = Servers::builder("my-app", "1.0.0")
        .config(config(&[("one", "http://127.0.0.1:9/mcp")]), ".")
        .oauth_with(MemoryStore::new(), |_, oauth| {
            oauth.ca_certificate_pem("no certificate")
        });
    let servers = servers.connect().await.unwrap();
    let status = &servers.status()[0];
    assert_eq!(status.state, ServerState::Failed, "{status}");
    assert!(
        status.last_error.as_ref().unwrap().contains("certificate"),
        "{status}"
    );
    servers.close().await;
}

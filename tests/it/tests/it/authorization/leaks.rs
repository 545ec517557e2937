//! No secret in logs, in `Debug`, in errors or in transcripts.

use std::fmt::Debug;
use std::sync::{Mutex, Once};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sha2::Digest as _;
use tower_layer::Layer as _;
use turnbuckle::auth::client::grant::{ClientCredentials, EnterpriseIdp, WorkloadIdentity};
use turnbuckle::auth::client::interaction::{Browser, NoLogin, PrintUrl};
use turnbuckle::auth::client::store::{CredentialStore as _, MemoryStore};
use turnbuckle::auth::{OAuth, ResourceServer, Secret};
use turnbuckle::http::HttpConnector;
use turnbuckle_auth_testing::{FailedRequests, TestAuthorizationServerBuilder};

use super::harness::{
    REDIRECT_URI, User, Wire, World, age, auth_error, call, credentials, edit_credentials,
    failing_call, modern, query_parameter, send,
};
use crate::traced::Traced;

static LOGGED: Mutex<String> = Mutex::new(String::new());

/// Keeps the records of the `log` crate, which reqwest writes to.
struct Logger;

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = format!("{} {}\n", record.target(), record.args());
        LOGGED.lock().unwrap().push_str(&line);
    }

    fn flush(&self) {}
}

/// The secrets that were seen, and all that was written.
#[derive(Default)]
struct Evidence {
    secrets: Vec<(&'static str, String)>,
    challenges: Vec<String>,
    texts: Vec<(String, String)>,
}

impl Evidence {
    fn secret(&mut self, name: &'static str, value: &str) {
        assert!(
            value.len() > 7,
            "{name} is too short to be looked for: {value}"
        );
        self.secrets.push((name, value.to_owned()));
    }

    async fn store(&mut self, store: &MemoryStore) {
        let value = credentials(store).await;
        for name in ["access_token", "refresh_token"] {
            self.secret(name, value[name].as_str().unwrap());
        }
        if let Some(key) = value["dpop_key"].as_str() {
            self.secret("dpop_key", key.lines().nth(1).unwrap());
        }
        for key in store.keys().await.unwrap() {
            let stored = store.load(&key).await.unwrap().unwrap();
            self.secret("stored value", stored.expose());
        }
    }

    fn user(&mut self, user: &User) {
        for url in user.opened_pages() {
            self.secret("state", &query_parameter(&url, "state").unwrap());
            self.challenges
                .push(query_parameter(&url, "code_challenge").unwrap());
        }
        for url in user.redirects() {
            if let Some(code) = query_parameter(&url, "code") {
                self.secret("code", &code);
            }
        }
    }

    fn show(&mut self, name: &str, value: &impl Debug) {
        self.texts
            .push((format!("Debug of {name}"), format!("{value:?} {value:#?}")));
    }

    fn text(&mut self, name: &str, text: impl Into<String>) {
        self.texts.push((name.to_owned(), text.into()));
    }

    #[track_caller]
    fn check(&self) {
        assert!(!self.secrets.is_empty() && !self.challenges.is_empty());
        for (place, text) in &self.texts {
            for (name, secret) in &self.secrets {
                assert!(!text.contains(secret), "{name} in {place}: {text}");
            }
            // The verifier is known by its hash alone.
            let is_part = |c: char| !c.is_ascii_alphanumeric() && !"-._~".contains(c);
            for word in text.split(is_part).filter(|word| word.len() >= 43) {
                let hash = URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(word));
                assert!(
                    !self.challenges.contains(&hash),
                    "a verifier in {place}: {text}"
                );
            }
        }
    }
}

#[tokio::test]
async fn no_token_code_verifier_or_secret_in_logs_debug_errors_and_transcripts() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        log::set_logger(&Logger).unwrap();
        log::set_max_level(log::LevelFilter::Trace);
    });
    for is_bound in [false, true] {
        let traced = Traced::start();
        let mut evidence = Evidence::default();
        evidence.secret("client secret", "client-secret-0123456789");
        let app = |it: TestAuthorizationServerBuilder| {
            let it = it.client("app", "client-secret-0123456789", [REDIRECT_URI]);
            assert!(!format!("{it:?}").contains("client-secret-0123456789"));
            it.require_dpop(is_bound)
        };
        let world = World::with(Wire::Modern, app).await;
        let issuer = world.authorization_server.issuer().to_owned();
        let (user, store) = (User::new(), MemoryStore::new());
        let oauth = || {
            let oauth = world.oauth_builder(&user, &store).scopes(["orders:read"]);
            let secret = Some(Secret::new("client-secret-0123456789"));
            let oauth = oauth.registered_client(&issuer, "app", secret);
            if is_bound { oauth.dpop() } else { oauth }
        };
        // A login, a step-up and a refresh.
        let first = oauth().build().unwrap();
        let client = world.connect(&first).await.unwrap();
        call(&client, "whoami").await.unwrap();
        evidence.store(&store).await;
        evidence.text("transcript", first.transcript().to_string());
        call(&client, "add_order").await.unwrap();
        evidence.store(&store).await;
        evidence.text(
            "transcript",
            serde_json::to_string(&first.transcript()).unwrap(),
        );
        age(&store, 10).await;
        let second = oauth().build().unwrap();
        let client = world.connect(&second).await.unwrap();
        call(&client, "whoami").await.unwrap();
        evidence.store(&store).await;
        evidence.text("transcript", format!("{:?}", second.transcript()));
        // Failures of all kinds.
        for (status, error) in [(400, "invalid_grant"), (503, "temporarily_unavailable")] {
            age(&store, -10).await;
            world
                .authorization_server
                .set_faults(|it| it.failed_refreshes = FailedRequests::new(10, status, error));
            let failing = oauth().stored_only().build().unwrap();
            let error = failing_call(world.wire, &world.url, &failing).await;
            evidence.text(
                "error",
                format!("{error} {error:?} {}", auth_error(&error).transcript()),
            );
            evidence.show("Error", &error);
            world.authorization_server.reset_faults();
        }
        edit_credentials(&store, |credentials| {
            credentials["refresh_token"] = json!(null)
        })
        .await;
        world.authorization_server.set_faults(|it| {
            it.failed_token_requests = FailedRequests::new(2, 400, "invalid_client")
        });
        let error = failing_call(world.wire, &world.url, &oauth().build().unwrap()).await;
        evidence.text("error", format!("{error} {error:?}"));
        user.edit_redirects(|it| format!("{it}&state=injected"));
        let error = failing_call(world.wire, &world.url, &oauth().build().unwrap()).await;
        evidence.text("error", format!("{error} {error:?}"));
        // A token that the server refuses.
        let forged = format!("{}x", world.token("alice", &[]));
        evidence.secret("forged token", &forged);
        let params = json!({"name": "whoami", "arguments": {}});
        let reply = send(modern(&world.url, Some(&forged), "tools/call", &params)).await;
        evidence.text(
            "401",
            format!("{reply:?} {}", String::from_utf8_lossy(&reply.body)),
        );
        evidence.user(&user);

        evidence.show("OAuth", &second);
        evidence.show("OAuthService", &second.layer(()));
        evidence.show("AuthStatus", &second.status().await);
        evidence.show("MemoryStore", &store);
        evidence.show("Client", &client);
        let connector = HttpConnector::new(&world.url)
            .unwrap()
            .layer(second.clone());
        evidence.show("HttpConnector", &connector);
        evidence.show("TestAuthorizationServer", &world.authorization_server);
        evidence.show("Event", &world.authorization_server.events());
        show_settings(&mut evidence, &issuer, &world.url);
        let heard = traced.text();
        for line in ["the access token could not be refreshed", "refused a token"] {
            assert!(heard.contains(line), "{heard}");
        }
        evidence.text("tracing", heard);
        evidence.text("log", LOGGED.lock().unwrap().clone());
        evidence.check();
    }
}

/// Shows the settings that hold secrets.
fn show_settings(evidence: &mut Evidence, issuer: &str, url: &str) {
    let secret = "settings-secret-0123456789";
    evidence.secret("secret of the settings", secret);
    let credentials = ClientCredentials::secret("app", secret);
    evidence.show("ClientCredentials", &credentials);
    let idp = EnterpriseIdp::id_token(format!("{issuer}/token"), |_| async {
        Ok(Secret::new("settings-secret-0123456789"))
    });
    evidence.show(
        "EnterpriseIdp",
        &idp.idp_client(credentials.clone())
            .client(credentials.clone()),
    );
    let identity =
        WorkloadIdentity::from_fn(|_| async { Ok(Secret::new("settings-secret-0123456789")) });
    evidence.show("WorkloadIdentity", &identity.client(credentials.clone()));
    let oauth = OAuth::builder(url, MemoryStore::new());
    evidence.show("OAuth", &oauth.client_credentials(credentials));
    let oauth = OAuth::builder(url, MemoryStore::new());
    evidence.show("OAuth", &oauth.client_id("app", Some(Secret::new(secret))));
    evidence.show("Secret", &Secret::new(secret));
    evidence.show("Browser", &Browser::new());
    evidence.show("PrintUrl", &PrintUrl::new(|_| ()));
    evidence.show("NoLogin", &NoLogin::new());
    let builder = ResourceServer::builder(url)
        .introspection(issuer, format!("{issuer}/introspect"), "shop", secret)
        .static_token("backup", secret, [""; 0]);
    evidence.show("ResourceServerBuilder", &builder);
    let server = builder.build().unwrap();
    evidence.show("ResourceServer", &server);
    evidence.show("MetadataService", &server.metadata_service());
    evidence.show("ResourceServerService", &server.layer(()));
}

//! Logins without a user: client credentials, workload identity, an enterprise's identity provider.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use turnbuckle::auth::AuthErrorKind;
use turnbuckle::auth::Secret;
use turnbuckle::auth::client::grant::{ClientCredentials, EnterpriseIdp, WorkloadIdentity};
use turnbuckle::auth::client::store::MemoryStore;
use turnbuckle_auth_testing::TestAuthorizationServer;

use super::harness::{User, Wire, World, age, auth_error_kind, call, failing_call};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

#[tokio::test]
async fn a_program_logs_in_with_its_own_credentials_and_again_when_the_token_ends() {
    for wire in Wire::ALL {
        let world = World::with(wire, |it| it.client("robot", "robot-secret", [""; 0])).await;
        let issuer = world.authorization_server.issuer();
        let robot = ClientCredentials::secret("robot", "robot-secret").issuer(issuer);
        let (user, store) = (User::new(), MemoryStore::new());
        let oauth = || {
            world
                .oauth_builder(&user, &store)
                .client_credentials(robot.clone())
                .build()
                .unwrap()
        };
        let client = world.connect(&oauth()).await.unwrap();
        assert_eq!(call(&client, "whoami").await.unwrap(), "robot", "{wire:?}");
        age(&store, -10).await;
        let client = world.connect(&oauth()).await.unwrap();
        assert_eq!(call(&client, "whoami").await.unwrap(), "robot", "{wire:?}");
        let granted = world.token_requests("client_credentials");
        assert_eq!((granted.len(), user.logins()), (2, 0), "{wire:?}");
        assert!(
            granted
                .iter()
                .all(|it| it.resource.as_ref() == Some(&world.resource))
        );
    }
}

#[tokio::test]
async fn wrong_client_credentials_start_no_login_of_a_user() {
    let world = World::with(Wire::Modern, |it| it.client("robot", "right", [""; 0])).await;
    let user = User::new();
    let robot = ClientCredentials::secret("robot", "wrong-secret");
    let oauth = world
        .oauth_builder(&user, &MemoryStore::new())
        .client_credentials(robot)
        .build()
        .unwrap();
    let error = failing_call(world.wire, &world.url, &oauth).await;
    assert_eq!(auth_error_kind(&error), AuthErrorKind::Token, "{error:?}");
    assert_eq!(user.logins(), 0);
    assert!(error.to_string().contains("invalid_client"), "{error}");
    assert!(!format!("{error:?}").contains("wrong-secret"));
}

#[tokio::test]
async fn a_workload_logs_in_with_the_assertion_of_its_platform() {
    for wire in Wire::STREAMABLE {
        let platform = TestAuthorizationServer::builder().start().await.unwrap();
        let (issuer, jwks) = (platform.issuer().to_owned(), platform.jwks());
        let world = World::with(wire, |it| it.trusted_keys(&issuer, &jwks)).await;
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let audience = world.authorization_server.issuer();
        let claims = json!({"iss": issuer, "sub": "job-1", "aud": audience, "exp": now + 60});
        let assertion = Secret::new(platform.sign_claims("JWT", &claims).unwrap());
        let identity = WorkloadIdentity::from_fn(move |_| {
            let assertion = assertion.clone();
            async move { Ok(assertion) }
        });
        let oauth = world
            .oauth_builder(&User::new(), &MemoryStore::new())
            .workload_identity(identity)
            .build()
            .unwrap();
        let client = world.connect(&oauth).await.unwrap();
        assert_eq!(call(&client, "whoami").await.unwrap(), "job-1", "{wire:?}");
        assert_eq!(world.token_requests(JWT_BEARER).len(), 1, "{wire:?}");
    }
}

#[tokio::test]
async fn an_enterprise_login_is_exchanged_with_and_without_resource_in_the_id_jag() {
    for wire in Wire::STREAMABLE {
        for is_resource_omitted in [false, true] {
            let idp = TestAuthorizationServer::builder().client("web", "x", [""; 0]);
            let idp = idp.start().await.unwrap();
            idp.set_faults(|it| it.omit_id_jag_resource = is_resource_omitted);
            let (issuer, jwks) = (idp.issuer().to_owned(), idp.jwks_uri());
            let world = World::with(wire, |it| {
                it.trusted_issuer(&issuer, jwks).client("web", "y", [""; 0])
            })
            .await;
            let id_token = idp.issue_id_token("carol", "web", Duration::from_secs(60));
            let id_token = Secret::new(id_token.unwrap());
            let enterprise = EnterpriseIdp::id_token(format!("{issuer}/token"), move |_| {
                let id_token = id_token.clone();
                async move { Ok(id_token) }
            })
            .idp_client(ClientCredentials::secret("web", "x"))
            .client(ClientCredentials::secret("web", "y"));
            let oauth = world
                .oauth_builder(&User::new(), &MemoryStore::new())
                .enterprise(enterprise)
                .build()
                .unwrap();
            let client = world.connect(&oauth).await.unwrap();
            assert_eq!(call(&client, "whoami").await.unwrap(), "carol", "{wire:?}");
            assert_eq!(world.token_requests(JWT_BEARER).len(), 1, "{wire:?}");
        }
    }
}

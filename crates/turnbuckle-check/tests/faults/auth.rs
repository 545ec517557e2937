//! Faults of a server that demands a token.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use turnbuckle_check::script::Sound;
use turnbuckle_check::{Bind, Body, BoxFuture, CheckError, Checker, Exchange, Target};
use turnbuckle_wire::revision::Revision;

use crate::harness::{Row, remove, target};

const ORIGIN: &str = "http://127.0.0.1";

/// A correct server behind a login: a request without a token has one already, as of a client that has logged
/// in, and every other token is wrong.
struct Guarded {
    sound: Sound,
    challenge: &'static str,
    resource: Value,
    issuer: Value,
    /// No request has a token.
    is_closed: bool,
}

impl Default for Guarded {
    fn default() -> Self {
        Self {
            sound: Sound::new(),
            challenge: "Bearer resource_metadata=\"http://127.0.0.1/.well-known/oauth-protected-resource/mcp\"",
            resource: json!({"resource": format!("{ORIGIN}/mcp"), "authorization_servers": [ORIGIN]}),
            issuer: json!({"issuer": ORIGIN, "code_challenge_methods_supported": ["S256"]}),
            is_closed: false,
        }
    }
}

impl Guarded {
    fn target(self) -> Target {
        let uri = Uri::from_static("http://127.0.0.1/mcp");
        Target::new("guarded").http(uri, Arc::new(self))
    }
}

fn response(status: u16, challenge: &str, body: Option<&Value>) -> Response<Body> {
    let mut response = Response::builder().status(status);
    if !challenge.is_empty() {
        response = response.header("www-authenticate", challenge);
    }
    if body.is_some() {
        response = response.header("content-type", "application/json");
    }
    let text = body.map(Value::to_string).unwrap_or_default();
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {});
    response.body(body.boxed_unsync()).unwrap()
}

impl Exchange for Guarded {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, io::Result<Response<Body>>> {
        let answer = match request.uri().path() {
            "/.well-known/oauth-protected-resource/mcp" => response(200, "", Some(&self.resource)),
            "/.well-known/oauth-authorization-server" => response(200, "", Some(&self.issuer)),
            _ if self.is_closed || request.headers().contains_key("authorization") => {
                let error = json!({"detail": "a token is needed"});
                response(401, self.challenge, Some(&error))
            }
            _ => return self.sound.send(request),
        };
        Box::pin(std::future::ready(Ok(answer)))
    }
}

/// Returns the row of a check, with a fault of the login.
fn login_row(id: &'static str, fault: impl FnOnce(&mut Guarded)) -> Row {
    let mut server = Guarded::default();
    fault(&mut server);
    target(id, server.target())
        .alone(Revision::V2025_11_25, Bind::Http)
        .topic("auth")
}

/// Returns a server with a login and without a fault.
pub(crate) fn sound() -> Vec<Row> {
    vec![login_row("", |_| ())]
}

pub(crate) fn rows() -> Vec<Row> {
    vec![
        login_row("auth.401-challenge", |server| server.challenge = ""),
        login_row("auth.metadata-found", |server| {
            remove(&mut server.resource, "authorization_servers");
        }),
        login_row("auth.resource-matches", |server| {
            server.resource["resource"] = "http://other.example/mcp".into();
        }),
        login_row("auth.https-issuer", |server| {
            server.resource["authorization_servers"] = json!(["http://login.example"]);
        }),
        login_row("auth.pkce-s256", |server| {
            remove(&mut server.issuer, "code_challenge_methods_supported");
        }),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_server_that_demands_a_login_is_no_server_that_is_silent() {
    let server = Guarded {
        is_closed: true,
        ..Guarded::default()
    };
    let challenge = server.challenge;
    let error = Checker::new(server.target()).run().await.unwrap_err();
    let expected = CheckError::LoginRequired {
        challenge: Some(challenge.to_owned()),
    };
    assert_eq!(error, expected);
}

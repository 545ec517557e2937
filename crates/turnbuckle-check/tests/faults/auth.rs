//! Faults of a server that demands a token.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use turnbuckle_check::script::Sound;
use turnbuckle_check::{Bind, Body, BoxFuture, CheckError, Checker, Exchange, OtherToken, Target};
use turnbuckle_wire::revision::Revision;

use crate::harness::{Row, remove, target};
use crate::task_server;

const ORIGIN: &str = "http://127.0.0.1";

/// A token of another user, with `{"sub":"user-17"}` in it.
const OTHER: &str = "head.eyJzdWIiOiJ1c2VyLTE3In0.signature";

/// A token of another user whose scope does not suffice for calls.
const NARROW: &str = "narrow";

/// A correct server behind a login: a request without a token has one already, as of a client that has logged
/// in. Of other tokens it knows those of the other user.
struct Guarded {
    sound: Sound,
    /// The server of the other user.
    of_other: Sound,
    /// Further tokens that are accepted.
    accepted: &'static [&'static str],
    reads_query: bool,
    refusal_of_narrow: (u16, &'static str),
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
            of_other: Sound::new(),
            accepted: &[],
            reads_query: false,
            refusal_of_narrow: (403, "Bearer error=\"insufficient_scope\", scope=\"write\""),
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
        Target::new("guarded")
            .http(uri, Arc::new(self))
            .other_token(OtherToken::User, OTHER)
            .other_token(OtherToken::Narrow, NARROW)
            .other_token(OtherToken::Expired, "expired")
            .other_token(OtherToken::Foreign, "foreign")
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
        let header = request.headers().get("authorization");
        let header = header.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let query = request.uri().query().filter(|_| self.reads_query);
        let query = query.and_then(|query| query.strip_prefix("access_token="));
        let token = query.or(header).map(str::to_owned);
        let is_call = request
            .body()
            .windows(12)
            .any(|part| part == b"\"tools/call\"");
        let is_known =
            |token: &str| [OTHER, NARROW].contains(&token) || self.accepted.contains(&token);
        let answer = match request.uri().path() {
            "/.well-known/oauth-protected-resource/mcp" => response(200, "", Some(&self.resource)),
            "/.well-known/oauth-authorization-server" => response(200, "", Some(&self.issuer)),
            _ if is_call && token.as_deref() == Some(NARROW) => {
                let (status, challenge) = self.refusal_of_narrow;
                response(status, challenge, None)
            }
            _ if token.as_deref().is_some_and(is_known) => return self.of_other.send(request),
            _ if self.is_closed || token.is_some() => {
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

/// Returns a server that shows other tools to another user, and lets everybody keep the list.
fn public_lists(id: &'static str) -> Row {
    let of_other = Sound::new().on_reply(|cause, messages| {
        if cause.message["method"] == "tools/list"
            && let Some(tools) = messages[0]["result"]["tools"].as_array_mut()
        {
            tools.pop();
        }
    });
    let server = Guarded {
        of_other,
        ..Guarded::default()
    };
    target(id, server.target())
        .alone(Revision::V2026_07_28, Bind::Http)
        .topic("cache")
}

/// Returns a server with a tool that names somebody in its answers to calls with some arguments.
fn naming(name: &'static str, is_named: fn(&Value) -> bool) -> Sound {
    Sound::new().on_reply(move |cause, messages| {
        let params = &cause.message["params"];
        if params["name"] == "test_simple_text" && is_named(&params["arguments"]) {
            messages[0]["result"]["content"][0]["text"] = name.into();
        }
    })
}

/// Returns the row of a server that gives one caller the answers to another.
fn shared_answers(is_kept: fn(&Value) -> bool) -> Row {
    login_row("auth.answer-of-other", |server| {
        server.sound = naming("user-17", is_kept);
        server.of_other = naming("user-17", |_| true);
    })
    .topic("auth.answer-of-other")
}

/// Returns a server that takes the states of everybody from everybody.
fn shared_states() -> Row {
    let server = Guarded::default();
    let server = Guarded {
        of_other: server.sound.clone(),
        ..server
    };
    target("ask.state-other-principal", server.target())
        .alone(Revision::V2026_07_28, Bind::Http)
        .topic("ask.state-other-principal")
}

/// Returns a server with a login and without a fault.
pub(crate) fn sound() -> Vec<Row> {
    let modern_login =
        || target("", Guarded::default().target()).alone(Revision::V2026_07_28, Bind::Http);
    let modern = modern_login();
    let with_tasks = login_row("", |server| {
        server.sound = task_server::server(Revision::V2025_11_25, |_, _| ());
        server.of_other = task_server::server(Revision::V2025_11_25, |_, _| ());
    });
    vec![
        login_row("", |_| ()),
        login_row("", |_| ()).topic("http.session-of-other-principal"),
        with_tasks.topic("tasks.foreign-principal"),
        modern.topic("cache"),
        modern_login().topic("ask.state-other-principal"),
        // A text that names a user and is the same for everybody.
        shared_answers(|_| true),
    ]
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
        login_row("auth.token-in-query", |server| server.reads_query = true),
        login_row("auth.broken-signature", |server| {
            server.accepted = &["head.eyJzdWIiOiJ1c2VyLTE3In0.signAture"];
        }),
        login_row("auth.expired", |server| server.accepted = &["expired"]),
        login_row("auth.foreign-audience", |server| {
            server.accepted = &["foreign"]
        }),
        login_row("auth.scope-403", |server| {
            server.refusal_of_narrow = (401, "Bearer")
        }),
        // One session and one store of tasks for everybody.
        login_row("http.session-of-other-principal", |server| {
            server.of_other = server.sound.clone();
        })
        .topic("http.session-of-other-principal"),
        login_row("tasks.foreign-principal", |server| {
            server.sound = task_server::server(Revision::V2025_11_25, |_, _| ());
            server.of_other = server.sound.clone();
        })
        .topic("tasks.foreign-principal"),
        public_lists("cache.private-with-identity"),
        shared_states(),
        shared_answers(|arguments| arguments.get("check").is_none()),
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

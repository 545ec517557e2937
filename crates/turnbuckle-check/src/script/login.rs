//! An authorization server that approves everybody, and the gate of a server that demands its tokens.
//!
//! Written in plain JSON. It is lenient: a client that breaks a rule goes on, and checks read what it did.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use turnbuckle_types::base::random;
use url::{Url, form_urlencoded};

use super::lock;
use super::sound::SoundBody;

/// The path of the server that demands tokens.
pub(crate) const ENDPOINT: &str = "/mcp";

/// The path of the metadata of the resource, where a challenge names it.
pub(crate) const RESOURCE: &str = "/check/resource";

/// The path of the metadata of the resource without a challenge that names another.
pub(crate) const WELL_KNOWN_RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// The path of the metadata of an authorization server at the root of its host.
pub(crate) const WELL_KNOWN_ISSUER: &str = "/.well-known/oauth-authorization-server";

/// The places of the metadata of an authorization server with a path, in the order of the specification.
/// The last one is where they are.
pub(crate) const DEEP_ISSUER: [&str; 3] = [
    "/.well-known/oauth-authorization-server/check/tenant",
    "/.well-known/openid-configuration/check/tenant",
    "/check/tenant/.well-known/openid-configuration",
];

/// The path of the login page.
pub(crate) const AUTHORIZE: &str = "/check/authorize";

/// The path of the token endpoint.
pub(crate) const TOKEN: &str = "/check/token";

/// The path of registrations.
const REGISTER: &str = "/check/register";

/// The path of the keys of the authorization server, of which there are none.
const KEYS: &str = "/check/keys";

/// The path that says that a login page led back to the client.
pub(crate) const VISITED: &str = "/check/visited";

/// The scope that every request needs.
pub(crate) const READ: &str = "check:read";

/// The scope that calls of tools need in [`LoginKind::StepUp`].
pub(crate) const WRITE: &str = "check:write";

/// Registrations, codes and tokens that are given out, each.
const MAX_GRANTS: usize = 100;

/// One way in which a login goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoginKind {
    /// The right one: the challenge says where to look.
    Plain,
    /// The challenge names nothing, and the metadata stand in the last places where clients look.
    Hidden,
    /// A call of a tool needs another scope.
    StepUp,
    /// The metadata do not say that PKCE is supported.
    WithoutPkce,
    /// The login page leads back with another `state`.
    OtherState,
    /// The login page leads back with the `iss` of another authorization server.
    OtherIssuer,
    /// The metadata are those of another authorization server.
    OtherMetadata,
}

/// An authorization server, and the gate of the server at [`ENDPOINT`].
pub(crate) struct Login {
    kind: LoginKind,
    /// The origin of both.
    base: String,
    on_token: Box<dyn Fn(&str) + Send + Sync>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By the code: the scope that was asked for.
    codes: HashMap<String, String>,
    /// By the token: its scope.
    tokens: HashMap<String, String>,
    /// Queries of the login page that were answered.
    visited: HashSet<String>,
}

impl Login {
    /// Creates both at an origin. `on_token` is called with each token that is issued.
    pub(crate) fn new(
        kind: LoginKind,
        base: impl Into<String>,
        on_token: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self {
            kind,
            base: base.into(),
            on_token: Box::new(on_token),
            state: Mutex::default(),
        }
    }

    /// Answers a request that is for the authorization server, or that the gate refuses.
    pub(crate) fn respond(&self, request: &Request<Bytes>) -> Option<Response<SoundBody>> {
        let path = request.uri().path();
        let is_hidden = self.kind == LoginKind::Hidden;
        let (resource, issuer) = match is_hidden {
            true => (WELL_KNOWN_RESOURCE, DEEP_ISSUER[2]),
            false => (RESOURCE, WELL_KNOWN_ISSUER),
        };
        match (path, request.method()) {
            (ENDPOINT, _) => self.refuse(request),
            (path, &Method::GET) if path == resource => Some(json_reply(200, &self.resource())),
            (path, &Method::GET) if path == issuer => Some(json_reply(200, &self.metadata())),
            (REGISTER, &Method::POST) => Some(register(request.body())),
            (AUTHORIZE, &Method::GET) => Some(self.authorize(request.uri().query())),
            (TOKEN, &Method::POST) => Some(self.exchange(request.body())),
            (KEYS, &Method::GET) => Some(json_reply(200, &json!({"keys": []}))),
            (VISITED, _) => Some(reply(204)),
            _ => None,
        }
    }

    /// Returns the refusal of a request without a token that suffices.
    fn refuse(&self, request: &Request<Bytes>) -> Option<Response<SoundBody>> {
        let named = match self.kind {
            LoginKind::Hidden => String::new(),
            _ => format!(", resource_metadata=\"{}{RESOURCE}\"", self.base),
        };
        let scope = bearer(request.headers())
            .and_then(|token| lock(&self.state).tokens.get(token).cloned());
        let Some(scope) = scope else {
            return Some(challenge(401, &format!("Bearer scope=\"{READ}\"{named}")));
        };
        let has_scope = scope.split(' ').any(|it| it == WRITE);
        if self.kind == LoginKind::StepUp && !has_scope && is_call(request.body()) {
            let error = "Bearer error=\"insufficient_scope\"";
            return Some(challenge(
                403,
                &format!("{error}, scope=\"{WRITE}\"{named}"),
            ));
        }
        None
    }

    fn resource(&self) -> Value {
        let issuer = match self.kind {
            LoginKind::Hidden => format!("{}/check/tenant", self.base),
            _ => self.base.clone(),
        };
        json!({
            "resource": format!("{}{ENDPOINT}", self.base),
            "authorization_servers": [issuer],
            "scopes_supported": [READ, WRITE, "check:other"],
            "bearer_methods_supported": ["header"],
        })
    }

    fn metadata(&self) -> Value {
        let base = &self.base;
        let issuer = match self.kind {
            LoginKind::Hidden => format!("{base}/check/tenant"),
            LoginKind::OtherMetadata => format!("{base}/check/other"),
            _ => base.clone(),
        };
        let mut metadata = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{base}{AUTHORIZE}"),
            "token_endpoint": format!("{base}{TOKEN}"),
            "registration_endpoint": format!("{base}{REGISTER}"),
            "jwks_uri": format!("{base}{KEYS}"),
            "scopes_supported": [READ, WRITE, "check:other"],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": true,
        });
        if self.kind != LoginKind::WithoutPkce {
            metadata["code_challenge_methods_supported"] = json!(["S256"]);
        }
        metadata
    }

    /// Answers the login page: the user agrees at once. The same page again leads nowhere.
    fn authorize(&self, query: Option<&str>) -> Response<SoundBody> {
        let query = query.unwrap_or_default();
        let parameters: HashMap<_, _> = form_urlencoded::parse(query.as_bytes()).collect();
        let redirect = parameters.get("redirect_uri").map(|uri| Url::parse(uri));
        let Some(Ok(mut redirect)) = redirect else {
            return reply(400);
        };
        let Ok(code) = random::id() else {
            return reply(503);
        };
        let mut state = lock(&self.state);
        if state.codes.len() == MAX_GRANTS {
            return reply(503);
        }
        if !state.visited.insert(query.to_owned()) {
            return reply(204);
        }
        let scope = parameters.get("scope").map_or(READ, |scope| scope);
        state.codes.insert(code.clone(), scope.to_owned());
        drop(state);
        let issuer = match self.kind {
            LoginKind::OtherIssuer => format!("{}/check/other", self.base),
            LoginKind::Hidden => format!("{}/check/tenant", self.base),
            _ => self.base.clone(),
        };
        redirect
            .query_pairs_mut()
            .append_pair("code", &code)
            .append_pair("iss", &issuer);
        if let Some(state) = parameters.get("state") {
            let state = match self.kind {
                LoginKind::OtherState => "check-other-state",
                _ => state,
            };
            redirect.query_pairs_mut().append_pair("state", state);
        }
        with_header(reply(302), LOCATION, redirect.as_str())
    }

    fn exchange(&self, body: &Bytes) -> Response<SoundBody> {
        let parameters: HashMap<_, _> = form_urlencoded::parse(body).collect();
        let code = parameters.get("code").map_or("", |code| code);
        let mut state = lock(&self.state);
        let Some(scope) = state.codes.remove(code) else {
            return json_reply(400, &json!({"error": "invalid_grant"}));
        };
        let Some(token) = random::id()
            .ok()
            .filter(|_| state.tokens.len() < MAX_GRANTS)
        else {
            return reply(503);
        };
        state.tokens.insert(token.clone(), scope.clone());
        drop(state);
        (self.on_token)(&token);
        let granted = json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600,
            "scope": scope});
        with_header(json_reply(200, &granted), CACHE_CONTROL, "no-store")
    }
}

/// Returns the token in the header of a request.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn is_call(body: &Bytes) -> bool {
    let message: Value = serde_json::from_slice(body).unwrap_or_default();
    message["method"] == "tools/call"
}

/// Registers a client as it wishes, without a secret.
fn register(body: &Bytes) -> Response<SoundBody> {
    let Ok(Value::Object(mut client)) = serde_json::from_slice(body) else {
        return json_reply(400, &json!({"error": "invalid_client_metadata"}));
    };
    let Ok(id) = random::id() else {
        return reply(503);
    };
    client.insert("client_id".into(), id.into());
    client.insert("token_endpoint_auth_method".into(), "none".into());
    json_reply(201, &client.into())
}

fn reply(status: u16) -> Response<SoundBody> {
    let mut reply = Response::new(SoundBody::empty());
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    reply
}

fn json_reply(status: u16, body: &Value) -> Response<SoundBody> {
    let reply = reply(status).map(|_| SoundBody::full(body.to_string()));
    with_header(reply, CONTENT_TYPE, "application/json")
}

fn challenge(status: u16, challenge: &str) -> Response<SoundBody> {
    with_header(reply(status), WWW_AUTHENTICATE, challenge)
}

fn with_header(
    mut reply: Response<SoundBody>,
    name: http::HeaderName,
    value: &str,
) -> Response<SoundBody> {
    if let Ok(value) = value.parse() {
        reply.headers_mut().insert(name, value);
    }
    reply
}

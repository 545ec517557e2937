//! Clients that log in, with one fault for each check of logins.

use std::collections::BTreeSet;

use serde_json::Value;
use turnbuckle_wire::revision::Revision;

use super::{Headers, broken, request};
use crate::script::conduct::{Entry, Scenario};
use crate::script::login::{LoginKind, READ};

const REDIRECT: &str = "redirect_uri=http%3A%2F%2F127.0.0.1%3A7%2Fcallback";
const RESOURCE: &str = "resource=http%3A%2F%2F127.0.0.1%3A5%2Fmcp";
/// The SHA-256 of the verifier `check-verifier`.
const CHALLENGE: &str =
    "code_challenge=Uu7PtBbWGcTnEfLiXwr6BheQXl2HhQXbS58o-n-5lmY&code_challenge_method=S256";
const VERIFIER: &str = "code_verifier=check-verifier";

fn entry(method: &str, path: &str, token: Option<&str>) -> Entry {
    let mut headers: Headers = vec![
        ("host", "127.0.0.1:5".into()),
        ("accept", "application/json, text/event-stream".into()),
    ];
    headers.extend(token.map(|token| ("authorization", format!("Bearer {token}"))));
    request(method, path, &headers, Value::Null)
}

fn with_form(form: &str) -> Entry {
    let mut entry = entry("POST", "/check/token", None);
    if let Entry::Request { head, .. } = &mut entry {
        head.set_form(form.as_bytes());
    }
    entry
}

fn refusal(status: u16, token: Option<&str>) -> Entry {
    let mut entry = entry("POST", "/mcp", token);
    if let Entry::Request { head, .. } = &mut entry {
        head.refused = status;
    }
    entry
}

fn page(parameters: &[&str]) -> Entry {
    let query = parameters.join("&");
    entry("GET", &format!("/check/authorize?{query}"), None)
}

fn scope(scope: &str) -> String {
    format!("scope={}", scope.replace(':', "%3A").replace(' ', "+"))
}

/// Returns a right login, up to the token: its parts can be replaced.
fn login() -> Vec<Entry> {
    vec![
        refusal(401, None),
        entry("GET", "/check/resource", None),
        entry("GET", "/.well-known/oauth-authorization-server", None),
        page(&[REDIRECT, RESOURCE, CHALLENGE, &scope(READ)]),
        with_form(&format!(
            "grant_type=authorization_code&{RESOURCE}&{VERIFIER}"
        )),
        Entry::Token("t0k3n".into()),
        entry("POST", "/mcp", Some("t0k3n")),
        entry("GET", "/mcp", Some("t0k3n")),
    ]
}

fn with_entry(at: usize, entry: Entry) -> Vec<Entry> {
    let mut entries = login();
    entries[at] = entry;
    entries
}

/// Returns a right client whose login is hidden.
fn hidden() -> Vec<Entry> {
    let mut entries = login();
    let places = [
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-authorization-server/check/tenant",
        "/.well-known/openid-configuration/check/tenant",
        "/check/tenant/.well-known/openid-configuration",
    ];
    entries.splice(1..3, places.map(|place| entry("GET", place, None)));
    entries
}

/// Returns a right client that logs in again for a call.
fn step_up(second: &str) -> Vec<Entry> {
    let mut entries = login();
    entries.push(refusal(403, Some("t0k3n")));
    entries.push(page(&[REDIRECT, RESOURCE, CHALLENGE, &scope(second)]));
    entries
}

fn broken_by(kind: LoginKind, entries: Vec<Entry>) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    for revision in [Revision::NEWEST_LEGACY, Revision::NEWEST] {
        found.extend(broken(revision, Scenario::Login(kind), entries.clone()));
    }
    found
}

#[test]
fn a_right_login_breaks_no_rule() {
    use LoginKind::{Hidden, OtherIssuer, OtherMetadata, OtherState, Plain, StepUp, WithoutPkce};
    let rows = [
        (Plain, login()),
        (Hidden, hidden()),
        (StepUp, step_up("check:read check:write")),
        (WithoutPkce, login()[..3].to_vec()),
        (OtherMetadata, login()[..3].to_vec()),
        (OtherState, login()[..4].to_vec()),
        (OtherIssuer, login()[..4].to_vec()),
    ];
    for (kind, entries) in rows {
        assert_eq!(broken_by(kind, entries), BTreeSet::new(), "{kind:?}");
    }
}

/// Returns a client for each check of logins that breaks it.
pub(super) fn rows() -> Vec<(&'static str, LoginKind, Vec<Entry>)> {
    use LoginKind::{Hidden, OtherIssuer, OtherMetadata, OtherState, Plain, StepUp, WithoutPkce};
    let mut no_root = hidden();
    no_root.remove(2);
    let mut one_place = hidden();
    one_place.remove(4);
    let mut swapped = hidden();
    swapped.swap(1, 2);
    let asks = |form: &str| with_form(&format!("grant_type=authorization_code&{form}"));
    vec![
        (
            "client.resource-metadata",
            Plain,
            with_entry(1, entry("GET", "/check/no", None)),
        ),
        ("client.resource-metadata", Hidden, swapped),
        ("client.issuer-metadata", Hidden, one_place),
        (
            "client.metadata-issuer-checked",
            OtherMetadata,
            login()[..4].to_vec(),
        ),
        (
            "client.pkce",
            Plain,
            with_entry(3, page(&[REDIRECT, RESOURCE, &scope(READ)])),
        ),
        ("client.pkce", Plain, with_entry(4, asks(RESOURCE))),
        (
            "client.pkce",
            Plain,
            with_entry(4, asks(&format!("{RESOURCE}&code_verifier=other"))),
        ),
        (
            "client.pkce-support-checked",
            WithoutPkce,
            login()[..4].to_vec(),
        ),
        (
            "client.resource-parameter",
            Plain,
            with_entry(4, asks(VERIFIER)),
        ),
        (
            "client.resource-parameter",
            Plain,
            with_entry(
                3,
                page(&[
                    REDIRECT,
                    "resource=http%3A%2F%2Fother",
                    CHALLENGE,
                    &scope(READ),
                ]),
            ),
        ),
        (
            "client.redirect-uri",
            Plain,
            with_entry(
                3,
                page(&[
                    "redirect_uri=http%3A%2F%2Fa.example",
                    RESOURCE,
                    CHALLENGE,
                    &scope(READ),
                ]),
            ),
        ),
        (
            "client.challenge-scope",
            Plain,
            with_entry(
                3,
                page(&[
                    REDIRECT,
                    RESOURCE,
                    CHALLENGE,
                    &scope("check:read check:other"),
                ]),
            ),
        ),
        ("client.state-checked", OtherState, login()[..5].to_vec()),
        ("client.issuer-checked", OtherIssuer, login()[..5].to_vec()),
        (
            "client.token-in-header",
            Plain,
            with_entry(7, entry("GET", "/mcp", None)),
        ),
        ("client.no-token-in-query", Plain, {
            with_entry(7, entry("GET", "/mcp?access_token=t0k3n", Some("t0k3n")))
        }),
        ("client.token-stays", Plain, {
            let mut entries = login();
            entries.push(entry("GET", "/check/elsewhere", Some("t0k3n")));
            entries
        }),
        ("client.step-up", StepUp, step_up("check:write")),
        ("client.step-up", StepUp, step_up("check:read")),
    ]
}

#[test]
fn each_fault_of_a_login_is_found_by_its_check_alone() {
    for (id, kind, entries) in rows() {
        assert_eq!(broken_by(kind, entries), BTreeSet::from([id]), "{id}");
    }
}

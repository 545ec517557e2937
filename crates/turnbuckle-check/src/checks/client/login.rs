//! Checks of logins: how a client finds the authorization server, asks it for a token, and uses the token.
//!
//! Specification: basic/authorization.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use turnbuckle_types::base::host::is_loopback;
use url::Url;

use crate::case::Bind;
use crate::check::Check;
use crate::report::Level;
use crate::script::conduct::{Breach, Entry, Head, Outcome, Run, Scenario};
use crate::script::login::{
    AUTHORIZE, DEEP_ISSUER, ENDPOINT, LoginKind, READ, RESOURCE, TOKEN, VISITED, WELL_KNOWN_ISSUER,
    WELL_KNOWN_RESOURCE, WRITE,
};
use crate::script::visit::VISITOR;

const HTTP: &[Bind] = &[Bind::Http];

pub(super) const CHECKS: &[Check] = &[
    Check::client(
        "client.resource-metadata",
        Level::Must,
        "the metadata of a server are read where its challenge says, or else at the well-known URIs",
        resource_metadata,
    )
    .only_over(HTTP)
    .requires(&["397e8ba9452e", "4d66f7be6f6a", "78cc07722237"])
    .fix("read `resource_metadata` of WWW-Authenticate; without it ask the well-known URI of the path, then that of the root"),
    Check::client(
        "client.issuer-metadata",
        Level::Must,
        "the metadata of an authorization server with a path are looked for at each place, in order",
        issuer_metadata,
    )
    .only_over(HTTP)
    .requires(&["7a2391561cdd", "babd98adaf58", "3d733691eafe", "4a793592e88c"])
    .fix("try RFC 8414 with the path inserted, then OpenID Connect with the path inserted, then appended"),
    Check::client(
        "client.metadata-issuer-checked",
        Level::Must,
        "metadata whose `issuer` is another authorization server are not used",
        metadata_issuer,
    )
    .only_over(HTTP)
    .modern()
    .requires(&["8575aa56683b", "87796f91f40f"])
    .fix("compare `issuer` of the metadata with the identifier that their URL was made from"),
    Check::client(
        "client.pkce",
        Level::Must,
        "a login proves its code by PKCE with S256",
        pkce,
    )
    .only_over(HTTP)
    .requires(&["378b35bc3977", "49ea5114d240"])
    .fix("send `code_challenge` with the method S256, and its `code_verifier` with the code"),
    Check::client(
        "client.pkce-support-checked",
        Level::Must,
        "an authorization server that does not name PKCE is not used",
        pkce_support,
    )
    .only_over(HTTP)
    .requires(&["83a513aaf0da", "98361036fb4f", "cd58ea0d15ae"])
    .fix("stop when the metadata have no `code_challenge_methods_supported`"),
    Check::client(
        "client.resource-parameter",
        Level::Must,
        "both requests of a login name the server by `resource`",
        resource_parameter,
    )
    .only_over(HTTP)
    .requires(&["671d1d24494a", "1c70e7d84209", "599b20164796", "97c80688c927", "45decc3ef68f"])
    .fix("send the server's URL as `resource` (RFC 8707) to the login page and to the token endpoint"),
    Check::client(
        "client.redirect-uri",
        Level::Must,
        "a login leads back to this machine, or to HTTPS",
        redirect_uri,
    )
    .only_over(HTTP)
    .requires(&["7042b83154ca", "5452aaca7d95"])
    .fix("use a redirect URI on 127.0.0.1 or localhost, or one of HTTPS"),
    Check::client(
        "client.challenge-scope",
        Level::Should,
        "a login asks for the scopes of the challenge",
        challenge_scope,
    )
    .only_over(HTTP)
    .requires(&["b11f9c890cfa", "8a1d74080686"])
    .fix("ask for the `scope` of WWW-Authenticate, and for no more"),
    Check::client(
        "client.state-checked",
        Level::Should,
        "a login that comes back with another `state` is discarded",
        state_checked,
    )
    .only_over(HTTP)
    .requires(&["2a9fab7eac31"])
    .fix("send a `state`, and throw answers away that have none or another"),
    Check::client(
        "client.issuer-checked",
        Level::Must,
        "a login that comes back with the `iss` of another authorization server is discarded",
        issuer_checked,
    )
    .only_over(HTTP)
    .modern()
    .requires(&["0870de85907e"])
    .fix("compare `iss` with the issuer in the metadata before the code is sent anywhere"),
    Check::client(
        "client.token-in-header",
        Level::Must,
        "every request has the token in its Authorization header",
        token_in_header,
    )
    .only_over(HTTP)
    .requires(&["93a52234bbcb", "a93ce58267b6", "57923699172c"])
    .fix("send `Authorization: Bearer …` with every request, also with GET and DELETE"),
    Check::client(
        "client.no-token-in-query",
        Level::Must,
        "no token is in a URL",
        token_in_query,
    )
    .only_over(HTTP)
    .requires(&["5545d04935b0"])
    .fix("send tokens in the Authorization header alone"),
    Check::client(
        "client.token-stays",
        Level::Note,
        "a token goes to the server that it is for, and nowhere else",
        token_stays,
    )
    .only_over(HTTP)
    .fix("send a token to the origin and the path alone that it was asked for"),
    Check::client(
        "client.step-up",
        Level::Should,
        "a call that needs another scope leads to a login with that scope",
        step_up,
    )
    .only_over(HTTP)
    .requires(&["a0a2e8f8f7bb", "471dbea3725b"])
    .fix("on 403 with `insufficient_scope` log in again, for the scopes so far and those of the challenge"),
];

const NO_LOGIN: &str = "the servers demand no login; --login lets some of them demand one";
const NOT_BEGUN: &str = "the client begins no login";
const NOT_LED_BACK: &str = "no login led back to the client";
const NO_TOKEN: &str = "the client asked for no token";

/// Returns how the login goes; `Err` if there is none, or the client does not begin it.
fn login(run: &Run) -> Result<LoginKind, &'static str> {
    let Scenario::Login(kind) = run.scenario else {
        return Err(NO_LOGIN);
    };
    let is_begun = heads(run).any(|head| head.path != ENDPOINT);
    is_begun.then_some(kind).ok_or(NOT_BEGUN)
}

/// Returns whether a login goes in a way.
fn goes(run: &Run, kind: LoginKind) -> Result<(), &'static str> {
    match login(run)? == kind {
        true => Ok(()),
        false => Err("the client gave no occasion to look"),
    }
}

fn heads(run: &Run) -> impl Iterator<Item = &Head> {
    run.entries.iter().filter_map(|entry| match entry {
        Entry::Request { head, .. } => Some(&**head),
        _ => None,
    })
}

/// Returns the requests to a path.
fn requests_at<'r>(run: &'r Run, path: &'r str) -> impl Iterator<Item = &'r Head> {
    heads(run).filter(move |head| head.path == path)
}

/// Returns the queries of login pages.
fn authorizations(run: &Run) -> impl Iterator<Item = &Head> {
    requests_at(run, AUTHORIZE)
}

/// Returns the requests of tokens for a code.
fn exchanges(run: &Run) -> impl Iterator<Item = &Head> {
    requests_at(run, TOKEN)
        .filter(|head| head.parameter("grant_type") == Some("authorization_code"))
}

fn found(sentence: impl Into<String>) -> Breach {
    Breach {
        sentence: sentence.into(),
        message: None,
    }
}

/// Returns breaches unless the paths were asked for in this order.
fn in_order(run: &Run, places: &[String], what: &str) -> Vec<Breach> {
    let position = |place: &String| heads(run).position(|head| head.path == *place);
    let positions: Vec<_> = places.iter().map(position).collect();
    let missing = places.iter().zip(&positions);
    let missing: Vec<_> = missing
        .filter(|(_, position)| position.is_none())
        .map(|(place, _)| found(format!("{what} are not looked for at {place}")))
        .collect();
    if missing.is_empty() && !positions.is_sorted() {
        return vec![found(format!("{what} are looked for in another order"))];
    }
    missing
}

fn resource_metadata(run: &Run) -> Outcome {
    const WHAT: &str = "the metadata of the server";
    let places = match login(run)? {
        LoginKind::Hidden => vec![
            format!("{WELL_KNOWN_RESOURCE}{ENDPOINT}"),
            WELL_KNOWN_RESOURCE.to_owned(),
        ],
        _ => vec![RESOURCE.to_owned()],
    };
    Ok(in_order(run, &places, WHAT))
}

fn issuer_metadata(run: &Run) -> Outcome {
    goes(run, LoginKind::Hidden)?;
    if requests_at(run, WELL_KNOWN_RESOURCE).next().is_none() {
        return Err("the client does not find the metadata of the server");
    }
    let places = DEEP_ISSUER.map(str::to_owned);
    Ok(in_order(
        run,
        &places,
        "the metadata of the authorization server",
    ))
}

/// Judges a login that must end at the metadata of its authorization server.
fn ends_at_metadata(run: &Run, kind: LoginKind, sentence: &str) -> Outcome {
    goes(run, kind)?;
    if requests_at(run, WELL_KNOWN_ISSUER).next().is_none() {
        return Err("the client does not read the metadata of the authorization server");
    }
    let opened = authorizations(run).next();
    Ok(opened.map(|_| found(sentence)).into_iter().collect())
}

fn metadata_issuer(run: &Run) -> Outcome {
    let sentence = "the login page of metadata is opened whose `issuer` is another";
    ends_at_metadata(run, LoginKind::OtherMetadata, sentence)
}

fn pkce_support(run: &Run) -> Outcome {
    let sentence = "the login page is opened although the metadata do not name PKCE";
    ends_at_metadata(run, LoginKind::WithoutPkce, sentence)
}

fn pkce(run: &Run) -> Outcome {
    login(run)?;
    let mut breaches = Vec::new();
    let mut challenges = Vec::new();
    for head in authorizations(run) {
        let method = head.parameter("code_challenge_method");
        match head.parameter("code_challenge") {
            Some(challenge) if method == Some("S256") => challenges.push(challenge),
            Some(_) => breaches.push(found(format!(
                "`code_challenge_method` is {} instead of S256",
                method.unwrap_or("missing")
            ))),
            None => breaches.push(found(
                "the login page is asked for without `code_challenge`",
            )),
        }
    }
    for head in exchanges(run) {
        let Some(verifier) = head.parameter("code_verifier") else {
            breaches.push(found("a code is sent without `code_verifier`"));
            continue;
        };
        let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
        if !challenges.is_empty() && !challenges.contains(&&*hash) {
            breaches.push(found("`code_verifier` is not that of the `code_challenge`"));
        }
    }
    match authorizations(run).next() {
        Some(_) => Ok(breaches),
        None => Err("the client opens no login page"),
    }
}

/// Returns whether a URL names a server: it, or what its path begins with.
fn names(resource: &str, server: &Url) -> bool {
    let Ok(url) = Url::parse(resource) else {
        return false;
    };
    let path = url.path().trim_end_matches('/');
    let rest = server.path().strip_prefix(path);
    url.origin() == server.origin()
        && url.fragment().is_none()
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn resource_parameter(run: &Run) -> Outcome {
    login(run)?;
    let host = requests_at(run, ENDPOINT).find_map(|head| head.header("host"));
    let server = Url::parse(&format!("http://{}{ENDPOINT}", host.unwrap_or_default()));
    let server = server.map_err(|_| "the client names no host")?;
    let mut breaches = Vec::new();
    let pages = authorizations(run).map(|head| ("login page", head));
    for (place, head) in pages.chain(exchanges(run).map(|head| ("token endpoint", head))) {
        match head.parameter("resource") {
            Some(resource) if names(resource, &server) => {}
            Some(resource) => breaches.push(found(format!(
                "`resource` at the {place} is {resource}, and the server is {server}"
            ))),
            None => breaches.push(found(format!(
                "the request to the {place} has no `resource`"
            ))),
        }
    }
    match authorizations(run).next() {
        Some(_) => Ok(breaches),
        None => Err("the client opens no login page"),
    }
}

fn redirect_uri(run: &Run) -> Outcome {
    login(run)?;
    let mut breaches = Vec::new();
    for head in authorizations(run) {
        let text = head.parameter("redirect_uri").unwrap_or_default();
        let is_right = Url::parse(text)
            .is_ok_and(|url| url.scheme() == "https" || url.host_str().is_some_and(is_loopback));
        // A scheme of its own belongs to an installed program.
        let is_web = text.starts_with("http:") || text.is_empty();
        if is_web && !is_right {
            breaches.push(found(format!("the login leads back to {text:?}")));
        }
    }
    match authorizations(run).next() {
        Some(_) => Ok(breaches),
        None => Err("the client opens no login page"),
    }
}

fn challenge_scope(run: &Run) -> Outcome {
    goes(run, LoginKind::Plain)?;
    let Some(head) = authorizations(run).next() else {
        return Err("the client opens no login page");
    };
    let scope = head.parameter("scope").unwrap_or_default();
    // Clients may ask for a refresh token by a scope.
    let mut asked = scope
        .split_whitespace()
        .filter(|it| *it != "offline_access");
    let is_right = asked.next() == Some(READ) && asked.next().is_none();
    let sentence =
        format!("the login asks for the scope {scope:?}, and the challenge for {READ:?}");
    Ok((!is_right).then(|| found(sentence)).into_iter().collect())
}

/// Judges a login that must end when it comes back to the client.
fn ends_when_back(run: &Run, kind: LoginKind, sentence: &str) -> Outcome {
    goes(run, kind)?;
    let is_own = |head: &Head| head.header("user-agent") != Some(VISITOR);
    let is_back = requests_at(run, VISITED).next().is_some() || authorizations(run).any(is_own);
    if !is_back {
        return Err(NOT_LED_BACK);
    }
    let used = exchanges(run).next();
    Ok(used.map(|_| found(sentence)).into_iter().collect())
}

fn state_checked(run: &Run) -> Outcome {
    let sentence = "the code of a login is used that came back with another `state`";
    ends_when_back(run, LoginKind::OtherState, sentence)
}

fn issuer_checked(run: &Run) -> Outcome {
    let sentence = "the code of a login is used that came back with another `iss`";
    ends_when_back(run, LoginKind::OtherIssuer, sentence)
}

/// Returns the requests to the server after a token was issued, with its place in the record.
fn after_token(run: &Run) -> Result<impl Iterator<Item = &Head>, &'static str> {
    login(run)?;
    let mut entries = run.entries.iter();
    let issued = entries.find(|entry| matches!(entry, Entry::Token(_)));
    issued.ok_or(NO_TOKEN)?;
    Ok(entries.filter_map(|entry| match entry {
        Entry::Request { head, .. } if head.path == ENDPOINT => Some(&**head),
        _ => None,
    }))
}

fn tokens(run: &Run) -> impl Iterator<Item = &str> {
    run.entries.iter().filter_map(|entry| match entry {
        Entry::Token(token) => Some(&**token),
        _ => None,
    })
}

fn token_in_header(run: &Run) -> Outcome {
    // What was under way when the token came has none.
    let first = |head: &&Head| head.bearer().is_none();
    let mut breaches = Vec::new();
    for head in after_token(run)?.skip_while(first) {
        if head.bearer().is_none() {
            breaches.push(found(format!(
                "a {} after the login has no token",
                head.method
            )));
        }
    }
    let mut later = after_token(run)?.peekable();
    if later.peek().is_some() && later.all(|head| head.bearer().is_none()) {
        breaches.push(found(
            "no request after the login has the token in its header",
        ));
    }
    Ok(breaches)
}

fn token_in_query(run: &Run) -> Outcome {
    login(run)?;
    tokens(run).next().ok_or(NO_TOKEN)?;
    let has_token = |head: &&Head| {
        let mut query = head.query.iter();
        query.any(|(_, value)| tokens(run).any(|token| token == value))
    };
    let breaches = heads(run).filter(has_token);
    Ok(breaches
        .map(|head| {
            found(format!(
                "the URL of a {} to {} has the token",
                head.method, head.path
            ))
        })
        .collect())
}

fn token_stays(run: &Run) -> Outcome {
    login(run)?;
    tokens(run).next().ok_or(NO_TOKEN)?;
    let elsewhere = heads(run).filter(|head| head.path != ENDPOINT && head.bearer().is_some());
    Ok(elsewhere
        .map(|head| found(format!("a {} to {} has the token", head.method, head.path)))
        .collect())
}

fn step_up(run: &Run) -> Outcome {
    goes(run, LoginKind::StepUp)?;
    let is_refused = |entry: &Entry| match entry {
        Entry::Request { head, .. } => head.refused == 403,
        _ => false,
    };
    let Some(call) = run.entries.iter().position(is_refused) else {
        return Err("the client calls no tool");
    };
    let later = run
        .entries
        .iter()
        .skip(call)
        .filter_map(|entry| match entry {
            Entry::Request { head, .. } if head.path == AUTHORIZE => head.parameter("scope"),
            _ => None,
        });
    let scopes: Vec<_> = later.collect();
    let has = |scope: &str, wanted: &str| scope.split_whitespace().any(|it| it == wanted);
    let Some(scope) = scopes.iter().find(|scope| has(scope, WRITE)) else {
        let sentence =
            format!("a call is refused for lack of {WRITE:?}, and no login for it follows");
        return Ok(vec![found(sentence)]);
    };
    let is_lost = run.case.is_modern() && !has(scope, READ);
    let sentence =
        format!("the second login asks for {scope:?}, without {READ:?} of the first one");
    Ok(is_lost.then(|| found(sentence)).into_iter().collect())
}

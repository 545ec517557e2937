//! The routes of the page: its files, and the requests of its script, each of which is one call of the
//! engine.

use std::str::FromStr;
use std::sync::Arc;

use http::header::{CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_TYPE, SET_COOKIE};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use hyper::body::Incoming;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use turnbuckle_inspector::api::{ItemKind, OpenSource, page};
use turnbuckle_inspector::values::OpenPaths;
use turnbuckle_inspector::{Inspector, InspectorError};
use url::form_urlencoded;

use super::access::Refusal;
use super::body::{BodyFault, read_body};
use super::events::EventBody;
use super::reply::{Reply, content, done, event_stream, json, refuse, reply};
use super::server::Site;
use crate::error::CliError;

/// The most bytes of a body with a value that the user typed, and of any other one.
const MAX_VALUE_BYTES: usize = 32 << 20;
const MAX_SMALL_BYTES: usize = 16 * 1024;
/// The state of the page has a bound of its own, which has an error of its own.
const MAX_PLACE_BYTES: usize = 2 << 20;

/// The media type of what a server or a user wrote.
const TEXT: &str = "text/plain; charset=utf-8";

/// The most segments of a path.
const MAX_SEGMENTS: usize = 8;

/// The reason why a request has no other answer.
enum Fault {
    Refused(Refusal),
    Body(BodyFault),
    Engine(InspectorError),
    Malformed(String),
    NoRoute,
    TooManyStreams,
}

type Answer = Result<Reply, Fault>;

/// Answers a request.
pub(super) async fn answer(site: &Arc<Site>, request: Request<Incoming>) -> Reply {
    match route(site, request).await {
        Ok(reply) => reply,
        Err(fault) => fault.to_reply(),
    }
}

async fn route(site: &Arc<Site>, request: Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    let access = &site.access;
    access.check_origin(&head.headers)?;
    let path = head.uri.path();
    let is_read = matches!(head.method, Method::GET | Method::HEAD);
    if let Some(file) = page(path).filter(|_| is_read) {
        let mut reply = reply(StatusCode::OK, file.content_type, file.bytes);
        if let Some(encoding) = file.encoding {
            let encoding = HeaderValue::from_static(encoding);
            reply.headers_mut().insert(CONTENT_ENCODING, encoding);
        }
        return Ok(reply);
    }
    let segments = segments_of(path).ok_or(Fault::NoRoute)?;
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let ["api", segments @ ..] = &segments[..] else {
        return Err(Fault::NoRoute);
    };
    if let (&Method::POST, ["login"]) = (&head.method, segments) {
        check_is_json(&head.headers)?;
        let login: Login = parse(&read_body(body, MAX_SMALL_BYTES).await?)?;
        let mut done = done();
        if let Some(cookie) = access.log_in(&login.code, &head.headers)? {
            let cookie = HeaderValue::from_str(&cookie).map_err(|_| Fault::NoRoute)?;
            done.headers_mut().insert(SET_COOKIE, cookie);
        }
        return Ok(done);
    }
    access.check_cookie(&head.headers)?;
    let query = Query::new(head.uri.query().unwrap_or_default());
    match head.method {
        Method::GET => get(site, segments, query).await,
        Method::DELETE => match segments {
            ["sessions", session, "subscriptions", uri] => {
                site.inspector.unsubscribe(session, uri)?;
                Ok(done())
            }
            _ => Err(Fault::NoRoute),
        },
        Method::POST | Method::PUT => {
            check_is_json(&head.headers)?;
            let max_bytes = match segments {
                ["place"] => MAX_PLACE_BYTES,
                ["inbox", _] | ["sessions", _, "requests" | "expand" | "automatic"] => {
                    MAX_VALUE_BYTES
                }
                _ => MAX_SMALL_BYTES,
            };
            let body = read_body(body, max_bytes).await?;
            change(site, &head.method, segments, body).await
        }
        _ => Err(Fault::NoRoute),
    }
}

/// Answers a request that changes nothing.
async fn get(site: &Arc<Site>, segments: &[&str], query: Query) -> Answer {
    let inspector = &site.inspector;
    match *segments {
        ["events"] => {
            let permit = site.streams.clone().try_acquire_owned();
            let permit = permit.map_err(|_| Fault::TooManyStreams)?;
            let changes = inspector.changes();
            let batches = changes.batches(changes.versions());
            Ok(event_stream(EventBody::new(batches, permit)))
        }
        ["state"] => {
            site.opener.refresh_servers().await;
            Ok(json(&inspector.state()))
        }
        ["sessions", session, "check"] => Ok(json(&inspector.check_run(session)?)),
        ["sessions", session, "items", kind] => {
            let (session, kind) = (session.to_owned(), parse_kind(kind)?);
            let (from, count) = query.window()?;
            let filter = query.text("filter").to_owned();
            site.read(move |inspector| {
                let items = inspector.items(&session, kind, &filter, from, count)?;
                Ok(json(&items))
            })
            .await
        }
        ["sessions", session, "items", kind, key] => {
            let (session, kind, key) = (session.to_owned(), parse_kind(kind)?, key.to_owned());
            site.read(move |inspector| Ok(json(&inspector.definition(&session, kind, &key)?)))
                .await
        }
        ["timeline"] => {
            let from = query.number("from", 0)?;
            let count = query.number("count", 100)?;
            site.read(move |inspector| {
                Ok(json(&inspector.query(query.text("filter"), from, count)))
            })
            .await
        }
        ["timeline", n] => Ok(json(&inspector.entry(parse_number(n)?)?)),
        ["timeline", n, view] => {
            let (n, view) = (parse_number(n)?, view.to_owned());
            site.read(move |inspector| entry(inspector, n, &view, &query))
                .await
        }
        ["timeline", n, "blob", path] => {
            let (n, path) = (parse_number(n)?, path.to_owned());
            site.read(move |inspector| {
                let blob = inspector.blob(n, &path)?;
                Ok(content(blob.media_type, blob.bytes))
            })
            .await
        }
        _ => Err(Fault::NoRoute),
    }
}

/// Answers a request for a view of one entry.
fn entry(inspector: &Inspector, n: u64, view: &str, query: &Query) -> Answer {
    let at = query.texts("at").next();
    let open = || {
        let depth = query.number("depth", 1)?;
        Ok::<_, Fault>(OpenPaths::new(depth, query.texts("toggle")))
    };
    let from = || query.number("from", 0);
    Ok(match view {
        "rows" => {
            let (from, count) = query.window()?;
            json(&inspector.rows(n, at, &open()?, from, count)?)
        }
        "row" => {
            let index = inspector.row_index(n, at, &open()?, query.text("path"))?;
            json(&json!({ "index": index }))
        }
        "search" => json(&inspector.search(n, at, query.text("text"), from()?)?),
        "blocks" => {
            let (from, count) = query.window()?;
            json(&inspector.blocks(n, from, count)?)
        }
        "text" => json(&inspector.text(n, query.text("block"), from()?)?),
        "raw" => {
            let download = inspector.raw(n, at)?;
            let mut raw = content(TEXT, download.bytes);
            let name = format!("attachment; filename=\"{}\"", download.file_name);
            if let Ok(name) = HeaderValue::from_str(&name) {
                raw.headers_mut().insert(CONTENT_DISPOSITION, name);
            }
            raw
        }
        "copy" => {
            let format = serde_json::from_value(query.text("as").into());
            let format = format.map_err(|error| parse_fault(&error))?;
            content(TEXT, inspector.copy(n, format)?)
        }
        _ => return Err(Fault::NoRoute),
    })
}

/// Answers a request that changes something.
async fn change(site: &Arc<Site>, method: &Method, segments: &[&str], body: Vec<u8>) -> Answer {
    let inspector = &site.inspector;
    match (method, segments) {
        (&Method::PUT, ["place"]) => {
            let text = String::from_utf8(body).map_err(|error| parse_fault(&error))?;
            inspector.set_place(text)?;
        }
        (&Method::POST, ["inbox", question]) => {
            return Ok(json(&inspector.answer(question, parse(&body)?)));
        }
        (&Method::POST, ["sessions"]) => {
            let id = inspector.open(parse::<OpenSource>(&body)?)?;
            return Ok(json(&json!({ "id": id })));
        }
        (&Method::POST, ["servers", name, "consent"]) => {
            let given: GivenConsent = parse(&body)?;
            site.opener.agree(name, &given.digest).await?;
        }
        (&Method::POST, ["sessions", session, "automatic"]) => {
            inspector.set_automatic(session, parse(&body)?)?;
        }
        (&Method::POST, ["sessions", session, "requests"]) => {
            let sent = inspector.send(session, parse(&body)?).await?;
            return Ok(json(&sent));
        }
        (&Method::POST, ["sessions", session, "complete"]) => {
            let completion = inspector.complete(session, parse(&body)?).await?;
            return Ok(json(&completion));
        }
        (&Method::POST, ["sessions", _, "expand"]) => {
            let wanted: Expansion = parse(&body)?;
            let uri = inspector.expand(&wanted.template, &wanted.arguments)?;
            return Ok(json(&json!({ "uri": uri })));
        }
        (&Method::POST, ["sessions", session, "requests", n, "cancel"]) => {
            inspector.cancel(session, parse_number(n)?)?;
        }
        (&Method::POST, ["sessions", session, "subscriptions"]) => {
            let wanted: SubscriptionTo = parse(&body)?;
            inspector.subscribe(session, wanted.uri).await?;
        }
        (&Method::POST, ["sessions", session, "log-level"]) => {
            let wanted: LogLevel = parse(&body)?;
            inspector.set_log_level(session, &wanted.level).await?;
        }
        (&Method::POST, ["sessions", session, "check"]) => inspector.start_check(session)?,
        (&Method::POST, ["sessions", session, "restart"]) => inspector.restart(session).await?,
        (&Method::POST, ["sessions", session, "login"]) => inspector.log_in(session).await?,
        (&Method::POST, ["sessions", session, "close"]) => inspector.close(session).await?,
        (&Method::POST, ["sessions", session, "refresh"]) => inspector.refresh(session)?,
        _ => return Err(Fault::NoRoute),
    }
    Ok(done())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    code: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenConsent {
    digest: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubscriptionTo {
    uri: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expansion {
    template: String,
    /// The values of the variables: JSON text of an object.
    arguments: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LogLevel {
    level: String,
}

/// Returns the decoded segments of a path.
fn segments_of(path: &str) -> Option<Vec<String>> {
    let segments = path.strip_prefix('/')?.split('/');
    let decode = |segment| percent_decode_str(segment).decode_utf8().ok();
    let decoded: Option<Vec<_>> = segments
        .take(MAX_SEGMENTS + 1)
        .map(|segment| decode(segment).map(|segment| segment.into_owned()))
        .collect();
    decoded.filter(|segments| segments.len() <= MAX_SEGMENTS)
}

/// The parameters of a query.
struct Query(Vec<(String, String)>);

impl Query {
    fn new(query: &str) -> Self {
        Self(
            form_urlencoded::parse(query.as_bytes())
                .into_owned()
                .collect(),
        )
    }

    fn texts<'q>(&'q self, name: &'static str) -> impl Iterator<Item = &'q str> + use<'q> {
        let of_name = self.0.iter().filter(move |(known, _)| known == name);
        of_name.map(|(_, value)| value.as_str())
    }

    fn text(&self, name: &'static str) -> &str {
        self.texts(name).next().unwrap_or_default()
    }

    fn number<N: FromStr>(&self, name: &'static str, default: N) -> Result<N, Fault> {
        match self.text(name) {
            "" => Ok(default),
            text => parse_number(text),
        }
    }

    fn window(&self) -> Result<(usize, usize), Fault> {
        Ok((self.number("from", 0)?, self.number("count", 100)?))
    }
}

fn parse_number<N: FromStr>(text: &str) -> Result<N, Fault> {
    let number = text.parse();
    number.map_err(|_| Fault::Malformed(format!("{text:?} is not a number here")))
}

fn parse_kind(text: &str) -> Result<ItemKind, Fault> {
    let kind = serde_json::from_value(text.into());
    kind.map_err(|_| Fault::NoRoute)
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(body).map_err(|error| parse_fault(&error))
}

fn parse_fault(error: &dyn std::fmt::Display) -> Fault {
    Fault::Malformed(format!("the request is not understood: {error}"))
}

/// Checks that a body is declared as JSON, which forms of other pages cannot do.
fn check_is_json(headers: &HeaderMap) -> Result<(), Fault> {
    let declared = headers.get(CONTENT_TYPE);
    match declared.is_some_and(|declared| declared == "application/json") {
        true => Ok(()),
        false => Err(Fault::Malformed(
            "the body is not declared as application/json".to_owned(),
        )),
    }
}

impl Fault {
    fn to_reply(&self) -> Reply {
        match self {
            Self::Refused(Refusal::Foreign) => refuse(
                StatusCode::FORBIDDEN,
                "only the page itself is served: open the address that turnbuckle printed",
            ),
            Self::Refused(Refusal::Unknown) => refuse(
                StatusCode::UNAUTHORIZED,
                "this browser is not logged in: press Enter in the terminal of turnbuckle for a \
                 new address",
            ),
            Self::Refused(Refusal::TooMany) => refuse(
                StatusCode::TOO_MANY_REQUESTS,
                "too many wrong codes: wait a minute, then press Enter in the terminal of \
                 turnbuckle for a new address",
            ),
            Self::Body(fault) => refuse(fault.status(), &fault.to_string()),
            Self::Engine(error @ InspectorError::NotFound(_)) => {
                refuse(StatusCode::NOT_FOUND, &error.to_string())
            }
            Self::Engine(error) => refuse(StatusCode::CONFLICT, &error.to_string()),
            Self::Malformed(reason) => refuse(StatusCode::BAD_REQUEST, reason),
            Self::NoRoute => refuse(StatusCode::NOT_FOUND, "there is nothing at this address"),
            Self::TooManyStreams => refuse(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many tabs are open: close one",
            ),
        }
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<BodyFault> for Fault {
    fn from(fault: BodyFault) -> Self {
        Self::Body(fault)
    }
}

impl From<CliError> for Fault {
    fn from(error: CliError) -> Self {
        Self::Engine(InspectorError::Refused(error.sentence()))
    }
}

impl From<InspectorError> for Fault {
    fn from(error: InspectorError) -> Self {
        Self::Engine(error)
    }
}

impl Site {
    /// Reads something that may be big, away from the threads that answer other requests.
    async fn read(
        self: &Arc<Self>,
        read: impl FnOnce(&Inspector) -> Answer + Send + 'static,
    ) -> Answer {
        // The semaphore is never closed.
        let permit = self.reads.clone().acquire_owned().await.ok();
        let site = self.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let read = read(&site.inspector);
            drop(permit);
            read
        });
        let read = reading.await;
        read.unwrap_or_else(|_| Err(Fault::Malformed("reading was interrupted".to_owned())))
    }
}

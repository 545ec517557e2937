//! Faults of Streamable HTTP: requests and their headers.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request, StatusCode, Uri};
use serde_json::{Value, json};
use turnbuckle_check::Bind;
use turnbuckle_check::script::Sound;
use turnbuckle_wire::revision::Revision;

use crate::harness::{MARK, Row, marking, row};

/// The header of the session of a request.
const SESSION_ID: &str = "mcp-session-id";

/// Returns a server that does not look at a header.
fn blind(header: &'static str) -> Sound {
    Sound::new().on_request(move |request| {
        request.headers_mut().remove(header);
    })
}

fn message_of(request: &Request<Bytes>) -> Value {
    serde_json::from_slice(request.body()).unwrap_or_default()
}

/// Returns a server that believes its own reading of the message rather than a header; `expected` returns
/// what the header should say, if it is to be put right.
fn trusting(
    header: &'static str,
    expected: impl Fn(&Value, Option<&str>) -> Option<String> + Send + Sync + 'static,
) -> Sound {
    let header = HeaderName::from_static(header);
    Sound::new().on_request(move |request| {
        let found = request
            .headers()
            .get(&header)
            .and_then(|it| it.to_str().ok());
        let Some(expected) = expected(&message_of(request), found) else {
            return;
        };
        let value = HeaderValue::from_str(&expected).unwrap();
        request.headers_mut().insert(&header, value);
    })
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Returns a server that changes the status of some responses.
fn status(
    is_it: impl Fn(&http::request::Parts, StatusCode) -> bool + Send + Sync + 'static,
    status: StatusCode,
) -> Sound {
    Sound::new().on_head(move |request, head| {
        if is_it(request, head.status) {
            head.status = status;
        }
    })
}

pub(crate) fn rows() -> Vec<Row> {
    let version = trusting("mcp-protocol-version", |message, _| {
        text(&message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"])
    });
    let is_other_case = |found: Option<&str>, method: &str| {
        found.is_some_and(|found| found != method && found.eq_ignore_ascii_case(method))
    };
    let is_modern = |message: &Value| message["params"].get("_meta").is_some();
    let method = trusting("mcp-method", move |message, found| {
        let method = text(&message["method"]).filter(|_| is_modern(message))?;
        (!is_other_case(found, &method)).then_some(method)
    });
    let case = trusting("mcp-method", move |message, found| {
        let method = text(&message["method"])?;
        is_other_case(found, &method).then_some(method)
    });
    let name = trusting("mcp-name", |message, found| {
        let params = &message["params"];
        let is_wrong = message["id"] == "check-1" && found != Some("");
        text(&params["name"])
            .or_else(|| text(&params["uri"]))
            .filter(|_| is_wrong)
    });
    let param = trusting("mcp-param-suffix", |message, _| {
        text(&message["params"]["arguments"]["value"])
    });
    let strict = Sound::new().on_request(|request| {
        let headers = request.headers();
        let is_mixed =
            headers.contains_key("mcp-session-id") || headers.contains_key("last-event-id");
        if headers.contains_key("mcp-method") && is_mixed {
            *request.uri_mut() = Uri::from_static("http://127.0.0.1/nowhere");
        }
    });
    let accepting = Sound::new().on_request(|request| {
        if request
            .headers()
            .get("accept")
            .is_some_and(|it| it == "text/plain")
        {
            let both = HeaderValue::from_static("application/json, text/event-stream");
            request.headers_mut().insert("accept", both);
        }
    });
    let one_form = Sound::new().on_request(replacing("accept", |value| {
        let both = "application/json, text/event-stream";
        (value == "text/event-stream").then(|| both.to_owned())
    }));
    let returning = Sound::new().on_head(|request, head| {
        if let Some(value) = request.headers.get("x-check-brought") {
            head.headers.insert("x-check-brought", value.clone());
        }
    });
    let rounding = Sound::new().on_message(|message| {
        if message["id"] == 1.5 {
            message["id"] = 1.into();
        }
        None
    });
    let batching = Sound::new().on_reply(|cause, messages| {
        if cause.message.is_null() && messages[0]["error"]["message"] == "no such batch" {
            *messages = vec![json!([{"jsonrpc": "2.0", "id": "check-array", "result": {}}])];
        }
    });
    let untyped = marking(Sound::new(), "check-type").on_head(|request, head| {
        if request.headers.contains_key(MARK) {
            let plain = HeaderValue::from_static("text/plain");
            head.headers.insert(CONTENT_TYPE, plain);
        }
    });
    let plain_get = Sound::new().on_head(|request, head| {
        let is_resumed = request.headers.contains_key("last-event-id");
        if request.method == Method::GET && request.uri.path() == "/mcp" && !is_resumed {
            head.headers
                .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        }
    });
    let is_modern_post =
        |request: &http::request::Parts| request.headers.contains_key("mcp-method");
    let falling = marking(Sound::new(), "check-large").on_head(|request, head| {
        if request.headers.contains_key(MARK) {
            head.status = StatusCode::INTERNAL_SERVER_ERROR;
        }
    });
    let mut rows = vec![
        row("http.origin-403", blind("origin")),
        row("http.foreign-host", blind("host")),
        row("http.header-version", version),
        row("http.header-method", method),
        row("http.header-case", case),
        row("http.header-name", name),
        row("http.header-param", param).also(&["http.header-encoded"]),
        row("http.legacy-headers-ignored", strict),
        row("http.accept-406", accepting),
        row("http.accept-stream", one_form),
        row("http.own-headers", returning),
        row("http.fractional-id", rounding),
        row("http.batch-refused", batching),
        row("http.content-type", untyped),
        row(
            "http.notification-202",
            status(
                |_, found| found == StatusCode::ACCEPTED,
                StatusCode::NO_CONTENT,
            ),
        ),
        row("http.get-405-or-stream", plain_get).also(&["resources.subscribe-updates"]),
        row(
            "http.unknown-method-404",
            status(
                move |request, found| found == StatusCode::NOT_FOUND && is_modern_post(request),
                StatusCode::OK,
            ),
        ),
        row("http.body-limit-413", falling),
        row("http.version-header-400", {
            let known = HeaderValue::from_static(Revision::NEWEST_LEGACY.as_str());
            Sound::new().on_request(move |request| {
                if let Some(value) = request.headers_mut().get_mut("mcp-protocol-version")
                    && *value == "1999-12-31"
                {
                    *value = known.clone();
                }
            })
        }),
    ];
    rows.extend(encoding_rows());
    rows.extend(stream_rows());
    rows
}

/// Returns a server that replaces values of a header of requests.
fn replacing(
    header: &'static str,
    replace: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
) -> impl Fn(&mut Request<Bytes>) + Send + Sync + 'static {
    move |request| {
        let found = request.headers().get(header);
        let replaced = found.and_then(|it| replace(it.to_str().ok()?));
        if let Some(value) = replaced {
            let value = HeaderValue::from_str(&value).unwrap();
            request.headers_mut().insert(header, value);
        }
    }
}

fn encoding_rows() -> Vec<Row> {
    let blind = replacing("mcp-name", |value| {
        value.starts_with("=?base64?").then(|| "check".to_owned())
    });
    let lenient = replacing("mcp-name", |value| {
        value
            .contains("BASE64")
            .then(|| value.replace("BASE64", "base64"))
    });
    let demanding = |request: &mut Request<Bytes>| {
        let message = message_of(request);
        let params = &message["params"];
        if params["name"] == "test_header_argument" && params["arguments"]["value"].is_null() {
            let value = HeaderValue::from_static("missing");
            request.headers_mut().insert("mcp-param-suffix", value);
        }
    };
    let literal = replacing("mcp-param-count", |value| {
        value.ends_with(".0").then(|| "another".to_owned())
    });
    let unsafe_integers = Sound::new().on_request(|request| {
        let text = String::from_utf8_lossy(request.body()).replace("9007199254740993", "1");
        if text.len() != request.body().len() {
            *request.body_mut() = text.into();
            request
                .headers_mut()
                .insert("mcp-param-count", HeaderValue::from_static("1"));
        }
    });
    vec![
        row("http.header-encoded", Sound::new().on_request(blind)),
        row("http.header-bad-encoding", Sound::new().on_request(lenient)),
        row(
            "http.header-param-absent",
            Sound::new().on_request(demanding),
        ),
        row("http.header-integer", Sound::new().on_request(literal)),
        row("http.header-safe-integers", unsafe_integers),
    ]
}

/// Returns a server that tells of a change of its tools in the response to the call that made it.
fn telling() -> Sound {
    Sound::new().on_reply(|cause, messages| {
        let is_trigger = cause.message["params"]["name"] == "test_trigger_tool_change";
        if cause.message["method"] == "tools/call" && is_trigger {
            let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
            messages.insert(0, changed);
        }
    })
}

fn stream_rows() -> Vec<Row> {
    let cutting = Sound::new().before_answer(|method, interlude| {
        let is_call = method == "tools/call";
        async move {
            if is_call {
                interlude.cut();
            }
        }
    });
    let unversioned = Sound::new().on_request(|request| {
        let headers = request.headers();
        if message_of(request)["id"] == "check-absent"
            && !headers.contains_key("mcp-protocol-version")
        {
            let value = HeaderValue::from_static("1999-12-31");
            request.headers_mut().insert("mcp-protocol-version", value);
        }
    });
    vec![
        row("http.only-own-messages", telling())
            .alone(Revision::NEWEST, Bind::Http)
            .also(&["listen.subscription-id", "listen.only-asked-kinds"]),
        row("http.unrelated-on-get", telling()).alone(Revision::NEWEST_LEGACY, Bind::Http),
        row("http.retry-before-close", cutting)
            .alone(Revision::V2025_11_25, Bind::Http)
            .topic("http.retry-before-close"),
        row("http.version-header-absent", unversioned),
    ]
}

/// Returns the row of a server that shows no session, and refuses what only the first revision has.
pub(crate) fn further_rows() -> Vec<Row> {
    let hidden = Arc::new(Mutex::new(None));
    let given = Arc::clone(&hidden);
    let without_session = Sound::new()
        .on_head(move |_, head| {
            if let Some(id) = head.headers.remove(SESSION_ID) {
                *given.lock().unwrap() = Some(id);
            }
        })
        .on_request(move |request| {
            let message = message_of(request);
            let id = hidden.lock().unwrap().clone();
            if let Some(id) =
                id.filter(|_| message["method"] != "initialize" && message.is_object())
            {
                request.headers_mut().insert(SESSION_ID, id);
            }
        });
    vec![
        row("http.version-header-absent", without_session)
            .topic("http.version-header-absent")
            .alone(Revision::V2025_03_26, Bind::Http),
    ]
}

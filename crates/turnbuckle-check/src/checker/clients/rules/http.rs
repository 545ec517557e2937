//! Rules for requests of HTTP.

use serde_json::Value;
use turnbuckle_wire::revision::EraKind;

use crate::checker::clients::run::{Breach, Outcome, Rule, Run, breach, has_envelope, outcome};
use crate::checker::clients::scenario::{INVALID_TOOL, REMOTE_PATH, Scenario};
use crate::checker::clients::tape::{Entry, Head};
use crate::report::Level;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "client.accept-header",
        level: Level::Must,
        title: "every POST accepts JSON and streams",
        requirements: &["ab175fb19019", "178c17027890"],
        fix: "send `Accept: application/json, text/event-stream` with every POST",
        judge: accept_header,
    },
    Rule {
        id: "client.session-header",
        level: Level::Must,
        title: "every request of a session names it",
        requirements: &["5a7bf177e037", "0c0c56bab89d"],
        fix: "send the Mcp-Session-Id that came with the answer to `initialize`",
        judge: session_header,
    },
    Rule {
        id: "client.version-header",
        level: Level::Must,
        title: "every request of a session names its revision",
        requirements: &["3847034bec20"],
        fix: "send the negotiated revision as MCP-Protocol-Version",
        judge: version_header,
    },
    Rule {
        id: "client.mirrored-headers",
        level: Level::Must,
        title: "headers say what the message says",
        requirements: &["32ff8c18720d", "6d367ec94155"],
        fix: "send MCP-Protocol-Version, Mcp-Method, and where there is one Mcp-Name and Mcp-Param headers",
        judge: mirrored_headers,
    },
    Rule {
        id: "client.resumes-with-id",
        level: Level::Should,
        title: "a stream that was cut is resumed after the last event",
        requirements: &["b9ec7ccd1c51", "18bb3bf45fc5"],
        fix: "send GET with Last-Event-ID when the stream of a response ends too early",
        judge: resumes,
    },
    Rule {
        id: "client.invalid-header-tools-dropped",
        level: Level::Must,
        title: "a tool with a wrong `x-mcp-header` is not used",
        requirements: &["39a170129d3c", "39cf4af3b9f7"],
        fix: "leave tools out of the list whose `x-mcp-header` breaks the rules",
        judge: invalid_tools,
    },
    Rule {
        id: "client.no-remote-ref",
        level: Level::Must,
        title: "a reference in a schema to another host is not fetched",
        requirements: &[],
        fix: "resolve references within the schema alone",
        judge: no_remote_ref,
    },
];

fn posts(run: &Run) -> impl Iterator<Item = (&Head, &Value)> {
    let posts = run.entries.iter().filter_map(Entry::post);
    posts.filter(|(head, _)| head.path == "/mcp")
}

/// Returns the requests of a session after its handshake.
fn in_session(run: &Run) -> impl Iterator<Item = (&Head, &Value)> {
    let is_later = |(_, message): &(&Head, &Value)| {
        message["method"] != "initialize"
            && message["method"] != "server/discover"
            && !has_envelope(message)
    };
    let has_session = run.handshake().is_some();
    posts(run).filter(is_later).filter(move |_| has_session)
}

fn accept_header(run: &Run) -> Outcome {
    let mut breaches = Vec::new();
    for (head, message) in posts(run) {
        let accept = head.header("accept").unwrap_or_default();
        for media in ["application/json", "text/event-stream"] {
            if !accept.contains(media) && !accept.contains("*/*") {
                let sentence = format!("`Accept: {accept}` does not list {media}");
                breaches.push(breach(sentence, message));
            }
        }
    }
    outcome(
        posts(run).next().is_some(),
        "the client sent no POST",
        breaches,
    )
}

fn session_header(run: &Run) -> Outcome {
    let missing = in_session(run).filter(|(head, _)| head.header("mcp-session-id").is_none());
    let breaches = missing
        .map(|(_, message)| breach("a request of a session has no Mcp-Session-Id", message))
        .collect();
    outcome(
        in_session(run).next().is_some(),
        "the client opened no session",
        breaches,
    )
}

fn version_header(run: &Run) -> Outcome {
    let expected = run.handshake().map(|it| &it["protocolVersion"]);
    let mut breaches = Vec::new();
    for (head, message) in in_session(run) {
        let found = head.header("mcp-protocol-version");
        if found.map(Value::from).as_ref() != expected {
            let found = found.unwrap_or("missing");
            let expected = expected.cloned().unwrap_or_default();
            let sentence = format!("MCP-Protocol-Version is {found} in a session of {expected}");
            breaches.push(breach(sentence, message));
        }
    }
    outcome(
        in_session(run).next().is_some(),
        "the client opened no session",
        breaches,
    )
}

fn mirrored_headers(run: &Run) -> Outcome {
    if run.revision.features().era == EraKind::Legacy || !run.is_http {
        return Err("the revision mirrors nothing in headers");
    }
    let is_mismatch = |message: &&Value| message["error"]["code"] == -32020;
    let breaches = run
        .sent()
        .filter(is_mismatch)
        .map(|message| {
            breach(
                message["error"]["message"].as_str().unwrap_or_default(),
                message,
            )
        })
        .collect();
    let is_used = posts(run).any(|(_, message)| has_envelope(message));
    outcome(
        is_used,
        "the client sent no request of this revision",
        breaches,
    )
}

fn resumes(run: &Run) -> Outcome {
    if run.scenario != Scenario::Resume || run.requests().count() < 2 {
        return Err("no stream was cut");
    }
    let mut gets = run.entries.iter().filter_map(|entry| match entry {
        Entry::Request { head, .. } => head.header("last-event-id"),
        _ => None,
    });
    Ok(match gets.next() {
        Some(_) => Vec::new(),
        None => {
            let sentence = "the stream of a response was cut, and not resumed within 3 seconds";
            vec![Breach {
                sentence: sentence.to_owned(),
                message: None,
            }]
        }
    })
}

fn invalid_tools(run: &Run) -> Outcome {
    let called = run
        .requests_of("tools/call")
        .find(|it| it["params"]["name"] == INVALID_TOOL);
    let breaches = called
        .map(|message| breach("a tool with a wrong `x-mcp-header` is called", message))
        .into_iter()
        .collect();
    let has_occasion =
        run.scenario == Scenario::Traps && run.requests_of("tools/call").next().is_some();
    outcome(has_occasion, "the client called no tool", breaches)
}

fn no_remote_ref(run: &Run) -> Outcome {
    let fetched = run.entries.iter().any(|entry| match entry {
        Entry::Request { head, .. } => head.path == REMOTE_PATH,
        _ => false,
    });
    let sentence = "the client fetched a schema that a definition of a tool refers to".to_owned();
    let breaches = fetched.then_some(Breach {
        sentence,
        message: None,
    });
    let has_occasion =
        run.scenario == Scenario::Plain && run.requests_of("tools/list").next().is_some();
    outcome(
        has_occasion,
        "the client listed no tools",
        breaches.into_iter().collect(),
    )
}

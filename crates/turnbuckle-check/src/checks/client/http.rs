//! Rules for requests of HTTP.

use serde_json::Value;

use crate::case::Bind;
use crate::check::Check;
use crate::report::Level;
use crate::script::conduct::{
    Breach, Entry, Head, INVALID_TOOL, Outcome, REMOTE_PATH, Run, Scenario, breach, has_envelope,
    outcome,
};

pub(super) const CHECKS: &[Check] = &[
    Check::client(
        "client.accept-header",
        Level::Must,
        "every POST accepts JSON and streams",
        accept_header,
    )
    .only_over(&[Bind::Http])
    .requires(&["ab175fb19019", "178c17027890"])
    .fix("send `Accept: application/json, text/event-stream` with every POST"),
    Check::client(
        "client.session-header",
        Level::Must,
        "every request of a session names it",
        session_header,
    )
    .legacy()
    .only_over(&[Bind::Http])
    .requires(&["5a7bf177e037", "0c0c56bab89d"])
    .fix("send the Mcp-Session-Id that came with the answer to `initialize`"),
    Check::client(
        "client.version-header",
        Level::Must,
        "every request of a session names its revision",
        version_header,
    )
    .legacy()
    .only_over(&[Bind::Http])
    .requires(&["3847034bec20", "ae6b048f07f6", "b03e98dffa11"])
    .fix("send the negotiated revision as MCP-Protocol-Version"),
    Check::client(
        "client.mirrored-headers",
        Level::Must,
        "headers say what the message says",
        mirrored_headers,
    )
    .modern()
    .only_over(&[Bind::Http])
    .requires(&["32ff8c18720d", "6d367ec94155", "813b2b4a4578", "51629ee2428a", "36dcb01d652e", "71ccdb8464b7", "7b9c2a3acde8", "6600b22e0cf6", "08489097c168"])
    .fix("send MCP-Protocol-Version, Mcp-Method, and where there is one Mcp-Name and Mcp-Param headers"),
    Check::client(
        "client.resumes-with-id",
        Level::Should,
        "a stream that was cut is resumed after the last event",
        resumes,
    )
    .legacy()
    .only_over(&[Bind::Http])
    .requires(&["b9ec7ccd1c51", "18bb3bf45fc5", "82ae7b2cfd54"])
    .fix("send GET with Last-Event-ID when the stream of a response ends too early"),
    Check::client(
        "client.invalid-header-tools-dropped",
        Level::Must,
        "a tool with a wrong `x-mcp-header` is not used",
        invalid_tools,
    )
    .modern()
    .only_over(&[Bind::Http])
    .requires(&["39a170129d3c", "39cf4af3b9f7"])
    .fix("leave tools out of the list whose `x-mcp-header` breaks the rules"),
    Check::client(
        "client.no-remote-ref",
        Level::Must,
        "a reference in a schema to another host is not fetched",
        no_remote_ref,
    )
    .only_over(&[Bind::Http])
    .fix("resolve references within the schema alone"),
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

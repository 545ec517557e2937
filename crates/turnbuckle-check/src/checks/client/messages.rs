//! Rules for messages, whatever carries them.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use serde_json::Value;
use turnbuckle_wire::revision::Revision;

use crate::check::Check;
use crate::checks::rpc::is_later_name;
use crate::oracle::{Oracle, Sender};
use crate::report::Level;
use crate::script::conduct::{
    Breach, Entry, Outcome, Run, Scenario, UNKNOWN_METHOD, breach, has_envelope, outcome,
};

pub(super) const CHECKS: &[Check] = &[
    Check::client(
        "client.schema-valid",
        Level::Must,
        "every message is what the schema of its revision says",
        schema_valid,
    )
    .requires(&["9774fb4db6ac", "bdbcccfb5804", "8aace556e919", "c3b3f8bd1e21", "2d4f294af15e", "bff8ceaba21e", "c28a74a5aa23", "039bbcfba34f", "eec68e833063", "17c01887ebac", "acb531f23ad1"])
    .fix("compare the message with the schema of its revision: `turnbuckle schema --protocol-version`"),
    Check::client(
        "client.no-later-names",
        Level::Note,
        "no message uses a name that a later revision has introduced",
        no_later_names,
    )
    .fix("leave out what the revision of the session does not define"),
    Check::client(
        "client.initialize-first",
        Level::Must,
        "a session begins with `initialize`",
        initialize_first,
    )
    .legacy()
    .requires(&["2ab245507c45"])
    .fix("send `initialize` before any other request"),
    Check::client(
        "client.initialized-sent",
        Level::Must,
        "`notifications/initialized` follows the answer to `initialize`",
        initialized_sent,
    )
    .legacy()
    .requires(&["21f0e54da123"])
    .fix("send `notifications/initialized` once `initialize` is answered, before other requests"),
    Check::client(
        "client.falls-back-to-older",
        Level::Note,
        "a server of an older revision is used in that revision",
        falls_back,
    )
    .legacy()
    .fix("go on with the revision that the server offers, if you speak it"),
    Check::client(
        "client.no-id-reuse",
        Level::Must,
        "no request has the id of another one",
        no_id_reuse,
    )
    .requires(&["d3a20c5161d3", "bfab722d3e17"])
    .fix("count up the ids of requests"),
    Check::client(
        "client.cancels-own",
        Level::Must,
        "a cancellation names a request that was sent, and never `initialize`",
        cancels_own,
    )
    .requires(&["182b4aaa7605", "db4bc7520823", "0371cec0106d", "3d758103de26"])
    .fix("cancel requests that wait for their answers alone"),
    Check::client(
        "client.answers-ping",
        Level::Must,
        "a ping of the server is answered with an empty result",
        answers_ping,
    )
    .legacy()
    .requires(&["2a241dfe298b"])
    .fix("answer `ping` with `{}`"),
    Check::client(
        "client.unknown-request-32601",
        Level::Must,
        "a request with an unknown method is refused with -32601",
        unknown_request,
    )
    .legacy()
    .requires(&["9774fb4db6ac"])
    .fix("answer a method that you do not know with the error -32601 (Method not found)"),
    Check::client(
        "client.envelope-complete",
        Level::Must,
        "every request has a whole envelope",
        envelope_complete,
    )
    .modern()
    .requires(&["cf13d0d127a9", "d6055fc8a0f9"])
    .fix("put the protocol version and your capabilities into `_meta` of every request"),
];

fn schema_valid(run: &Run) -> Outcome {
    judge_messages(run, |fault| !is_later_name(fault))
}

fn no_later_names(run: &Run) -> Outcome {
    judge_messages(run, is_later_name)
}

/// Judges every message by the schema of its revision, and keeps the faults that are wanted.
fn judge_messages(run: &Run, is_wanted: impl Fn(&str) -> bool) -> Outcome {
    static ORACLE: OnceLock<Oracle> = OnceLock::new();
    let oracle = ORACLE.get_or_init(Oracle::load);
    let asked: HashMap<_, _> = run
        .sent()
        .filter_map(|it| Some((it.get("id")?.to_string(), it["method"].as_str()?)))
        .collect();
    let session = run
        .handshake()
        .and_then(|it| it["protocolVersion"].as_str());
    let session = session
        .and_then(Revision::parse)
        .unwrap_or(run.case.revision);
    let mut breaches = Vec::new();
    for message in run.client_messages() {
        // The first request of a session is of the revision that it asks for.
        let named = match message["method"].as_str() {
            Some("initialize") => &message["params"]["protocolVersion"],
            _ => &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"],
        };
        let named = named.as_str();
        let revision = match named.and_then(Revision::parse) {
            Some(named) => named,
            None if message["method"] == "server/discover" => Revision::NEWEST,
            None => session,
        };
        let is_response = message.get("method").is_none();
        let id = message.get("id").map(Value::to_string).unwrap_or_default();
        let method = asked.get(&id).copied().filter(|_| is_response);
        let is_unknown = message["method"]
            .as_str()
            .is_some_and(|it| !Oracle::knows(revision, it));
        if is_unknown || method == Some(UNKNOWN_METHOD) {
            continue;
        }
        if let Err(mut faults) = oracle.check_message(revision, Sender::Client, message, method) {
            faults.retain(|fault| is_wanted(fault));
            if !faults.is_empty() {
                breaches.push(breach(faults.join("; "), message));
            }
        }
    }
    outcome(
        run.client_messages().next().is_some(),
        "the client sent no message",
        breaches,
    )
}

/// Returns whether a request may come before the session is open.
fn is_early(message: &Value) -> bool {
    message["method"] == "ping" || message["method"] == "server/discover" || has_envelope(message)
}

fn initialize_first(run: &Run) -> Outcome {
    let mut opened = HashSet::new();
    let mut breaches = Vec::new();
    let mut has_session = false;
    for entry in &run.entries {
        let (place, message) = match entry {
            Entry::Line {
                connection,
                message,
            } => (connection.to_string(), message),
            Entry::Request { head, message } if head.path == "/mcp" => {
                let id = head.header("mcp-session-id");
                (
                    id.map(|_| "session").unwrap_or_default().to_owned(),
                    message,
                )
            }
            _ => continue,
        };
        let is_request = message["method"].is_string() && message.get("id").is_some();
        if !is_request || is_early(message) || place == "session" {
            continue;
        }
        has_session = true;
        if message["method"] == "initialize" {
            opened.insert(place);
        } else if place.is_empty() || !opened.contains(&place) {
            let method = &message["method"];
            breaches.push(breach(
                format!("{method} comes before `initialize`"),
                message,
            ));
        }
    }
    outcome(has_session, "the client opened no session", breaches)
}

fn initialized_sent(run: &Run) -> Outcome {
    if run.handshake().is_none() {
        return Err("the client opened no session");
    }
    let mut is_answered = false;
    for entry in &run.entries {
        if let Entry::Sent(message) = entry {
            is_answered |= message["result"]["protocolVersion"].is_string();
        }
        let Some(message) = entry.client_message().filter(|_| is_answered) else {
            continue;
        };
        if message["method"] == "notifications/initialized" {
            return Ok(Vec::new());
        }
        if message["method"].is_string() && message.get("id").is_some() && !is_early(message) {
            let method = &message["method"];
            let sentence = format!("{method} comes before `notifications/initialized`");
            return Ok(vec![breach(sentence, message)]);
        }
    }
    let sentence = "the client never sent `notifications/initialized`".to_owned();
    Ok(vec![Breach {
        sentence,
        message: None,
    }])
}

fn falls_back(run: &Run) -> Outcome {
    if run.scenario != Scenario::Older {
        return Err("the server speaks the newest revision");
    }
    let is_used = run
        .client_messages()
        .any(|it| it["method"] == "notifications/initialized");
    let breaches = match run.client_messages().last() {
        Some(last) if !is_used => {
            vec![breach(
                "a server that speaks an older revision alone is not used",
                last,
            )]
        }
        _ => Vec::new(),
    };
    outcome(
        run.client_messages().next().is_some(),
        "the client sent no message",
        breaches,
    )
}

fn no_id_reuse(run: &Run) -> Outcome {
    let is_modern = run.case.is_modern();
    let mut used = HashSet::new();
    let mut breaches = Vec::new();
    for entry in &run.entries {
        let place = match entry {
            Entry::Sent(message) if is_modern && message.get("method").is_none() => {
                // Only ids that wait for their answers are taken in the modern era.
                let id = message.get("id").map(Value::to_string).unwrap_or_default();
                used.retain(|(_, taken)| *taken != id);
                continue;
            }
            Entry::Sent(_) | Entry::Token(_) => continue,
            Entry::Line { connection, .. } => connection.to_string(),
            Entry::Request { head, .. } => {
                head.header("mcp-session-id").unwrap_or_default().to_owned()
            }
        };
        let Some(message) = entry.client_message().filter(|it| it["method"].is_string()) else {
            continue;
        };
        let Some(id) = message.get("id") else {
            continue;
        };
        if !used.insert((place, id.to_string())) {
            breaches.push(breach(format!("a second request has the id {id}"), message));
        }
    }
    outcome(
        run.requests().count() > 1,
        "the client sent fewer than two requests",
        breaches,
    )
}

fn cancels_own(run: &Run) -> Outcome {
    let mut methods = HashMap::new();
    let mut breaches = Vec::new();
    let mut cancelled = 0;
    for message in run.client_messages() {
        if let Some(id) = message.get("id") {
            methods.insert(id.to_string(), message["method"].clone());
        }
        if message["method"] != "notifications/cancelled" {
            continue;
        }
        cancelled += 1;
        let id = message["params"]["requestId"].to_string();
        match methods.get(&id) {
            None => breaches.push(breach(
                format!("the client cancels {id}, which it never sent"),
                message,
            )),
            Some(method) if *method == "initialize" => {
                breaches.push(breach("the client cancels `initialize`", message));
            }
            Some(_) => {}
        }
    }
    outcome(
        cancelled > 0,
        "the client cancelled nothing: give its calls a time limit below 4 seconds",
        breaches,
    )
}

/// Returns the answer to a request of the server, or why there is none.
fn answer_to<'r>(run: &'r Run, method: &str) -> Result<Option<&'r Value>, &'static str> {
    let asked = run
        .sent()
        .find(|it| it["method"] == method && it.get("id").is_some());
    let asked = asked.ok_or("the client gave no occasion to ask")?;
    let is_answer = |it: &&Value| it.get("method").is_none() && it["id"] == asked["id"];
    Ok(run.client_messages().find(is_answer))
}

fn answers_ping(run: &Run) -> Outcome {
    Ok(match answer_to(run, "ping")? {
        Some(answer) if answer["result"].is_object() => Vec::new(),
        Some(answer) => vec![breach("a ping is refused", answer)],
        None => {
            let sentence = "a ping is not answered within 3 seconds".to_owned();
            vec![Breach {
                sentence,
                message: None,
            }]
        }
    })
}

fn unknown_request(run: &Run) -> Outcome {
    Ok(match answer_to(run, UNKNOWN_METHOD)? {
        Some(answer) if answer["error"]["code"] == -32601 => Vec::new(),
        Some(answer) => vec![breach(
            "an unknown request is answered with something else",
            answer,
        )],
        None => {
            let sentence = "an unknown request is not answered within 3 seconds".to_owned();
            vec![Breach {
                sentence,
                message: None,
            }]
        }
    })
}

fn envelope_complete(run: &Run) -> Outcome {
    let mut breaches = Vec::new();
    let mut seen = 0;
    // A client that speaks both eras may open a session here, and is refused.
    for message in run.requests().filter(|it| it["method"] != "initialize") {
        seen += 1;
        let meta = &message["params"]["_meta"];
        for (name, is_right) in [
            ("protocolVersion", Value::is_string as fn(&Value) -> bool),
            ("clientCapabilities", Value::is_object),
        ] {
            if !is_right(&meta[format!("io.modelcontextprotocol/{name}")]) {
                let sentence = format!("`_meta` of {} has no {name}", message["method"]);
                breaches.push(breach(sentence, message));
            }
        }
    }
    outcome(
        seen > 0,
        "the client sent no request of this revision",
        breaches,
    )
}

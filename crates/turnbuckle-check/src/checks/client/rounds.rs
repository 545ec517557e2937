//! Rules for rounds of input, for lost connections, and for the processes of servers.

use serde_json::Value;

use crate::case::Bind;
use crate::check::Check;
use crate::report::Level;
use crate::script::conduct::{Breach, Outcome, Run, Scenario, breach, outcome};

pub(super) const CHECKS: &[Check] = &[
    Check::client(
        "client.state-echoed",
        Level::Must,
        "a retry carries the state as it came",
        state_echoed,
    )
    .modern()
    .requires(&["c6d42bcccdf7", "3235405f49c2", "076bfd1014f6"])
    .fix("copy `requestState` into the retry, byte for byte"),
    Check::client(
        "client.retry-new-id",
        Level::Must,
        "a retry has an id of its own",
        new_id,
    )
    .modern()
    .requires(&["92cc9a4a8d2c", "013b00853412"])
    .fix("send the retry as a request of its own, with a new id"),
    Check::client(
        "client.input-keys-once",
        Level::Must,
        "a retry answers each key that was asked, and no other",
        input_keys,
    )
    .modern()
    .requires(&["8ea5efde43ca"])
    .fix("put one answer for each key of `inputRequests` into `inputResponses`"),
    Check::client(
        "client.retry-only-safe",
        Level::Note,
        "a call whose connection was lost is not sent again",
        retry_only_safe,
    )
    .modern()
    .only_over(&[Bind::Http])
    .fix("report the lost call: it may have been done"),
    Check::client(
        "client.drains-stderr",
        Level::Must,
        "the standard error of a server is read, or thrown away",
        drains_stderr,
    )
    .legacy()
    .only_over(&[Bind::Stream])
    .fix("read the standard error of the process as it comes, or let it inherit yours"),
];

/// Returns what the server asked, the request that it asked for, and the retry.
fn retries(run: &Run) -> Vec<(&Value, &Value, &Value)> {
    let mut found = Vec::new();
    for asked in run
        .sent()
        .filter(|it| it["result"]["resultType"] == "input_required")
    {
        let mut requests = run.requests().skip_while(|it| it["id"] != asked["id"]);
        let Some(first) = requests.next() else {
            continue;
        };
        let is_retry = |it: &&Value| {
            let names = ["name", "uri"];
            it["method"] == first["method"]
                && names
                    .iter()
                    .all(|name| it["params"].get(*name) == first["params"].get(*name))
                && ["requestState", "inputResponses"]
                    .iter()
                    .any(|name| it["params"].get(*name).is_some())
        };
        if let Some(retry) = requests.find(is_retry) {
            found.push((asked, first, retry));
        }
    }
    found
}

const NO_RETRY: &str = "the client sent no request again that needed input";

fn state_echoed(run: &Run) -> Outcome {
    let retries = retries(run);
    let wrong = retries.iter().filter(|(asked, _, retry)| {
        retry["params"].get("requestState") != asked["result"].get("requestState")
    });
    let breaches = wrong
        .map(|(.., retry)| {
            breach(
                "`requestState` of the retry is not what the server sent",
                retry,
            )
        })
        .collect();
    outcome(!retries.is_empty(), NO_RETRY, breaches)
}

fn new_id(run: &Run) -> Outcome {
    let retries = retries(run);
    let wrong = retries
        .iter()
        .filter(|(_, first, retry)| first["id"] == retry["id"]);
    let breaches = wrong
        .map(|(.., retry)| breach("the retry has the id of the first request", retry))
        .collect();
    outcome(!retries.is_empty(), NO_RETRY, breaches)
}

fn input_keys(run: &Run) -> Outcome {
    let retries = retries(run);
    let keys = |value: &Value| -> Vec<String> {
        value
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, _)| key.clone())
            .collect()
    };
    let mut breaches = Vec::new();
    for (asked, _, retry) in &retries {
        let asked = keys(&asked["result"]["inputRequests"]);
        let answered = keys(&retry["params"]["inputResponses"]);
        if asked != answered {
            let sentence = format!("asked were {asked:?}, answered are {answered:?}");
            breaches.push(breach(sentence, retry));
        }
    }
    outcome(!retries.is_empty(), NO_RETRY, breaches)
}

fn retry_only_safe(run: &Run) -> Outcome {
    let calls: Vec<_> = run.requests_of("tools/call").collect();
    let of = |call: &Value| {
        (
            call["params"]["name"].clone(),
            call["params"]["arguments"].clone(),
        )
    };
    let breaches = calls
        .windows(2)
        .filter(|pair| of(pair[0]) == of(pair[1]))
        .map(|pair| breach("a call whose connection was lost is sent again", pair[1]))
        .collect();
    let has_occasion = run.scenario == Scenario::Cut && !calls.is_empty();
    outcome(has_occasion, "the client called no tool", breaches)
}

fn drains_stderr(run: &Run) -> Outcome {
    if run.scenario != Scenario::Stderr {
        return Err("the server writes nothing to standard error");
    }
    let sentence = "nothing comes once the server has written 1 MiB to standard error".to_owned();
    Ok(match run.client_messages().next() {
        Some(_) => Vec::new(),
        None => vec![Breach {
            sentence,
            message: None,
        }],
    })
}

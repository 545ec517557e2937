//! Rules about a conversation, held against every message of the server as it comes; these checks, which are
//! made last, report what broke them.
//!
//! Specification: basic, "Messages"; basic/patterns; client/sampling; client/elicitation.

use turnbuckle_wire::revision::Revision;

use super::ask::ask_often;
use crate::check::{Check, Stop};
use crate::context::CheckContext;
use crate::report::Level;

/// The revisions in which clients declare what they can do in sampling, and elicitation has URLs.
const SINCE_2025_11_25: &[Revision] = &[Revision::V2025_11_25, Revision::V2026_07_28];

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "rpc.own-ids-unique",
        Level::Must,
        "no request of the server has the id of another one",
        |cx| Box::pin(own_ids(cx)),
    )
    .legacy()
    .requires(&["bfab722d3e17"])
    .fix("count up the ids of requests in a session"),
    Check::new(
        "rpc.error-codes",
        Level::Must,
        "no error has a code that the specification reserves, or no longer has",
        |cx| Box::pin(rule_faults(cx, "rpc.error-codes")),
    )
    .modern()
    .requires(&["41c1d665ba69", "1e9c5cb354f1", "70a04779acaf"])
    .fix("send -32602 for an unknown resource, and codes of your own outside of -32768 to -32000"),
    Check::new(
        "rpc.own-error-codes",
        Level::Should,
        "an error code of the server's own is outside of the range of JSON-RPC",
        |cx| Box::pin(rule_faults(cx, "rpc.own-error-codes")),
    )
    .modern()
    .requires(&["bf464227f12d", "b8ef1f27b583"])
    .fix("take codes of your own from outside of -32768 to -32000"),
    Check::new(
        "envelope.known-result-types",
        Level::Must,
        "the type of a result is one of the protocol, or of an extension that the client declares",
        |cx| Box::pin(rule_faults(cx, "envelope.known-result-types")),
    )
    .modern()
    .requires(&["d93ddf7f637b", "486b2a8bf347"])
    .fix("answer with `complete` or `input_required`, unless the request declares the extension of the type"),
    Check::new(
        "cancel.only-own-requests",
        Level::Must,
        "the server cancels only requests of its own, and in the modern era only subscriptions",
        |cx| Box::pin(rule_faults(cx, "cancel.only-own-requests")),
    )
    .requires(&[
        "0371cec0106d",
        "3d758103de26",
        "35f3b72675bf",
        "7c218f18b6a6",
    ])
    .fix("send `notifications/cancelled` with the id of a request that you sent; in the modern era with that of subscriptions/listen"),
    Check::new(
        "ask.where-allowed",
        Level::Must,
        "only calls of tools, reads and prompts need input",
        |cx| Box::pin(rule_faults(cx, "ask.where-allowed")),
    )
    .modern()
    .requires(&["48c3bc054aef"])
    .fix("answer other requests without `input_required`"),
    Check::new(
        "ask.sampling-tools",
        Level::Must,
        "sampling with tools is asked only of clients with `sampling.tools`",
        |cx| Box::pin(rule_faults(cx, "ask.sampling-tools")),
    )
    .revisions(SINCE_2025_11_25)
    .requires(&["00fc182ebc6d"])
    .fix("leave `tools` and `toolChoice` out for clients that do not declare `sampling.tools`"),
    Check::new(
        "ask.sampling-context",
        Level::Should,
        "context of servers is asked only of clients with `sampling.context`",
        |cx| Box::pin(rule_faults(cx, "ask.sampling-context")),
    )
    .revisions(SINCE_2025_11_25)
    .requires(&["af4ea0edcaa7"])
    .fix("leave `includeContext` out"),
    Check::new(
        "ask.sampling-pairs",
        Level::Must,
        "the uses of tools in sampling are answered in the next message, which has nothing else",
        |cx| Box::pin(rule_faults(cx, "ask.sampling-pairs")),
    )
    .revisions(SINCE_2025_11_25)
    .requires(&["26228a209fab", "8f8905afc45a", "d31b84a630a5"])
    .fix("put a `tool_result` for each `tool_use` into the next message, and nothing else"),
    Check::new(
        "ask.tasks-declared",
        Level::Should,
        "only a client that declares `tasks` is asked for a task",
        |cx| Box::pin(rule_faults(cx, "ask.tasks-declared")),
    )
    .revisions(&[Revision::V2025_11_25])
    .requires(&["2a4208f29240", "5868e2745716"])
    .fix("leave `task` out of requests to clients that do not declare `tasks.requests` for them"),
    Check::new(
        "tasks.legacy-named-once",
        Level::Should,
        "a message that has the id of its task does not repeat it in `_meta`",
        |cx| Box::pin(rule_faults(cx, "tasks.legacy-named-once")),
    )
    .revisions(&[Revision::V2025_11_25])
    .requires(&["faccd7622e57", "d1d8d21ccacd", "fdaab37252af"])
    .fix("leave the related task out of `_meta` of tasks/get, tasks/list, tasks/cancel and their notification"),
];

async fn own_ids(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    ask_often(cx).await?;
    rule_faults(cx, "rpc.own-ids-unique").await
}

/// Reports the messages that broke the rule of a check, each sentence once.
async fn rule_faults(cx: &mut CheckContext<'_>, check: &str) -> Result<(), Stop> {
    let mut seen = Vec::new();
    for breach in cx.rule_faults().iter().filter(|it| it.check == check) {
        let key = (&breach.method, &breach.sentence);
        if !seen.contains(&key) {
            seen.push(key);
            let message = breach.message.clone();
            cx.fault_with(breach.method.clone(), breach.sentence.clone(), message);
        }
    }
    Ok(())
}

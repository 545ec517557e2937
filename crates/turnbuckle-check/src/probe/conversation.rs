//! Rules about a conversation: they hold each message of a server against what was said before it, which
//! no schema does.

use std::collections::HashSet;

use serde_json::Value;
use turnbuckle_wire::revision::{EraKind, Revision};

use super::questions;

/// Requests of the modern era that may be answered with `input_required`.
const MAY_NEED_INPUT: [&str; 3] = ["tools/call", "resources/read", "prompts/get"];

/// Error codes that earlier revisions had, and that a modern server does not send.
const RETIRED_CODES: [i64; 2] = [-32002, -32042];

/// Error codes that the modern era defines.
const MODERN_CODES: [i64; 3] = [-32020, -32021, -32022];

/// Error codes of JSON-RPC.
const RPC_CODES: [i64; 5] = [-32700, -32600, -32601, -32602, -32603];

/// Requests of 2025-11-25 whose results show a task.
const TASK_REQUESTS: [&str; 3] = ["tasks/get", "tasks/list", "tasks/cancel"];

/// Key of `_meta` that names the task of a message.
const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// Ids of requests of a server that are remembered.
const MAX_OWN_IDS: usize = 10_000;

/// A breach of a rule about a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleFault {
    /// Id of the check that holds the rule.
    pub(crate) check: &'static str,
    /// Method of the message, or of the request that it answers.
    pub(crate) method: Option<String>,
    /// The breach, as a sentence.
    pub(crate) sentence: String,
    /// The message, shortened.
    pub(crate) message: String,
}

/// A request of the client.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) method: String,
    /// Revision that the answer is judged by; that of the answer for `initialize`.
    pub(super) revision: Option<Revision>,
    /// Capabilities of the client in the envelope.
    pub(super) declared: Value,
}

/// The state of the conversation of one connection.
pub(super) struct MessageRules {
    revision: Revision,
    /// Capabilities of the client that the handshake declared.
    declared: Value,
    own_ids: HashSet<String>,
}

/// Breaches by one message: check and sentence of each.
pub(super) type Found = Vec<(&'static str, String)>;

impl MessageRules {
    pub(super) fn new(revision: Revision) -> Self {
        Self {
            revision,
            declared: Value::Null,
            own_ids: HashSet::new(),
        }
    }

    /// Takes down the capabilities that a client declares in the handshake.
    pub(super) fn declare(&mut self, capabilities: &Value) {
        self.declared = capabilities.clone();
    }

    fn is_modern(&self) -> bool {
        self.revision.features().era == EraKind::Modern
    }

    /// Judges a request or a notification of the server. `is_listen` returns whether an id is that of a
    /// request that listens.
    pub(super) fn judge(
        &mut self,
        message: &Value,
        is_listen: impl FnOnce(&Value) -> bool,
    ) -> Found {
        let method = message["method"].as_str().unwrap_or_default();
        let params = &message["params"];
        let mut found = Found::new();
        if let Some(id) = message.get("id") {
            if self.is_modern() {
                return found;
            }
            if self.own_ids.len() < MAX_OWN_IDS && !self.own_ids.insert(id.to_string()) {
                let sentence = format!("a second request of the server has the id {id}");
                found.push(("rpc.own-ids-unique", sentence));
            }
            questions::judge(self.revision, method, params, &self.declared, &mut found);
        }
        match method {
            "notifications/cancelled" => {
                let id = &params["requestId"];
                let sentence = match self.is_modern() {
                    true if !is_listen(id) => {
                        format!("{id} is cancelled, which is no request that listens")
                    }
                    false if !self.has_sent(id) => {
                        format!("{id} is cancelled, which the server never sent")
                    }
                    _ => return found,
                };
                found.push(("cancel.only-own-requests", sentence));
            }
            "notifications/tasks/status" if params["_meta"].get(RELATED_TASK).is_some() => {
                found.push(related_task(method));
            }
            _ => {}
        }
        found
    }

    /// Returns whether the server sent a request with an id, or so many that not all are remembered.
    fn has_sent(&self, id: &Value) -> bool {
        self.own_ids.len() == MAX_OWN_IDS || self.own_ids.contains(&id.to_string())
    }

    /// Judges the answer to a request.
    pub(super) fn judge_answer(&self, revision: Revision, asked: &Asked, message: &Value) -> Found {
        let mut found = Found::new();
        let method = asked.method.as_str();
        let result = &message["result"];
        if revision.features().era == EraKind::Legacy {
            let is_of_tasks = TASK_REQUESTS.contains(&method);
            if is_of_tasks && result["_meta"].get(RELATED_TASK).is_some() {
                found.push(related_task(method));
            }
            return found;
        }
        if let Some(code) = message["error"]["code"].as_i64() {
            found.extend(code_breach(code));
        }
        match result["resultType"].as_str() {
            Some("input_required") if !MAY_NEED_INPUT.contains(&method) => {
                let sentence = format!("{method} is answered with `input_required`");
                found.push(("ask.where-allowed", sentence));
            }
            None | Some("complete" | "input_required") => {}
            Some(kind) => {
                let extensions = asked.declared["extensions"].as_object();
                let declares_none = extensions.is_none_or(serde_json::Map::is_empty);
                if declares_none || (kind == "task" && method != "tools/call") {
                    let sentence = format!("{method} has a result of the type `{kind}`");
                    found.push(("envelope.known-result-types", sentence));
                }
            }
        }
        let requests = result["inputRequests"].as_object();
        for (_, request) in requests.into_iter().flatten() {
            let method = request["method"].as_str().unwrap_or_default();
            let params = &request["params"];
            questions::judge(revision, method, params, &asked.declared, &mut found);
        }
        found
    }
}

fn related_task(method: &str) -> (&'static str, String) {
    let sentence = format!("{method} names its task in `_meta` as well");
    ("tasks.legacy-named-once", sentence)
}

/// Returns the breach of an error code that the modern era does not allow.
fn code_breach(code: i64) -> Option<(&'static str, String)> {
    let is_defined = RPC_CODES.contains(&code) || MODERN_CODES.contains(&code);
    match code {
        _ if is_defined => None,
        _ if RETIRED_CODES.contains(&code) => Some((
            "rpc.error-codes",
            format!("the error {code} is one of earlier revisions"),
        )),
        -32099..=-32020 => Some((
            "rpc.error-codes",
            format!("the error {code} is reserved for the specification, which does not define it"),
        )),
        -32768..=-32000 => Some((
            "rpc.own-error-codes",
            format!("the error {code} is in the range that is reserved for JSON-RPC"),
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_others_are_told_from_own_ones() {
        let check = |code| code_breach(code).map(|(check, _)| check);
        for code in [
            -32700, -32600, -32603, -32020, -32022, 1, -1, -31999, -32769,
        ] {
            assert_eq!(check(code), None, "{code}");
        }
        for code in [-32002, -32042, -32023, -32099] {
            assert_eq!(check(code), Some("rpc.error-codes"), "{code}");
        }
        for code in [-32000, -32001, -32019, -32100, -32604, -32768] {
            assert_eq!(check(code), Some("rpc.own-error-codes"), "{code}");
        }
    }
}

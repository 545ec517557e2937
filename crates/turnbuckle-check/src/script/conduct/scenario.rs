//! The servers that a client meets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_wire::revision::Revision;

use super::tape::{Entry, Tape};
use crate::case::{Bind, Case};
use crate::script::login::LoginKind;
use crate::script::{Interlude, Sound};

/// Time that a client has for what a server asks of it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// The name of a tool whose definition must be left out by clients over HTTP.
pub(crate) const INVALID_TOOL: &str = "check_invalid_header";

/// The method that no client knows.
pub(crate) const UNKNOWN_METHOD: &str = "check/unknown";

/// The path of the schema that a definition refers to.
pub(crate) const REMOTE_PATH: &str = "/check/schema.json";

/// The state of a request that needs input.
pub(crate) const STATE: &str = "check-state=/+ \u{fc}";

/// One server that a client meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// A correct server that asks for a ping and for something unknown.
    Plain,
    /// A server of an older revision alone.
    Older,
    /// A server that cuts the stream of a response, and goes on where the client resumes it.
    Resume,
    /// A server that needs input for what can need it.
    Rounds,
    /// A server with a tool whose header annotation is wrong.
    Traps,
    /// A server that loses the connection while it calls a tool.
    Cut,
    /// A server whose process writes a lot to standard error before anything else.
    Stderr,
    /// A server that never answers a call of a tool.
    Silent,
    /// A server that demands a login.
    Login(LoginKind),
}

/// The logins of the legacy era.
const LEGACY_LOGINS: &[LoginKind] = &[
    LoginKind::Plain,
    LoginKind::Hidden,
    LoginKind::StepUp,
    LoginKind::WithoutPkce,
    LoginKind::OtherState,
];

/// The logins that only the modern era has.
const MODERN_LOGINS: &[LoginKind] = &[LoginKind::OtherIssuer, LoginKind::OtherMetadata];

impl Scenario {
    /// Returns the scenarios of a revision over a transport; those with a login come last.
    pub(crate) fn all(case: Case, has_login: bool) -> Vec<Self> {
        use Scenario::{Cut, Login, Older, Plain, Resume, Rounds, Silent, Stderr, Traps};
        let is_http = case.binding == Bind::Http;
        let mut all = match (case.is_legacy(), is_http) {
            (true, true) => vec![Plain, Older, Resume, Silent],
            (true, false) => vec![Plain, Older, Stderr, Silent],
            (false, true) => vec![Plain, Rounds, Traps, Cut],
            (false, false) => vec![Plain, Rounds, Silent],
        };
        if has_login && is_http {
            all.extend(LEGACY_LOGINS.iter().copied().map(Login));
            let modern = MODERN_LOGINS.iter().filter(|_| case.is_modern());
            all.extend(modern.copied().map(Login));
        }
        all
    }

    /// Returns how the server demands a login, if it does.
    pub(crate) fn login(self) -> Option<LoginKind> {
        match self {
            Self::Login(kind) => Some(kind),
            _ => None,
        }
    }

    /// Returns the server. `address` is that of its schemas.
    pub(crate) fn server(self, revision: Revision, tape: &Tape, address: &str) -> Sound {
        let revision = match self {
            Self::Older => Revision::V2025_06_18,
            _ => revision,
        };
        let sound = Sound::new().revisions([revision]);
        let sent = tape.clone();
        let reference = format!("http://{address}{REMOTE_PATH}");
        let sound = sound.on_reply(move |cause, messages| {
            for message in messages.iter_mut() {
                if cause.message["method"] == "tools/list" {
                    self.add_tools(message, &reference);
                }
                sent.push(Entry::Sent(message.clone()));
            }
        });
        let (tape, is_done) = (tape.clone(), Arc::new(AtomicBool::new(false)));
        match self {
            Self::Plain if revision.features().server_requests => {
                sound.before_answer(move |_, interlude| {
                    let is_first = !is_done.swap(true, Ordering::Relaxed);
                    async move {
                        if is_first {
                            ask(&interlude).await;
                        }
                    }
                })
            }
            Self::Resume => sound.before_answer(move |_, interlude| {
                let is_first = !is_done.swap(true, Ordering::Relaxed);
                let tape = tape.clone();
                async move {
                    if is_first {
                        // What was sent so far, the event that the client resumes after, arrives first.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        interlude.cut();
                        wait_for_resumption(&tape).await;
                    }
                }
            }),
            Self::Cut => sound.before_answer(|method, interlude| {
                let is_call = method == "tools/call";
                async move {
                    if is_call {
                        interlude.cut();
                        std::future::pending::<()>().await;
                    }
                }
            }),
            Self::Silent => sound.before_answer(|method, _| {
                let is_call = method == "tools/call";
                async move {
                    if is_call {
                        std::future::pending::<()>().await;
                    }
                }
            }),
            Self::Rounds => sound.on_message(move |message| {
                let reaction = require_input(message)?;
                tape.push(Entry::Sent(reaction.clone()));
                Some(vec![reaction])
            }),
            _ => sound,
        }
    }

    fn add_tools(self, message: &mut Value, reference: &str) {
        let tools = message.get_mut("result").and_then(|it| it.get_mut("tools"));
        let Some(tools) = tools.and_then(Value::as_array_mut) else {
            return;
        };
        match self {
            Self::Plain => tools.push(json!({
                "name": "check_remote_reference",
                "description": "Has a schema that refers to another",
                "inputSchema": {"type": "object", "properties": {"value": {"$ref": reference}}},
            })),
            Self::Traps => tools.insert(
                0,
                json!({
                    "name": INVALID_TOOL,
                    "description": "Has an annotation that is not allowed",
                    "inputSchema": {"type": "object",
                        "properties": {"value": {"type": "number", "x-mcp-header": "Value"}}},
                }),
            ),
            _ => {}
        }
    }
}

async fn ask(interlude: &Interlude) {
    interlude.ask("ping", &Value::Null, ANSWER_TIMEOUT).await;
    interlude
        .ask(UNKNOWN_METHOD, &json!({}), ANSWER_TIMEOUT)
        .await;
}

async fn wait_for_resumption(tape: &Tape) {
    let end = tokio::time::Instant::now() + ANSWER_TIMEOUT;
    let is_resumed = |entry: &Entry| match entry {
        Entry::Request { head, .. } => head.header("last-event-id").is_some(),
        _ => false,
    };
    while !tape.has(is_resumed) && tokio::time::Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Returns the response that asks for input, for the first try of a request that can need it.
fn require_input(message: &Value) -> Option<Value> {
    let methods = ["tools/call", "prompts/get", "resources/read"];
    let params = &message["params"];
    let is_retry = ["requestState", "inputResponses"]
        .iter()
        .any(|name| params.get(name).is_some());
    if is_retry || !methods.contains(&message["method"].as_str()?) {
        return None;
    }
    let capabilities = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    let mut result = json!({"resultType": "input_required", "requestState": STATE});
    if capabilities.get("elicitation").is_some() {
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        result["inputRequests"] = json!({"check_name": {"method": "elicitation/create",
            "params": {"message": "A name?", "requestedSchema": schema}}});
    } else if capabilities.get("roots").is_some() {
        result["inputRequests"] = json!({"check_roots": {"method": "roots/list", "params": {}}});
    }
    Some(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

//! Spans and log lines of requests: one of each per request, on both sides; and spans of notifications.
//!
//! Names and attributes follow the semantic conventions of OpenTelemetry for MCP. Everything is
//! logged with the target `turnbuckle`. Without a subscriber, a request costs one comparison.
//! Neither spans nor log lines hold arguments, results or messages of errors, which may quote
//! arguments, nor users. [`record_arguments`] adds the arguments of tool calls to spans,
//! [`record_users`] the callers to spans and log lines. The audit log of a server gets its records
//! here, too.

mod audit;
mod distinct_values;
mod failure;
mod notification;
mod propagation;
mod target;
mod telemetry;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tracing::Span;
use tracing::field::{Empty, display};
use tracing::level_filters::LevelFilter;
use turnbuckle_types::base::text::shorten_to;
use turnbuckle_types::{Audit, AuditOutcome, AuditRecord, Principal, RawJson, RequestId};
use turnbuckle_wire::era::{Reply, code_of, is_protocol_code};
use turnbuckle_wire::revision::{Features, Method, MethodRole, Revision};

use crate::shared::panic_guard::guard_callback;
use crate::shared::transport::TransportContext;
pub use audit::RefusedSender;
pub(crate) use audit::{audit_refusal, refusal_outcome};
use distinct_values::{DistinctValues, OTHER};
pub use failure::FailureCause;
pub(crate) use failure::{FailureFacts, TracedFailure};
pub(crate) use notification::{TracedNotification, notification_span};
pub use propagation::TraceContext;
pub(crate) use propagation::received_context;
pub(crate) use target::{arguments_of, target_of};
pub use telemetry::{
    EndedRequest, EndedSession, Level, Side, StreamCount, Telemetry, count_refusal,
    count_store_operation, limit_error, set_local_metrics, set_telemetry,
};
pub(crate) use telemetry::{SessionCount, change_level, telemetry};

/// The most characters of a method, name, URI or request id in a span.
const MAX_CHARS: usize = 256;

/// The most characters of the arguments of a tool call in a span.
const MAX_ARGUMENTS_CHARS: usize = 8192;

/// True if spans have the arguments of tool calls.
static HAS_ARGUMENTS: AtomicBool = AtomicBool::new(false);

/// Adds the arguments of each tool call that a server of this process receives to its span, as the
/// attribute `gen_ai.tool.call.arguments`: the JSON, cut after 8,192 characters. Arguments may be
/// confidential.
pub fn record_arguments() {
    HAS_ARGUMENTS.store(true, Ordering::Relaxed);
}

/// True if spans and log lines have the callers of requests.
static HAS_USERS: AtomicBool = AtomicBool::new(false);

/// Adds the caller of each request that a server of this process receives to its span, as the
/// attribute `enduser.id`, and to its log line, as `user`: the subject of the principal, cut after
/// 256 characters. Requests without a principal have neither. Subjects may be personal data.
pub fn record_users() {
    HAS_USERS.store(true, Ordering::Relaxed);
}

/// The number of characters of a session id in a span: enough to tell sessions apart, too few to
/// use one.
const SESSION_ID_CHARS: usize = 8;

/// The names of tools, and those of prompts, that metrics of one side tell apart. Servers and
/// providers make up names: a list may have others each time.
const MAX_NAMES: usize = 256;

/// The error codes of applications that metrics tell apart. A proxy passes on those of its servers.
const MAX_CODES: usize = 32;

/// The values that metrics of one side have seen.
struct MeasuredValues {
    tools: DistinctValues,
    prompts: DistinctValues,
    codes: DistinctValues,
}

impl MeasuredValues {
    const fn new() -> Self {
        Self {
            tools: DistinctValues::new(MAX_NAMES),
            prompts: DistinctValues::new(MAX_NAMES),
            codes: DistinctValues::new(MAX_CODES),
        }
    }

    fn for_side(side: Side) -> &'static Self {
        static CLIENT: MeasuredValues = MeasuredValues::new();
        static SERVER: MeasuredValues = MeasuredValues::new();
        match side {
            Side::Client => &CLIENT,
            Side::Server => &SERVER,
        }
    }
}

/// Returns whether anything may be logged or measured for a request.
#[inline]
pub(crate) fn is_traced() -> bool {
    LevelFilter::current() >= LevelFilter::WARN || telemetry().is_some()
}

/// Returns whether a request may get a span, or a measurement that names its transport.
#[inline]
pub(crate) fn has_spans() -> bool {
    LevelFilter::current() >= LevelFilter::INFO || telemetry().is_some()
}

/// The facts about a request that its span records.
pub(crate) struct TracedRequest<'a> {
    pub(crate) side: Side,
    pub(crate) method: &'a str,
    /// The name of the tool or prompt, or the URI.
    pub(crate) target: Option<&'a str>,
    /// The arguments for the item that the request names, on servers.
    pub(crate) arguments: Option<RawJson<'a>>,
    /// The id; a client learns it later.
    pub(crate) id: Option<&'a RequestId>,
    pub(crate) features: &'static Features,
    /// `pipe` or `tcp`.
    pub(crate) transport: &'static str,
    pub(crate) session_id: Option<&'a str>,
    /// The span of another process that this one belongs to.
    pub(crate) parent: Option<TraceContext>,
    /// The sender of the request, on servers.
    pub(crate) sender: Option<&'a TransportContext>,
    /// The receiver of the record of the request.
    pub(crate) audit: Option<&'a Arc<dyn Audit>>,
}

/// The facts of a request that its audit record has, until it ends.
struct AuditedRequest {
    audit: Arc<dyn Audit>,
    principal: Option<Arc<Principal>>,
    client_address: Option<IpAddr>,
    argument_bytes: usize,
    argument_digest: Option<[u8; 16]>,
}

/// The span of one request, until it is answered. Dropped before, the request counts as cancelled.
pub(crate) struct RequestTrace {
    span: Span,
    side: Side,
    method: Box<str>,
    /// The method, if a revision has it.
    known: Option<Method>,
    target: Option<Box<str>>,
    revision: Revision,
    transport: &'static str,
    start: Instant,
    is_finished: bool,
    /// The caller, if it is logged.
    user: Option<Box<str>>,
    audited: Option<Box<AuditedRequest>>,
}

impl RequestTrace {
    /// Creates the span of a request.
    #[cold]
    pub(crate) fn start(request: &TracedRequest<'_>) -> Box<Self> {
        let method = cut(request.method);
        let target = request.target.map(cut);
        let known = Method::parse(request.method);
        let is_tool = known == Some(Method::CallTool);
        let is_prompt = known == Some(Method::GetPrompt);
        let name = match &target {
            Some(target) if is_tool || is_prompt => format!("{method} {target}"),
            _ => method.to_string(),
        };
        let mut span = Span::none();
        let mut start = || span = new_span(request, &method, &name);
        match (telemetry(), &request.parent) {
            (Some(telemetry), Some(parent)) => telemetry.with_parent(parent, &mut start),
            _ => start(),
        }
        match &target {
            Some(name) if is_tool => {
                span.record("gen_ai.operation.name", "execute_tool");
                span.record("gen_ai.tool.name", &**name);
                if let Some(arguments) = request.arguments
                    && HAS_ARGUMENTS.load(Ordering::Relaxed)
                {
                    let arguments = shorten_to(arguments.as_str(), MAX_ARGUMENTS_CHARS);
                    span.record("gen_ai.tool.call.arguments", &*arguments);
                }
            }
            Some(name) if is_prompt => {
                span.record("gen_ai.prompt.name", &**name);
            }
            Some(uri) if known != Some(Method::Complete) => {
                span.record("mcp.resource.uri", &**uri);
            }
            _ => {}
        }
        if let Some(id) = request.session_id {
            span.record("mcp.session.id", &*session_text(id));
        }
        let principal = request.sender.and_then(|sender| sender.principal.as_ref());
        let user = principal.filter(|_| HAS_USERS.load(Ordering::Relaxed));
        let user = user.map(|principal| cut(&principal.subject));
        if let Some(user) = &user {
            span.record("enduser.id", &**user);
        }
        let audited = request.audit.map(|audit| {
            Box::new(AuditedRequest {
                audit: audit.clone(),
                principal: principal.cloned(),
                client_address: request.sender.and_then(|sender| sender.address),
                argument_bytes: request.arguments.map_or(0, |it| it.as_str().len()),
                argument_digest: audit::digest_arguments(audit, request.arguments),
            })
        });
        if let Some(telemetry) = telemetry() {
            telemetry.request_started(request.side);
        }
        Box::new(Self {
            span,
            side: request.side,
            method,
            known,
            target,
            revision: request.features.revision,
            transport: request.transport,
            start: Instant::now(),
            is_finished: false,
            user,
            audited,
        })
    }

    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    /// Records the id that the request was given.
    pub(crate) fn record_id(&self, id: &RequestId) {
        self.span.record("jsonrpc.request.id", &*id_text(id));
    }

    /// Records the outcome of a request to this side, and logs it. `facts` are those that the reply
    /// does not tell.
    pub(crate) fn end(self, reply: &Reply, features: &Features, facts: FailureFacts) {
        match reply {
            Reply::Error(error) => {
                let code = code_of(error.kind(), features);
                let text = code.to_string();
                let failure = TracedFailure::from_code(code, &text);
                self.fail(&failure.with_error(error).with_facts(facts));
            }
            reply if reply.is_error() => self.fail(&TracedFailure::TOOL_ERROR.with_facts(facts)),
            _ => self.succeed(),
        }
    }

    /// Records that the request was answered with an error response, and logs it.
    pub(crate) fn fail_with_code(self, code: i64) {
        self.fail(&TracedFailure::from_code(code, &code.to_string()));
    }

    /// Records that the request was answered, and logs it.
    pub(crate) fn succeed(mut self) {
        self.record_success();
    }

    fn record_success(&mut self) {
        self.is_finished = true;
        let (method, target) = (&*self.method, self.target.as_deref());
        let (user, micros) = (self.user.as_deref(), self.micros());
        tracing::debug!(target: "turnbuckle", parent: &self.span, method, name = target, user, micros, "answered");
        self.audit(AuditOutcome::Completed);
        self.measure(None);
    }

    /// Records that the request failed, and logs it.
    pub(crate) fn fail(mut self, failure: &TracedFailure<'_>) {
        self.record_failure(failure);
    }

    fn record_failure(&mut self, failure: &TracedFailure<'_>) {
        self.is_finished = true;
        let TracedFailure {
            error_type,
            code,
            limit,
            ..
        } = *failure;
        self.span.record("error.type", error_type);
        self.span.record("otel.status_code", "ERROR");
        if let Some(code) = code {
            self.span.record("rpc.response.status_code", display(code));
        }
        let (method, target) = (&*self.method, self.target.as_deref());
        let (user, micros) = (self.user.as_deref(), self.micros());
        macro_rules! log_at {
            ($level:expr) => {
                tracing::event!(
                    target: "turnbuckle",
                    parent: &self.span,
                    $level,
                    method,
                    name = target,
                    user,
                    micros,
                    error_type,
                    limit,
                    "failed"
                )
            };
        }
        // The line with the error of a handler is there already.
        match failure.is_logged {
            true => log_at!(tracing::Level::DEBUG),
            false => log_at!(tracing::Level::WARN),
        }
        self.audit(failure.outcome);
        self.measure(Some(failure));
    }

    /// Passes the record of the request to the audit log, if there is one.
    fn audit(&self, outcome: AuditOutcome<'_>) {
        let Some(audited) = &self.audited else {
            return;
        };
        let mut record = AuditRecord::new(outcome);
        record.principal = audited.principal.as_deref();
        record.client_address = audited.client_address;
        record.method = Some(&self.method);
        record.target = self.target.as_deref();
        record.argument_bytes = audited.argument_bytes;
        record.argument_digest = audited.argument_digest;
        record.micros = self.micros();
        guard_callback(|| audited.audit.record(&record));
    }

    /// Passes the end of the request to the exporter of metrics.
    fn measure(&self, failure: Option<&TracedFailure<'_>>) {
        let Some(telemetry) = telemetry() else {
            return;
        };
        let has_result = failure.is_none_or(TracedFailure::has_result);
        let values = MeasuredValues::for_side(self.side);
        let name_of = |method, names: &DistinctValues| {
            let is_measured = has_result && self.known == Some(method);
            let name = self.target.as_deref().filter(|_| is_measured);
            name.map(|name| names.bound(name))
        };
        let given_code = failure.and_then(|failure| failure.code);
        let code = given_code.filter(|code| is_measured(self.side, *code, &values.codes));
        telemetry.request_ended(&EndedRequest {
            side: self.side,
            method: self.known.map_or(OTHER, Method::as_str),
            tool: name_of(Method::CallTool, &values.tools),
            prompt: name_of(Method::GetPrompt, &values.prompts),
            revision: self.revision,
            transport: self.transport,
            error_type: failure.map(|failure| match (given_code, code) {
                (Some(_), None) => OTHER,
                _ => failure.error_type,
            }),
            code,
            seconds: self.start.elapsed().as_secs_f64(),
        });
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Drop for RequestTrace {
    fn drop(&mut self) {
        let role = self.known.map(Method::role);
        match self.is_finished {
            true => {}
            // A client ends its stream of notifications by closing it.
            false if role == Some(MethodRole::Subscription) => self.record_success(),
            false => self.record_failure(&TracedFailure::CANCELLED),
        }
    }
}

/// Creates the span of a request, as a child of the current span.
fn new_span(request: &TracedRequest<'_>, method: &str, name: &str) -> Span {
    tracing::info_span!(
        target: "turnbuckle",
        "request",
        otel.name = name,
        otel.kind = match request.side {
            Side::Client => "client",
            Side::Server => "server",
        },
        otel.status_code = Empty,
        mcp.method.name = method,
        mcp.protocol.version = request.features.revision.as_str(),
        mcp.session.id = Empty,
        mcp.resource.uri = Empty,
        jsonrpc.request.id = request.id.map(id_text).as_deref(),
        network.transport = request.transport,
        network.protocol.name = (request.transport == "tcp").then_some("http"),
        enduser.id = Empty,
        gen_ai.operation.name = Empty,
        gen_ai.tool.name = Empty,
        gen_ai.tool.call.arguments = Empty,
        gen_ai.prompt.name = Empty,
        "error.type" = Empty,
        rpc.response.status_code = Empty,
    )
}

/// Returns a request id as text, at most [`MAX_CHARS`] long.
fn id_text(id: &RequestId) -> Box<str> {
    match id {
        RequestId::Str(id) => cut(id),
        number => cut(&number.to_string()),
    }
}

/// Returns the beginning of a session id.
fn session_text(id: &str) -> String {
    id.chars().take(SESSION_ID_CHARS).collect()
}

/// Returns a text of the peer as spans and log lines show it.
fn cut(text: &str) -> Box<str> {
    shorten_to(text, MAX_CHARS).into()
}

/// Returns whether metrics show a code: one of the protocol, or one of the first of the application.
/// Those of servers are not shown by clients: each response could have another.
fn is_measured(side: Side, code: i64, codes: &DistinctValues) -> bool {
    is_protocol_code(code) || (side == Side::Server && codes.bound(&code.to_string()) != OTHER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_peer_are_cut_in_spans() {
        for chars in [MAX_CHARS - 1, MAX_CHARS, MAX_CHARS + 1] {
            let text = "é".repeat(chars);
            // The end of a text that is cut is `…`.
            let shown = chars.min(MAX_CHARS + 1);
            assert_eq!(cut(&text).chars().count(), shown);
            let id = RequestId::from(text);
            assert_eq!(id_text(&id).chars().count(), shown);
        }
    }

    #[test]
    fn texts_of_a_peer_have_no_hidden_characters_in_spans() {
        let text = "a\r\nb\u{1b}[2J\u{202e}\u{200b}";
        let shown = "a\\r\\nb\\u{1b}[2J\\u{202e}\\u{200b}";
        assert_eq!(&*cut(text), shown);
        assert_eq!(&*id_text(&RequestId::from(text)), shown);
    }

    #[test]
    fn a_span_has_the_beginning_of_a_session_id_alone() {
        assert_eq!(session_text("0123456789abcdef"), "01234567");
    }

    #[test]
    fn codes_that_a_server_makes_up_are_not_measured() {
        let codes = DistinctValues::new(2);
        let is_shown = |side, code| is_measured(side, code, &codes);
        for side in [Side::Client, Side::Server] {
            assert!(is_shown(side, -32602), "{side:?}");
        }
        for code in [7, -32_768, -32_050] {
            assert!(!is_shown(Side::Client, code), "{code}");
        }
        // An application has few codes; a proxy passes on those of its servers.
        let shown = [7, 8, 9, 7].map(|code| is_shown(Side::Server, code));
        assert_eq!(shown, [true, true, false, true]);
    }
}

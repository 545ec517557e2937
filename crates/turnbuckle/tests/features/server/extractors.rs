//! Handlers with extractors.

use std::collections::BTreeSet;

use tokio::sync::watch;
use turnbuckle::prelude::*;
use turnbuckle::types::{ProtocolError, RequiredScopes};
use turnbuckle::{Extract, Invocation};

use crate::telemetry::trace_id;

pub(super) fn group() -> Group {
    Group::new()
        .state("shared".to_owned())
        .state(Marks::default())
        .tools(tools![
            state,
            progress,
            log,
            wait,
            await_mark,
            whoami,
            meta,
            process,
            flavour,
            region,
            caller,
            looked_up,
            tenant,
            must_have_tenant,
            items,
            context,
            trace
        ])
}

#[tool]
fn state(text: State<String>) -> String {
    text.to_string()
}

/// Returns the id of the trace that the call belongs to.
#[tool]
fn trace() -> String {
    trace_id(&opentelemetry::Context::current())
}

#[tool]
async fn progress(progress: Progress) -> &'static str {
    progress.report_with_total(1u64, 2u64).await;
    progress.report_with_message(2u64, 2u64, "all of it").await;
    "done"
}

#[tool]
async fn log(log: Log) -> &'static str {
    log.debug("too fine").await;
    log.warning("look out").await;
    "done"
}

/// Marks of events, for tools that wait for them.
#[derive(Default)]
pub(super) struct Marks(watch::Sender<BTreeSet<String>>);

impl Marks {
    pub(super) fn set(&self, mark: &str) {
        self.0.send_modify(|marks| {
            marks.insert(mark.to_owned());
        });
    }

    async fn wait_for(&self, mark: &str) {
        let mut marks = self.0.subscribe();
        let _ = marks.wait_for(|marks| marks.contains(mark)).await;
    }
}

/// Ends when the client cancels the call.
#[tool]
async fn wait(cancel: Cancellation, marks: State<Marks>) -> &'static str {
    marks.set("begun");
    cancel.cancelled().await;
    marks.set("cancelled");
    "nobody hears this"
}

/// Ends when the event was marked.
#[tool]
async fn await_mark(mark: String, marks: State<Marks>) -> String {
    marks.wait_for(&mark).await;
    mark
}

#[tool]
fn whoami(client: ClientInfo) -> String {
    let info = client.implementation();
    let name = info.map(|info| format!("{} {}", info.name, info.version));
    let samples = client.capabilities().supports_sampling();
    format!("{name:?} {} {samples}", client.revision())
}

#[tool]
fn meta(meta: Meta) -> Option<String> {
    meta.get("example.com/trace")
}

#[tool]
fn flavour(http: HttpRequest) -> String {
    http.header("X-Flavour").unwrap_or("none").to_owned()
}

/// Returns the id of the server's process.
#[tool]
fn process() -> u32 {
    std::process::id()
}

/// Returns the argument that a header repeats.
#[tool]
fn region(#[schema(header = "Region")] region: String, http: HttpRequest) -> String {
    let repeated = http.header("Mcp-Param-Region");
    format!("{region}, {}", repeated.unwrap_or("none"))
}

/// The caller, extracted from the request.
struct Caller(String);

impl Extract for Caller {
    async fn extract(incoming: &Invocation<'_>) -> Result<Self> {
        let info = incoming.context().client_info();
        let info = info.ok_or_else(|| Failure::new("a nameless client"))?;
        // As if it were looked up in a database.
        tokio::task::yield_now().await;
        Ok(Self(info.name))
    }
}

/// A value that is looked up in vain, for the reason that the request's metadata name.
struct LookedUp;

impl Extract for LookedUp {
    async fn extract(incoming: &Invocation<'_>) -> Result<Self> {
        let given = Meta::extract(incoming).await?;
        tokio::task::yield_now().await;
        let reason: Option<String> = given.get("example.com/reason");
        Err(match reason.as_deref() {
            Some("client") => ProtocolError::invalid_params("no such account").into(),
            Some("scope") => ProtocolError::forbidden(RequiredScopes::new(["accounts"])).into(),
            Some("server") => ProtocolError::internal("the database is gone").into(),
            _ => Failure::new("sign up first"),
        })
    }
}

#[tool]
fn looked_up(#[extract] _account: LookedUp) -> &'static str {
    "found"
}

/// A value that a layer in front of the HTTP endpoint adds.
#[derive(Clone)]
pub(crate) struct Tenant(pub(crate) &'static str);

#[tool]
fn tenant(layered: Option<HttpExtension<Tenant>>) -> &'static str {
    layered.map_or("none", |layered| layered.0.0)
}

#[tool]
fn must_have_tenant(HttpExtension(Tenant(name)): HttpExtension<Tenant>) -> &'static str {
    name
}

/// Returns the number of items of each kind.
#[tool]
fn items(server: Server) -> String {
    let tools = server.tool_names();
    let has_this = tools.iter().any(|name| name == "items");
    let (prompts, resources) = (server.prompt_names(), server.resource_uris());
    let has_letter = prompts.iter().any(|name| name == "letter");
    let has_secret = resources.iter().any(|uri| uri == "secrets://one");
    format!("{has_this} {has_letter} {has_secret}")
}

#[tool]
fn caller(greeting: String, #[extract] Caller(name): Caller) -> String {
    format!("{greeting}, {name}")
}

#[tool]
fn context(context: HandlerContext) -> String {
    let name = context.params().name.map(|name| name.as_str().to_owned());
    name.unwrap_or_default()
}

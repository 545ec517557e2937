//! Handlers with extractors.

use std::collections::BTreeSet;

use tokio::sync::watch;
use turnbuckle::prelude::*;
use turnbuckle::{Extract, Invocation};

pub(super) fn group() -> Group {
    Group::new()
        .state("shared".to_owned())
        .state(Marks::default())
        .tools(tools![
            state, progress, log, wait, await_mark, whoami, meta, process, flavour, region, caller,
            context
        ])
}

#[tool]
fn state(text: State<String>) -> String {
    text.to_string()
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
    fn extract(incoming: &Invocation<'_>) -> Result<Self> {
        let info = incoming.context().client_info();
        let info = info.ok_or_else(|| Failure::new("a nameless client"))?;
        Ok(Self(info.name))
    }
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

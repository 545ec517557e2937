//! The tools and resources of the servers.

use std::error::Error;
use std::future::poll_fn;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use turnbuckle::ServerBuilder;
use turnbuckle::middleware::{Next, from_fn};
use turnbuckle::prelude::*;
use turnbuckle::service::CallRequest;

use crate::texts;

/// Text to echo.
#[data]
pub(crate) struct Echoed {
    pub(crate) message: String,
}

/// Say it again.
#[tool]
fn echo(message: String) -> Echoed {
    Echoed { message }
}

/// Returns the builder of a server with the tool `echo`.
pub(crate) fn builder() -> ServerBuilder {
    Server::new("budget", "1.0.0").tools(tools![echo])
}

/// Builds a server: `echo`: that tool alone; `bulk`: large answers; `busy`: handlers that wait, tell, and never end; `around`: that
/// tool in one layer of a function; a number: so many tools, all on one page of their list.
pub(crate) fn server(offer: &str) -> Result<Server, Box<dyn Error>> {
    let server = builder();
    Ok(match offer {
        "echo" => server.build()?,
        "bulk" => server
            .tools(tools![prose, escapes, length])
            .resources(resources![document])
            .build()?,
        "busy" => busy()?,
        "around" => server
            .layer(from_fn(async |call: CallRequest, next: Next| {
                next.run(call).await
            }))
            .build()?,
        number => {
            let tools: NonZeroUsize = number.parse()?;
            let more = (1..tools.get()).map(filler);
            more.fold(server.page_size(tools), |server, tool| server.tool(tool))
                .build()?
        }
    })
}

/// Returns a long text.
#[tool]
fn prose() -> String {
    texts::prose()
}

/// Returns a text that has to be escaped.
#[tool]
fn escapes() -> String {
    texts::escapes()
}

/// Returns how long a text is.
#[tool]
fn length(text: String) -> usize {
    text.len()
}

/// Returns a file.
#[resource("text://document", mime = "text/plain")]
fn document() -> String {
    texts::document()
}

/// The place where a server is found by its own handlers.
#[derive(Clone, Default)]
struct This(Arc<OnceLock<Server>>);

fn busy() -> Result<Server, Box<dyn Error>> {
    let this = This::default();
    let server = Server::new("budget", "1.0.0")
        .state(this.clone())
        .tools(tools![echo, wait, report, touch, hang])
        .resources(resources![file])
        .build()?;
    let _ = this.0.set(server.clone());
    Ok(server)
}

/// Say it again, a moment later.
#[tool]
async fn wait(message: String) -> Echoed {
    woken_once().await;
    Echoed { message }
}

/// Is pending once, and wakes itself at once: what somebody does to wake a handler is not counted.
/// The session polls a handler in place first, and again in a task; there it is ready. So the way
/// into a task and back is counted, and not a wait in the task. `yield_now` has the runtime look at
/// its sockets first, which is no part of that way.
async fn woken_once() {
    let mut woken = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut woken, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Say it again, and how far that is before.
#[tool]
async fn report(message: String, progress: Progress) -> Echoed {
    progress.report_with_total(1, 2).await;
    Echoed { message }
}

/// Say that a file has changed.
#[tool]
fn touch(message: String, this: State<This>) -> Echoed {
    if let Some(server) = this.0.get() {
        server.notify_resource_updated("file:///touched");
    }
    Echoed { message }
}

/// Never end.
#[tool]
async fn hang() {
    std::future::pending().await
}

/// A file.
#[resource("file:///{name}")]
fn file(name: String) -> String {
    name
}

/// The arguments of a filler.
#[data]
struct Order {
    /// The city that it goes to.
    city: String,
    /// The number of there that are.
    count: u32,
    /// True if there is any hurry.
    urgent: Option<bool>,
}

/// The number of fillers that have a name of their own: as many as any row needs.
const NAMES: usize = 10_000;

/// The bytes of a name.
const NAME: usize = b"order_0000".len();

/// The names, one after the other: made when this is compiled, as the names of tools are that stand
/// in a program.
static FILLERS: &str = {
    static BYTES: [u8; NAMES * NAME] = {
        let mut names = [0; NAMES * NAME];
        let mut at = 0;
        while at < names.len() {
            let number = at / NAME;
            let digits = [
                number / 1_000,
                number / 100 % 10,
                number / 10 % 10,
                number % 10,
            ];
            names[at] = match at % NAME {
                place @ 0..6 => b"order_"[place],
                place => b'0' + digits[place - 6] as u8,
            };
            at += 1;
        }
        names
    };
    match std::str::from_utf8(&BYTES) {
        Ok(names) => names,
        Err(_) => "",
    }
};

fn filler(number: usize) -> Tool {
    let at = number % NAMES * NAME;
    Tool::builder(FILLERS.get(at..at + NAME).unwrap_or_default())
        .description("Order something, and have it sent to a city")
        .handler(|Args(order): Args<Order>| {
            let hurry = order.urgent.unwrap_or(false);
            format!("{} to {}, {hurry}", order.count, order.city)
        })
}

//! Small conversations, and what must hold of each whatever happens on its way.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::{Builder, Handle};
use tokio::time::{sleep, timeout};
use turnbuckle_client::{ChangeFilter, Client, EraPreference, Error, FormAnswer, QuestionContext};
use turnbuckle_http::{
    HttpConnector, HttpLimits, HttpServerOptions, HttpSse, SseConnector, StreamableHttp,
};
use turnbuckle_it::harness::{Bind, Case};
use turnbuckle_it::wires::{Passed, Script, Wires};
use turnbuckle_server::{Failure, HandlerContext, NeedsInput, Server, Tool};
use turnbuckle_session::transport::Connector;
use turnbuckle_types::{CallToolResult, CreateMessageRequestParams, CreateMessageResult, Role};
use turnbuckle_wire::revision::Revision;

use crate::asking;

/// Time limit of every wait: longer than every timeout of either side.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Time after which nothing may be left: idle sessions have been ended by then.
const REST: Duration = Duration::from_secs(2 * 3600);

/// Sessions that a server may have.
const SESSIONS: usize = 2;

/// Requests that follow the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exchange {
    /// A call that is answered at once.
    Call,
    /// A call that tells how it gets on; over HTTP on a stream.
    Progress,
    /// A call that asks its client for a model's words, and for a form where there are forms.
    Asking,
    /// A subscription, and a change.
    Listening,
}

/// A conversation: which, in which revision, over which binding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scenario {
    pub(super) exchange: Exchange,
    pub(super) case: Case,
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} in {}", self.exchange, self.case)
    }
}

/// Returns whether the environment asks for seeds, so that scenarios that take long are run too.
pub(super) fn at_length() -> bool {
    std::env::var_os("TURNBUCKLE_SEEDS").is_some()
}

/// Returns all conversations over that binding. HTTP+SSE is tried in the revision that it belongs
/// to; the others speak over it as over any other connection.
pub(super) fn places(binding: Bind) -> Vec<Scenario> {
    use Exchange::{Asking, Call, Listening, Progress};
    let cases = Case::all().into_iter().filter(|case| {
        let own = binding != Bind::Sse || case.revision == Revision::ALL[0];
        case.binding == binding && (own || at_length())
    });
    let places = cases.flat_map(|case| {
        [Call, Progress, Asking, Listening].map(|exchange| Scenario { exchange, case })
    });
    places.collect()
}

/// Record of one conversation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Outcome of each request.
    pub(super) ends: Vec<Result<String, String>>,
    /// Data that each connection carried.
    pub(super) wires: Vec<[Passed; 2]>,
}

/// Has the conversation under a script, on a clock of its own.
///
/// # Errors
/// When something does not hold: what, and under which script.
pub(super) fn converse(place: Scenario, script: &Script) -> Result<Run, String> {
    let clock = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    let run = clock.expect("a runtime").block_on(async {
        let ran = tokio::spawn(run(place, script.clone()));
        ran.await
            .map_err(|error| match error.into_panic().downcast() {
                Ok(outcome) => *outcome,
                Err(other) => other.downcast_ref::<&str>().map_or("?", |it| it).to_owned(),
            })
    });
    run.map_err(|why| format!("{place}: {why}\n{script:?}"))
}

/// A server that can be connected to again and again.
enum Served {
    Duplex(Server, Bind),
    Http(StreamableHttp),
    Sse(HttpSse),
}

impl Served {
    fn new(server: Server, binding: Bind) -> Self {
        let options = || {
            HttpServerOptions::new().http_limits(
                HttpLimits::new()
                    .max_sessions(SESSIONS)
                    .max_sse_connections(SESSIONS),
            )
        };
        match binding {
            Bind::Pipe | Bind::Stream => Self::Duplex(server, binding),
            Bind::Http => Self::Http(StreamableHttp::new(server, options())),
            Bind::Sse => Self::Sse(HttpSse::new(server, options())),
        }
    }

    fn connector(&self, wires: &Wires) -> Arc<dyn Connector> {
        let at = |url| HttpConnector::new(url).expect("a URL");
        match self {
            Self::Duplex(server, Bind::Pipe) => Arc::new(wires.memory(server.clone())),
            Self::Duplex(server, _) => Arc::new(wires.lines(server.clone())),
            Self::Http(service) => {
                Arc::new(at("http://localhost/mcp").http_client(wires.web(service.clone())))
            }
            Self::Sse(service) => {
                let connector = at("http://localhost/sse").http_client(wires.web(service.clone()));
                Arc::new(SseConnector::new(connector))
            }
        }
    }

    async fn connect(&self, place: Scenario, wires: &Wires) -> Result<Client, Error> {
        let builder = Client::builder("tester", "1.0.0")
            .on_form(async |_, _: QuestionContext| FormAnswer::accept([("name", "Ada")]))
            .on_sampling(async |_: CreateMessageRequestParams, _: QuestionContext| {
                let words = "something";
                Ok(CreateMessageResult::new(Role::Assistant, words, "m"))
            })
            .era(EraPreference::Only(place.case.revision));
        in_time(builder.connect(self.connector(wires))).await
    }
}

/// Awaits `work`, and fails the test if it takes too long.
async fn in_time<T>(work: impl Future<Output = T>) -> T {
    timeout(PATIENCE, work).await.expect("it hangs")
}

/// Creates a server whose handlers hold `running` while they run; its questions are those of that
/// revision.
fn server(running: &Arc<()>, revision: Revision) -> Server {
    let held = running.clone();
    let steps = move |(): (), context: HandlerContext| {
        let running = held.clone();
        async move {
            for step in 1..=2 {
                sleep(Duration::from_millis(900)).await;
                context.progress(step, Some(2.into())).await;
            }
            drop(running);
            "done"
        }
    };
    let held = running.clone();
    let kinds: &[_] = match revision.features().elicitation {
        true => &["form", "sample"],
        false => &["sample"],
    };
    let ask = move |(): (), context: HandlerContext| {
        let running = held.clone();
        async move {
            let _running = running;
            let answers = kinds.iter().map(|kind| context.raw_answer(kind));
            let answers: Option<Vec<_>> = answers.map(|it| Some(it?.to_string())).collect();
            if let Some(answers) = answers {
                return Ok(answers.join(" "));
            }
            let asking = |needs: NeedsInput, kind: &&str| needs.ask(kind, asking::question(kind));
            let needed = kinds.iter().fold(NeedsInput::new(), asking);
            Err::<String, Failure>(needed.into())
        }
    };
    let touch = async |(): (), server: Server| {
        server.notify_tools_changed();
        "touched"
    };
    Server::new("wired", "1.0.0")
        .dynamic_tools()
        .tool(Tool::builder("plain").handler(async |(): (), _: HandlerContext| "plain"))
        .tool(Tool::builder("steps").handler(steps))
        .tool(Tool::builder("ask").handler(ask))
        .tool(Tool::builder("touch").handler(touch))
        .build()
        .expect("a server")
}

async fn run(place: Scenario, script: Script) -> Run {
    let running = Arc::new(());
    let served = Served::new(server(&running, place.case.revision), place.case.binding);
    let wires = Wires::new(script);
    let mut ends = Vec::new();
    match served.connect(place, &wires).await {
        Ok(client) => {
            ends.extend(talk(place.exchange, &client).await);
            // Whatever becomes of these.
            ends.push(call(&client, "plain").await);
            ends.push(call(&client, "plain").await);
            assert_eq!(client.in_flight(), Default::default(), "requests are left");
            in_time(client.close()).await;
            assert_eq!(client.in_flight(), Default::default());
        }
        Err(error) => ends.push(Err(error.to_string())),
    }
    assert!(ends.iter().flatten_err().all(|error| !error.is_empty()));
    // At once, there is room for others.
    let fresh = Wires::new(Script::plain());
    sound(place, &served, &fresh).await;
    // In the end nothing is left.
    sleep(REST).await;
    assert_eq!(Arc::strong_count(&running), 3, "handlers are left");
    if matches!(place.case.binding, Bind::Http | Bind::Sse) {
        // As many sessions as there may be.
        let one = || sound(place, &served, &fresh);
        tokio::join!(one(), one());
    }
    let wires = wires.trace().wires();
    for wire in &wires {
        wire.iter().for_each(|passed| whole_lines(place, passed));
    }
    drop(served);
    sleep(REST).await;
    // This one is a task, too.
    assert_eq!(
        Handle::current().metrics().num_alive_tasks(),
        1,
        "tasks are left"
    );
    Run { ends, wires }
}

/// Asserts that a new client is served.
async fn sound(place: Scenario, served: &Served, wires: &Wires) {
    let client = served
        .connect(place, wires)
        .await
        .expect("a new connection");
    assert_eq!(call(&client, "plain").await.as_deref(), Ok("plain"));
    in_time(client.close()).await;
}

/// Asserts that a side has sent whole messages, of which only the last may be cut off.
fn whole_lines(place: Scenario, passed: &Passed) {
    if place.case.binding == Bind::Stream {
        for line in passed.bytes.split_inclusive(|byte| *byte == b'\n') {
            let whole = serde_json::from_slice::<Value>(line).is_ok();
            let last = !line.ends_with(b"\n");
            assert!(whole || last, "{}", String::from_utf8_lossy(line));
        }
    }
}

async fn call(client: &Client, tool: &str) -> Result<String, String> {
    to_outcome(in_time(client.call_tool(tool, &()).send()).await)
}

fn to_outcome(result: Result<CallToolResult, Error>) -> Result<String, String> {
    let result = result.map_err(|error| error.to_string())?;
    Ok(result
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .collect())
}

/// Runs the requests of an exchange and returns their outcomes.
async fn talk(exchange: Exchange, client: &Client) -> Vec<Result<String, String>> {
    match exchange {
        Exchange::Call => vec![call(client, "plain").await],
        Exchange::Asking => vec![call(client, "ask").await],
        Exchange::Progress => {
            let last_progress = Arc::new(Mutex::new(0.0));
            let log = last_progress.clone();
            let call = client.call_tool("steps", &()).on_progress(move |progress| {
                let mut last = log.lock().expect("no panic");
                assert!(progress.progress.as_f64() >= *last, "it goes backwards");
                *last = progress.progress.as_f64();
            });
            vec![to_outcome(in_time(call.send()).await)]
        }
        Exchange::Listening => {
            let interest = ChangeFilter::new().tools();
            let mut subscription = match in_time(client.subscribe(interest)).await {
                Ok(subscription) => subscription,
                Err(error) => return vec![Err(error.to_string())],
            };
            let touched = call(client, "touch").await;
            // A lost notice is not told again; whoever listens goes on to wait.
            let change = match timeout(Duration::from_secs(600), subscription.next()).await {
                Ok(change) => Ok(json!(format!("{change:?}")).to_string()),
                Err(_) => Err("nothing was heard".to_owned()),
            };
            vec![touched, change]
        }
    }
}

/// The errors among results.
trait FlattenErr<'a> {
    fn flatten_err(self) -> impl Iterator<Item = &'a String>;
}

impl<'a, I: Iterator<Item = &'a Result<String, String>>> FlattenErr<'a> for I {
    fn flatten_err(self) -> impl Iterator<Item = &'a String> {
        self.filter_map(|it| it.as_ref().err())
    }
}

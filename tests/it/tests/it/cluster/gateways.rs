//! Instances of a proxy: a question of a server behind it that reached the client through one instance is
//! answered through another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};
use turnbuckle_client::EraPreference;
use turnbuckle_it::faulty_store::{Fault, FaultyStore};
use turnbuckle_it::harness::modern_meta;
use turnbuckle_it::web::{Ask as Sending, Web, sessions};
use turnbuckle_server::{
    Args, Ask, Cancellation, Failure, HandlerContext, Progress, Result, Server, Tool,
};
use turnbuckle_servers::{InProcess, Proxy, Servers};
use turnbuckle_store::{MemoryStore, StoreErrorKind};
use turnbuckle_types::{LoggingLevel, Principal, ProtocolError};
use turnbuckle_wire::revision::Revision;

use super::keys;
use crate::support::principal;

/// The eras of the server behind the proxy.
const BEHIND: [EraPreference; 2] = [EraPreference::Legacy, EraPreference::Modern];

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Size {
    bytes: usize,
}

/// Counts runs of the server's handlers, and those that were dropped before their end.
#[derive(Clone, Default)]
struct Counts {
    runs: Arc<AtomicUsize>,
    cut: Arc<AtomicUsize>,
}

/// Counts a run, and its end if it is dropped before it is done.
struct Run(Counts, bool);

impl Counts {
    fn begin(&self) -> Run {
        self.runs.fetch_add(1, Ordering::Relaxed);
        Run(self.clone(), false)
    }

    fn cut(&self) -> usize {
        self.cut.load(Ordering::Relaxed)
    }
}

impl Run {
    fn finish(mut self) {
        self.1 = true;
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.1 {
            self.0.cut.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Returns the server behind the proxy: its tools ask twice (`pair`), ask and fail (`fail`), ask and work for ever
/// (`work`), ask and answer with so many bytes (`large`), and answer at once (`plain`).
fn origin(counts: &Counts) -> Server {
    let counting = counts.clone();
    let pair = move |ask: Ask, progress: Progress, context: HandlerContext| {
        let run = counting.begin();
        async move {
            let first: Name = ask.form("The first?").await?;
            progress.report_with_message(1, 2, "half").await;
            context.log(LoggingLevel::Error, None, "between").await;
            let second: Name = ask.form("The second?").await?;
            run.finish();
            Ok::<_, Failure>(format!("{} and {}", first.name, second.name))
        }
    };
    let fail = async |ask: Ask| -> Result<String> {
        let Name { name } = ask.form("A name?").await?;
        let error = ProtocolError::application(-31000, format!("no {name}"));
        Err(error.with_data(&json!({"of": name})).into())
    };
    let counting = counts.clone();
    let work = move |ask: Ask, cancellation: Cancellation| {
        let counting = counting.clone();
        async move {
            let Name { .. } = ask.form("A name?").await?;
            let _run = counting.begin();
            cancellation.cancelled().await;
            Ok::<_, Failure>("cancelled")
        }
    };
    let large = async |ask: Ask, Args(Size { bytes }): Args<Size>| -> Result<String> {
        let Name { name } = ask.form("A name?").await?;
        Ok(name.repeat(bytes))
    };
    Server::new("origin", "1")
        .logging()
        .tool(Tool::builder("pair").handler(pair))
        .tool(Tool::builder("fail").handler(fail))
        .tool(Tool::builder("work").handler(work))
        .tool(Tool::builder("large").handler(large))
        .tool(Tool::builder("plain").handler(|| "done"))
        .build()
        .unwrap()
}

/// One instance of the proxy.
struct Gateway {
    web: Web,
    line: FaultyStore,
    _proxy: Proxy,
}

/// Two instances of a proxy, and the counts of the server behind them.
struct Gateways {
    both: [Gateway; 2],
    counts: Counts,
}

async fn gateways(behind: EraPreference) -> Gateways {
    let store = MemoryStore::new();
    let counts = Counts::default();
    let origin = origin(&counts);
    let gateway = async || {
        let line = FaultyStore::for_engine(&store);
        let server = Server::new("gateway", "1").keys(keys()).store(line.clone());
        let proxy = Servers::builder("gateway", "1")
            .server("origin", InProcess::new(origin.clone()))
            .clients(move |builder| builder.era(behind))
            .proxy(server)
            .await
            .unwrap();
        let web = Web::new(proxy.server());
        // The instance subscribes to its messages.
        sleep(Duration::from_millis(1)).await;
        Gateway {
            web,
            line,
            _proxy: proxy,
        }
    };
    let both = [gateway().await, gateway().await];
    Gateways { both, counts }
}

/// A call of a tool by a modern client, which begins again with each answer.
#[derive(Clone)]
struct Call {
    params: Value,
    principal: Option<Principal>,
}

impl Call {
    fn new(tool: &str, arguments: Value) -> Self {
        let mut meta = json!({"progressToken": 7});
        let capabilities = json!({"elicitation": {"form": {}}});
        for (key, value) in modern_meta(Revision::NEWEST, &capabilities) {
            meta[key] = value;
        }
        meta["io.modelcontextprotocol/logLevel"] = "debug".into();
        let name = format!("origin__{tool}");
        Self {
            params: json!({"name": name, "arguments": arguments, "_meta": meta}),
            principal: None,
        }
    }

    fn request(&self, gateway: &Gateway) -> Sending {
        let request = gateway.web.modern("tools/call", self.params.clone());
        match self.principal.clone() {
            Some(principal) => request.principal(principal),
            None => request,
        }
    }

    /// Sends the call to an instance, and returns all messages, with the response at the end.
    async fn send(&self, gateway: &Gateway) -> Vec<Value> {
        let got = self.request(gateway).send().await;
        match got.is_stream() {
            true => got.events().messages().await,
            false => vec![got.json().await],
        }
    }

    /// Sends the call, which must come to a question, and answers that in the next request.
    async fn ask(&mut self, gateway: &Gateway, answer: &str) -> Vec<Value> {
        let messages = self.send(gateway).await;
        let result = &messages.last().unwrap()["result"];
        assert_eq!(result["resultType"], "input_required", "{messages:?}");
        let questions = result["inputRequests"].as_object().unwrap();
        let content = json!({"action": "accept", "content": {"name": answer}});
        let answers = questions.keys().map(|key| (key.clone(), content.clone()));
        self.params["inputResponses"] = answers.collect();
        self.params["requestState"] = result["requestState"].clone();
        messages
    }

    /// Sends the call, and returns the text of its result.
    async fn text(&self, gateway: &Gateway) -> String {
        text(&self.send(gateway).await)
    }
}

fn text(messages: &[Value]) -> String {
    let result = &messages.last().unwrap()["result"];
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{messages:?}")).to_owned()
}

/// Returns the text of an error, of the protocol or of the tool.
fn error(messages: &[Value]) -> String {
    let response = messages.last().unwrap();
    match response["error"]["message"].as_str() {
        Some(message) => message.to_owned(),
        None => {
            assert_eq!(response["result"]["isError"], true, "{response}");
            text(messages)
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_without_questions_needs_no_store() {
    for behind in BEHIND {
        let Gateways { both, .. } = gateways(behind).await;
        let unavailable = Fault::Error(StoreErrorKind::Unavailable);
        both[0].line.fail("", unavailable);
        let call = Call::new("plain", json!({}));
        assert_eq!(call.text(&both[0]).await, "done", "{behind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_reaches_the_call_through_any_instance() {
    for behind in BEHIND {
        for at in [[0, 1, 0], [0, 1, 1], [0, 0, 1], [1, 0, 0]] {
            let Gateways { both, counts } = gateways(behind).await;
            let mut call = Call::new("pair", json!({}));
            call.ask(&both[at[0]], "Ann").await;
            let asked = call.ask(&both[at[1]], "Bob").await;
            assert_eq!(
                asked.len(),
                3,
                "progress, a log message, a question: {asked:?}"
            );
            assert_eq!(asked[0]["params"]["message"], "half");
            assert_eq!(asked[1]["params"]["data"], "between");
            assert_eq!(
                call.text(&both[at[2]]).await,
                "Ann and Bob",
                "{behind:?} {at:?}"
            );
            // The server sees one call, which a legacy one runs once.
            let runs = match behind {
                EraPreference::Legacy => 1,
                _ => 3,
            };
            assert_eq!(
                counts.runs.load(Ordering::Relaxed),
                runs,
                "{behind:?} {at:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_keeps_its_code_and_data_between_instances() {
    for behind in BEHIND {
        let Gateways { both, .. } = gateways(behind).await;
        let mut call = Call::new("fail", json!({}));
        call.ask(&both[0], "Ann").await;
        let failed = call.send(&both[1]).await;
        let error = json!({"code": -31000, "message": "no Ann", "data": {"of": "Ann"}});
        assert_eq!(failed[0]["error"], error, "{behind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_of_any_size_is_passed_or_refused_between_instances() {
    let Gateways { both, .. } = gateways(EraPreference::Modern).await;
    for bytes in [100, 100 << 10, 3 << 20] {
        let mut call = Call::new("large", json!({"bytes": bytes}));
        call.ask(&both[0], "x").await;
        assert_eq!(call.text(&both[1]).await.len(), bytes);
    }
    let mut call = Call::new("large", json!({"bytes": 17 << 20}));
    call.ask(&both[0], "x").await;
    let failed = error(&call.send(&both[1]).await);
    assert!(failed.contains("larger than 16 MiB"), "{failed:.200}");
}

#[tokio::test(start_paused = true)]
async fn a_call_is_answered_once() {
    let Gateways { both, counts } = gateways(EraPreference::Legacy).await;
    let mut call = Call::new("pair", json!({}));
    call.ask(&both[0], "Ann").await;
    let again = call.clone();
    call.ask(&both[1], "Bob").await;
    assert_eq!(call.text(&both[1]).await, "Ann and Bob");
    for (gateway, call) in [(0, &again), (1, &again), (0, &call), (1, &call)] {
        let failed = error(&call.send(&both[gateway]).await);
        assert!(failed.contains("is no longer open"), "{failed}");
    }
    assert_eq!(counts.runs.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn the_answer_of_another_principal_is_refused_at_any_instance() {
    let Gateways { both, .. } = gateways(EraPreference::Legacy).await;
    let mut call = Call::new("pair", json!({}));
    call.principal = Some(principal("ann"));
    call.ask(&both[0], "Ann").await;
    for other in [Some(principal("eve")), None] {
        let mut stolen = call.clone();
        stolen.principal = other;
        for gateway in &both {
            let failed = error(&stolen.send(gateway).await);
            assert!(failed.contains("requestState"), "{failed}");
        }
    }
    call.ask(&both[1], "Bob").await;
    assert_eq!(call.text(&both[0]).await, "Ann and Bob");
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_an_instance_that_has_ended_fails_with_its_name() {
    for behind in BEHIND {
        let Gateways { both, .. } = gateways(behind).await;
        let mut call = Call::new("pair", json!({}));
        call.ask(&both[0], "Ann").await;
        both[0]
            .line
            .fail("", Fault::Error(StoreErrorKind::Unavailable));
        // Its lease ends.
        sleep(Duration::from_secs(8)).await;
        let began = Instant::now();
        let failed = error(&call.send(&both[1]).await);
        assert!(failed.contains("has ended; call again"), "{failed}");
        assert!(
            began.elapsed() < Duration::from_secs(1),
            "{:?}",
            began.elapsed()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_with_its_instance_while_it_works_for_a_client_elsewhere() {
    for behind in BEHIND {
        let Gateways { both, counts } = gateways(behind).await;
        let mut call = Call::new("work", json!({}));
        call.ask(&both[0], "Ann").await;
        let working = call.send(&both[1]);
        let began = Instant::now();
        let killed = async {
            sleep(Duration::from_secs(5)).await;
            both[0]
                .line
                .fail("", Fault::Error(StoreErrorKind::Unavailable));
        };
        let (failed, ()) = tokio::join!(working, killed);
        let failed = error(&failed);
        assert!(failed.contains("instance"), "{failed}");
        assert!(
            began.elapsed() < Duration::from_secs(16),
            "{:?}",
            began.elapsed()
        );
        // The instance that lost its store hears nothing of the client, and cancels the call.
        sleep(Duration::from_secs(11)).await;
        assert_eq!(counts.cut(), 1, "{behind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_when_the_instance_of_its_client_is_lost() {
    for behind in BEHIND {
        let Gateways { both, counts } = gateways(behind).await;
        let mut call = Call::new("work", json!({}));
        call.ask(&both[0], "Ann").await;
        let working = call.send(&both[1]);
        let lost = async {
            sleep(Duration::from_secs(30)).await;
            assert_eq!(counts.cut(), 0, "{behind:?}");
            both[1]
                .line
                .fail("", Fault::Error(StoreErrorKind::Unavailable));
        };
        let (failed, ()) = tokio::join!(working, lost);
        let failed = error(&failed);
        assert!(failed.contains("does not answer"), "{failed}");
        sleep(Duration::from_secs(3)).await;
        assert_eq!(counts.cut(), 1, "{behind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_cancelled_when_its_client_leaves_another_instance() {
    for behind in BEHIND {
        let Gateways { both, counts } = gateways(behind).await;
        let mut call = Call::new("work", json!({}));
        call.ask(&both[0], "Ann").await;
        let left = timeout(Duration::from_secs(30), call.send(&both[1])).await;
        assert!(left.is_err(), "{left:?}");
        sleep(Duration::from_millis(10)).await;
        assert_eq!(counts.cut(), 1, "{behind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_survives_while_the_store_fails_for_a_moment() {
    let Gateways { both, counts } = gateways(EraPreference::Legacy).await;
    let mut call = Call::new("work", json!({}));
    call.ask(&both[0], "Ann").await;
    let left = timeout(Duration::from_secs(30), call.send(&both[1]));
    let fails = async {
        sleep(Duration::from_secs(5)).await;
        for gateway in &both {
            let unavailable = Fault::Error(StoreErrorKind::Unavailable);
            gateway.line.fail("publish", unavailable);
        }
        sleep(Duration::from_secs(4)).await;
        both.iter().for_each(|gateway| gateway.line.heal());
        sleep(Duration::from_secs(20)).await;
        assert_eq!(counts.cut(), 0);
    };
    let (left, ()) = tokio::join!(left, fails);
    assert!(left.is_err(), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_client_never_comes_back_is_cancelled_after_ten_minutes_without_an_answer() {
    let Gateways { both, counts } = gateways(EraPreference::Legacy).await;
    let mut call = Call::new("pair", json!({}));
    call.ask(&both[0], "Ann").await;
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    sleep(minutes(9)).await;
    call.ask(&both[1], "Bob").await;
    sleep(minutes(9)).await;
    assert_eq!(
        counts.cut(),
        0,
        "the second question waits as long as the first"
    );
    sleep(minutes(2)).await;
    assert_eq!(counts.cut(), 1);
    let failed = error(&call.send(&both[1]).await);
    assert!(failed.contains("is no longer open"), "{failed}");
}

#[tokio::test(start_paused = true)]
async fn a_legacy_client_answers_a_server_behind_the_proxy_at_any_instance() {
    // Revisions before 2025-06-18 have no forms.
    let asking = sessions();
    let asking = asking.iter().filter(|it| it.features().elicitation);
    for revision in asking {
        for behind in BEHIND {
            let Gateways { both, .. } = gateways(behind).await;
            let capabilities = json!({"elicitation": {}});
            let session = both[0].web.open_able(*revision, capabilities).await;
            let there = session.with_web(&both[1].web);
            let mut events = session
                .call_tool(1, "origin__pair", &json!({}))
                .events()
                .await;
            for (answer, at) in [("Ann", &there), ("Bob", &session)] {
                let question = loop {
                    let message = events.message().await;
                    if message["method"] == "elicitation/create" {
                        break message;
                    }
                };
                let content = json!({"action": "accept", "content": {"name": answer}});
                let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": content});
                assert_eq!(at.post(&answer).send().await.status, 202);
            }
            let result = events.messages().await;
            assert_eq!(text(&result), "Ann and Bob", "{revision} {behind:?}");
        }
    }
}

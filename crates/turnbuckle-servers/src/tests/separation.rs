//! Clients of a proxy that must not see each other's messages, nor use up each other's room.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinHandle;
use turnbuckle_client::{Client, ClientBuilder, EraPreference, Error, FormAnswer};
use turnbuckle_server::{Ask, Cancellation, Server, Tool};
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::transport::{
    ClientLimits, Connector, Inbox, Link, LinkKind, OpenFuture, Timeouts, TransportContext,
    TransportLink, memory_pair, serve,
};
use turnbuckle_types::{CallToolResult, LoggingLevel, Map, Principal};

use super::scripted::{Script, ScriptedServer};
use super::support::{ERAS, speak};
use crate::{InProcess, Proxy, Servers};

/// A connector to a server in this process, on behalf of a principal.
pub(super) struct OnBehalfOf(pub(super) &'static str, pub(super) Server);

impl Connector for OnBehalfOf {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        let (here, there) = memory_pair();
        let context = TransportContext {
            principal: Some(Arc::new(Principal::new("https://issuer.example", self.0))),
            ..TransportContext::default()
        };
        let serving = serve(
            self.1.clone(),
            there,
            Limits::default(),
            context,
            Signal::new(),
        );
        tokio::spawn(serving);
        let link: Arc<dyn Link> = TransportLink::start(here, inbox, 1 << 20);
        Box::pin(std::future::ready(Ok(link)))
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        "a proxy in this process".into()
    }
}

/// A client that records what it is shown.
struct Shown {
    client: Client,
    forms: Arc<AtomicUsize>,
    logs: Arc<Mutex<Vec<String>>>,
}

impl Shown {
    async fn connect(proxy: &Proxy, era: EraPreference) -> Self {
        let forms = Arc::new(AtomicUsize::new(0));
        let logs = Arc::new(Mutex::new(Vec::new()));
        let (count, log) = (forms.clone(), logs.clone());
        let builder = Client::builder("c", "1")
            .era(era)
            .log_level(LoggingLevel::Debug)
            .on_log(move |message| log.lock().unwrap().push(message.data.as_str().to_owned()))
            .on_form(move |_, _| {
                count.fetch_add(1, Ordering::Relaxed);
                async { FormAnswer::Accept(Map::new()) }
            });
        let gateway = InProcess::new(proxy.server().clone());
        let client = builder.connect(gateway).await.unwrap();
        Self {
            client,
            forms,
            logs,
        }
    }

    fn work(&self) -> JoinHandle<Result<CallToolResult, Error>> {
        let call = self.client.call_tool("one__work", &());
        tokio::spawn(async move { call.await })
    }

    fn forms(&self) -> usize {
        self.forms.load(Ordering::Relaxed)
    }

    fn logs(&self) -> Vec<String> {
        self.logs.lock().unwrap().clone()
    }
}

async fn scripted_proxy() -> (Proxy, Script) {
    let (server, script) = ScriptedServer::new();
    let proxy = Servers::builder("host", "1").server("one", server);
    (
        proxy.proxy(Server::new("gateway", "1")).await.unwrap(),
        script,
    )
}

#[tokio::test(start_paused = true)]
async fn messages_about_a_cancelled_call_reach_no_other_client() {
    for era in ERAS {
        let (proxy, mut script) = scripted_proxy().await;
        let (ann, bob) = (
            Shown::connect(&proxy, era).await,
            Shown::connect(&proxy, era).await,
        );
        let leaving = ann.work();
        let cancelled = script.next("tools/call").await;
        leaving.abort();
        script.next("notifications/cancelled").await;

        let waiting = bob.work();
        let call = script.next("tools/call").await;
        let answer = script.ask("about ann").await;
        assert_eq!(answer["action"], "cancel", "{era:?}");
        script.log("about ann");

        // The server may ask late, until it has worked on no call.
        script.answer(&cancelled);
        assert_eq!(script.ask("about ann").await["action"], "cancel", "{era:?}");
        script.answer(&call);
        waiting.await.unwrap().unwrap();
        let waiting = bob.work();
        let call = script.next("tools/call").await;
        script.log("about bob");
        assert_eq!(script.ask("about bob").await["action"], "accept", "{era:?}");
        script.answer(&call);
        waiting.await.unwrap().unwrap();
        assert_eq!((ann.forms(), bob.forms()), (0, 1), "{era:?}");
        assert_eq!(bob.logs(), ["\"about bob\""], "{era:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_question_about_an_answered_call_reaches_no_other_client() {
    for era in ERAS {
        let (proxy, mut script) = scripted_proxy().await;
        let ann = Shown::connect(&proxy, era).await;
        let bob = Shown::connect(&proxy, era).await;
        let answered = ann.work();
        let call = script.next("tools/call").await;
        let waiting = bob.work();
        let long = script.next("tools/call").await;
        script.answer(&call);
        answered.await.unwrap().unwrap();
        assert_eq!(script.ask("about ann").await["action"], "cancel", "{era:?}");
        // Nor another call of the client that has one under way.
        let again = bob.work();
        let call = script.next("tools/call").await;
        assert_eq!(script.ask("about ann").await["action"], "cancel", "{era:?}");
        for call in [call, long] {
            script.answer(&call);
        }
        again.await.unwrap().unwrap();
        waiting.await.unwrap().unwrap();
        // The server has worked on no call since.
        let waiting = bob.work();
        let call = script.next("tools/call").await;
        assert_eq!(script.ask("about bob").await["action"], "accept", "{era:?}");
        script.answer(&call);
        waiting.await.unwrap().unwrap();
        assert_eq!((ann.forms(), bob.forms()), (0, 1), "{era:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_log_message_about_an_answered_call_reaches_no_other_client() {
    for era in ERAS {
        let (proxy, mut script) = scripted_proxy().await;
        let ann = Shown::connect(&proxy, era).await;
        let bob = Shown::connect(&proxy, era).await;
        let answered = ann.work();
        let call = script.next("tools/call").await;
        script.answer(&call);
        answered.await.unwrap().unwrap();

        for (wait, shown) in [(0, vec![]), (600, vec!["\"about ann\"".to_owned()])] {
            tokio::time::sleep(Duration::from_secs(wait)).await;
            let waiting = bob.work();
            let call = script.next("tools/call").await;
            script.log("about ann");
            // A question comes while the server works on its call.
            assert_eq!(script.ask("about bob").await["action"], "accept", "{era:?}");
            script.answer(&call);
            waiting.await.unwrap().unwrap();
            assert_eq!(bob.logs(), shown, "{era:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_that_is_never_answered_is_forgotten_after_ten_minutes() {
    let (proxy, mut script) = scripted_proxy().await;
    let ann = Shown::connect(&proxy, EraPreference::Legacy).await;
    let bob = Shown::connect(&proxy, EraPreference::Legacy).await;
    let leaving = ann.work();
    script.next("tools/call").await;
    leaving.abort();
    script.next("notifications/cancelled").await;
    tokio::time::sleep(Duration::from_secs(10 * 60)).await;
    let waiting = bob.work();
    let call = script.next("tools/call").await;
    assert_eq!(script.ask("about bob").await["action"], "accept");
    script.answer(&call);
    waiting.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn messages_that_may_be_about_calls_of_two_clients_reach_neither() {
    let (proxy, mut script) = scripted_proxy().await;
    let ann = Shown::connect(&proxy, EraPreference::Legacy).await;
    let bob = Shown::connect(&proxy, EraPreference::Legacy).await;
    let (one, two) = (ann.work(), bob.work());
    let calls = [
        script.next("tools/call").await,
        script.next("tools/call").await,
    ];
    assert_eq!(script.ask("about one of them").await["action"], "cancel");
    script.log("about one of them");
    for call in &calls {
        script.answer(call);
    }
    one.await.unwrap().unwrap();
    two.await.unwrap().unwrap();
    assert_eq!((ann.forms(), bob.forms()), (0, 0));
    assert!(ann.logs().is_empty() && bob.logs().is_empty());
    // Several calls of one client are no reason to be silent.
    let (one, two) = (ann.work(), ann.work());
    let calls = [
        script.next("tools/call").await,
        script.next("tools/call").await,
    ];
    assert_eq!(script.ask("about ann").await["action"], "accept");
    for call in &calls {
        script.answer(call);
    }
    one.await.unwrap().unwrap();
    two.await.unwrap().unwrap();
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Agreement {
    #[serde(rename = "agree")]
    _agree: Option<bool>,
}

/// Returns a proxy in front of a server of `era` with a tool that asks and one that waits, whose
/// connection takes 16 requests at once; and the number of runs of the tool that asks.
async fn asking_proxy(era: EraPreference) -> (Proxy, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let count = runs.clone();
    let ask = Tool::builder("ask").handler(move |ask: Ask| {
        count.fetch_add(1, Ordering::Relaxed);
        async move {
            let form = ask.form::<Agreement>("Really?");
            form.await.map(|_| "asked")
        }
    });
    let wait = Tool::builder("wait").handler(async |cancellation: Cancellation| {
        cancellation.cancelled().await;
    });
    let quick = Tool::builder("quick").handler(|| "quick");
    let server = Server::new("origin", "1").tool(ask).tool(wait).tool(quick);
    let limits = Limits::default().max_in_flight(100_000);
    let origin = InProcess::new(server.build().unwrap()).limits(limits);
    let proxy = Servers::builder("host", "1")
        .server("one", origin)
        .clients(speak(era));
    (
        proxy.proxy(Server::new("gateway", "1")).await.unwrap(),
        runs,
    )
}

/// Returns a client of a principal that never answers a form.
async fn silent(proxy: &Proxy, principal: &'static str, builder: ClientBuilder) -> Client {
    let builder = builder.on_form(|_, _| pending());
    let gateway = OnBehalfOf(principal, proxy.server().clone());
    builder.connect(gateway).await.unwrap()
}

fn modern() -> ClientBuilder {
    Client::builder("c", "1").era(EraPreference::Modern)
}

#[tokio::test(start_paused = true)]
async fn half_of_the_calls_that_wait_for_answers_are_left_to_other_clients() {
    let (proxy, _) = asking_proxy(EraPreference::Modern).await;
    let mut waiting = Vec::new();
    // Another connection is no other client.
    for _ in 0..2 {
        let ann = silent(&proxy, "ann", modern()).await;
        for _ in 0..64 {
            let call = ann.call_tool("one__ask", &());
            waiting.push(tokio::spawn(async move { call.await }));
        }
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let ann = silent(&proxy, "ann", modern()).await;
    let refused = ann.call_tool("one__ask", &()).await.unwrap_err();
    assert!(
        refused.to_string().contains("too many calls wait"),
        "{refused}"
    );
    let bob = modern().on_form(async |_, _| FormAnswer::Accept(Map::new()));
    let bob = bob
        .connect(OnBehalfOf("bob", proxy.server().clone()))
        .await
        .unwrap();
    let asked = bob.call_tool("one__ask", &()).await.unwrap();
    assert_eq!(asked.text(), "asked");
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_call_that_is_gone_is_refused_and_the_tool_does_not_run_again() {
    for behind in ERAS {
        let (proxy, runs) = asking_proxy(behind).await;
        let late = modern()
            .on_form(async |_, _| {
                tokio::time::sleep(Duration::from_secs(11 * 60)).await;
                FormAnswer::Accept(Map::new())
            })
            .limits(ClientLimits::default().handler_timeout(Duration::from_secs(3600)))
            .timeouts(Timeouts::uniform(Duration::from_secs(3600)));
        let late = late
            .connect(OnBehalfOf("ann", proxy.server().clone()))
            .await
            .unwrap();
        let gone = late.call_tool("one__ask", &()).await.unwrap_err();
        assert!(gone.to_string().contains("no longer open"), "{gone}");
        assert_eq!(runs.load(Ordering::Relaxed), 1, "{behind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn half_of_the_requests_to_a_server_are_left_to_other_clients() {
    for era in ERAS {
        let (proxy, _) = asking_proxy(era).await;
        let mut ann = Vec::new();
        // Far more than the connection to the server takes.
        for _ in 0..3 {
            let client = silent(&proxy, "ann", modern()).await;
            for _ in 0..500 {
                let call = client.call_tool("one__wait", &());
                ann.push(tokio::spawn(async move { call.await }));
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let bob = silent(&proxy, "bob", modern()).await;
        for _ in 0..100 {
            let quick = bob.call_tool("one__quick", &()).await.unwrap();
            assert_eq!(quick.text(), "quick", "{era:?}");
        }
        ann.iter().for_each(JoinHandle::abort);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_of_a_server_keeps_its_code_and_data() {
    let (proxy, mut script) = scripted_proxy().await;
    let client = Shown::connect(&proxy, EraPreference::Modern).await;
    let waiting = client.work();
    let call = script.next("tools/call").await;
    let error = json!({"code": 42, "message": "closed", "data": {"until": 7}});
    script.send(json!({"id": call["id"], "error": error}));
    let Error::ErrorResponse(response) = waiting.await.unwrap().unwrap_err() else {
        panic!("no error response");
    };
    assert_eq!(response.code, 42);
    assert_eq!(response.data.unwrap().as_str(), r#"{"until":7}"#);
}

#[tokio::test(start_paused = true)]
async fn questions_that_a_client_does_not_answer_keep_no_other_client_waiting() {
    for (front, behind) in ERAS
        .into_iter()
        .flat_map(|era| ERAS.map(|behind| (era, behind)))
    {
        let (proxy, _) = asking_proxy(behind).await;
        let builder = Client::builder("c", "1").era(front);
        let ann = silent(&proxy, "ann", builder.on_form(|_, _| pending())).await;
        for _ in 0..20 {
            let call = ann.call_tool("one__ask", &());
            tokio::spawn(async move { call.await });
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let bob = Client::builder("c", "1").era(front);
        let bob = bob.on_form(async |_, _| FormAnswer::Accept(Map::new()));
        let gateway = OnBehalfOf("bob", proxy.server().clone());
        let bob = bob.connect(gateway).await.unwrap();
        let asked = bob.call_tool("one__ask", &()).await;
        match (front, behind) {
            // On a pipe, the question may be about the calls of either.
            (_, EraPreference::Legacy) => drop(asked),
            _ => assert_eq!(asked.unwrap().text(), "asked", "{front:?} {behind:?}"),
        }
    }
}

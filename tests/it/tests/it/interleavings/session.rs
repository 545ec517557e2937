//! A server's end of a connection, with handlers that do as they are told.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_session::handler::{Limits, RequestContext, Signal};
use turnbuckle_session::internal::{HandlerOutcome, IncomingRequest, ServerIdentity};
use turnbuckle_session::transport::{
    CloseReason, Dispatch, Frame, MemoryTransport, Transport, TransportContext, memory_pair, serve,
};
use turnbuckle_types::{EmptyResult, Implementation, ServerCapabilities};
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Revision;

use super::model::{ClientMessage, Event, Id, Kind, Model};
use super::{Pause, on_one_thread, paced_orders, pass};

/// More than a grace, and than what a closed connection waits.
const LONG: Duration = Duration::from_secs(10);

const A: Id = 1;
const B: Id = 2;

/// A server whose methods are the kinds of handlers.
struct Puppet {
    identity: ServerIdentity,
    /// Let handlers of a request go on.
    gates: Mutex<BTreeMap<String, Signal>>,
}

impl Puppet {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            identity: ServerIdentity {
                info: Implementation::new("puppet", "1"),
                capabilities: ServerCapabilities::new(),
                instructions: None,
                include_in_results: false,
                ttl_ms: 0,
                public: false,
            },
            gates: Mutex::default(),
        })
    }

    fn gate(&self, id: impl ToString) -> Signal {
        self.gates
            .lock()
            .unwrap()
            .entry(id.to_string())
            .or_default()
            .clone()
    }
}

fn done() -> Reply {
    Reply::complete(EmptyResult::new())
}

impl Dispatch for Puppet {
    fn identity(&self) -> &ServerIdentity {
        &self.identity
    }

    fn call(&self, call: IncomingRequest<'_>, context: RequestContext) -> HandlerOutcome {
        let gate = self.gate(context.id());
        let cancelled = |context: RequestContext| async move { context.cancelled().await };
        match call.name {
            "x/Ready" => HandlerOutcome::Ready(done()),
            "x/Panics" => panic!("as it was told"),
            "x/Polite" => HandlerOutcome::Pending(Box::pin(async move {
                tokio::select! {
                    biased;
                    () = cancelled(context.clone()) => {}
                    () = gate.cancelled() => {}
                }
                done()
            })),
            "x/Stubborn" => HandlerOutcome::Pending(Box::pin(async move {
                gate.cancelled().await;
                drop(context);
                done()
            })),
            _ => HandlerOutcome::Pending(Box::pin(async move {
                gate.cancelled().await;
                drop(context);
                panic!("as it was told")
            })),
        }
    }
}

/// A client, and the server at its other end.
struct Path {
    puppet: Arc<Puppet>,
    modern: bool,
    client: MemoryTransport,
    stop: Signal,
    serving: tokio::task::JoinHandle<CloseReason>,
    got: BTreeMap<Id, (u8, u8)>,
}

impl Path {
    async fn new(modern: bool, limit: usize) -> Self {
        let (client, theirs) = memory_pair();
        let (puppet, stop) = (Puppet::new(), Signal::new());
        let mut limits = Limits::default();
        limits.max_in_flight = limit;
        let server: Arc<dyn Dispatch> = puppet.clone();
        let context = TransportContext::default();
        let serving = tokio::spawn(serve(server, theirs, limits, context, stop.clone()));
        let mut path = Self {
            puppet,
            modern,
            client,
            stop,
            serving,
            got: BTreeMap::new(),
        };
        if !modern {
            path.send(
                &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": Revision::NEWEST_LEGACY.as_str(), "capabilities": {},
                "clientInfo": {"name": "c", "version": "1"}}}),
            )
            .await;
            path.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
                .await;
            Pause::Rest.take().await;
            path.read().await;
            path.got.clear();
        }
        path
    }

    async fn send(&mut self, message: &Value) {
        self.client.queue(message.to_string().as_bytes());
        // A server that has stopped hears nothing.
        let _ = poll_fn(|cx| self.client.poll_flush(cx)).await;
    }

    /// Takes what has come.
    async fn read(&mut self) {
        let mut come = Vec::new();
        poll_fn(|cx| {
            while let Poll::Ready(Some(Frame::Message(frame))) = self.client.poll_frame(cx) {
                come.push(frame);
            }
            Poll::Ready(())
        })
        .await;
        for frame in come {
            let message: Value = serde_json::from_slice(&frame).unwrap();
            let id = Id::try_from(message["id"].as_u64().unwrap()).unwrap();
            let got = self.got.entry(id).or_default();
            match message.get("result") {
                Some(_) => got.0 += 1,
                None => got.1 += 1,
            }
        }
    }

    async fn happen(&mut self, event: Event) {
        match event {
            Event::Say(ClientMessage::Call(id, kind)) => {
                let envelope = json!({
                    "io.modelcontextprotocol/protocolVersion": Revision::NEWEST.as_str(),
                    "io.modelcontextprotocol/clientCapabilities": {}});
                let params = match self.modern {
                    true => json!({"_meta": envelope}),
                    false => json!({}),
                };
                let method = format!("x/{kind:?}");
                let call = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
                self.send(&call).await;
            }
            Event::Say(ClientMessage::Cancel(id)) => {
                let method = "notifications/cancelled";
                let cancel =
                    json!({"jsonrpc": "2.0", "method": method, "params": {"requestId": id}});
                self.send(&cancel).await;
            }
            Event::Release(id) => self.puppet.gate(id).cancel(),
            Event::TimePasses => pass(LONG).await,
            Event::Close => self.client.close_sending(),
            Event::Stop => self.stop.cancel(),
        }
    }
}

/// Has a script happen, and holds the session to the model.
async fn follow(modern: bool, limit: usize, script: &[(Event, Pause)]) {
    let mut path = Path::new(modern, limit).await;
    let mut model = Model::new(limit);
    let mut closed = false;
    for (event, pause) in script {
        // Who has closed says no more.
        if closed && matches!(event, Event::Say(_)) {
            continue;
        }
        closed |= matches!(event, Event::Close);
        path.happen(*event).await;
        model.happen(*event);
        pause.take().await;
        if *pause == Pause::Rest || *event == Event::TimePasses {
            model.rest();
        }
        path.read().await;
        assert!(
            model.states.iter().any(|state| state.got == path.got),
            "modern: {modern}, limit {limit}: {script:?}: {event:?} {:?} {:?}",
            path.got,
            model.states
        );
        // What a state says that is not so is not where it is.
        model
            .states
            .retain(|state| *pause != Pause::Rest || state.got == path.got);
        if *pause == Pause::Rest && model.is_over() {
            assert!(path.serving.is_finished(), "{script:?}: it stays");
        }
    }
    // The end of all.
    if !closed {
        path.happen(Event::Close).await;
        model.happen(Event::Close);
    }
    Pause::Rest.take().await;
    model.rest();
    if model.is_over() {
        assert!(path.serving.is_finished(), "{script:?}: it stays");
    }
    pass(LONG).await;
    model.rest_late();
    path.read().await;
    assert!(model.is_over() && path.serving.is_finished(), "{script:?}");
    assert!(
        model.states.iter().any(|state| state.got == path.got),
        "modern: {modern}, limit {limit}: {script:?}: {:?} {:?}",
        path.got,
        model.states
    );
    let Path { puppet, .. } = path;
    assert_eq!(
        Arc::strong_count(&puppet),
        1,
        "{script:?}: something is left"
    );
}

/// Runs every order and every pace of scripts, in both eras.
fn explore(what: &str, limit: usize, scripts: &[&[Event]]) {
    let paths = paced_orders(scripts);
    eprintln!("{what}: {} paths", 2 * paths.len());
    on_one_thread(async {
        for path in &paths {
            follow(false, limit, path).await;
            follow(true, limit, path).await;
        }
    });
}

fn call(id: Id, kind: Kind) -> Event {
    Event::Say(ClientMessage::Call(id, kind))
}

fn cancel(id: Id) -> Event {
    Event::Say(ClientMessage::Cancel(id))
}

#[test]
fn a_call_its_cancellation_and_its_end_meet_in_every_order() {
    silence();
    for kind in [
        Kind::Ready,
        Kind::Panics,
        Kind::Polite,
        Kind::Stubborn,
        Kind::PanicsLater,
    ] {
        explore(
            &format!("{kind:?}"),
            2,
            &[
                &[call(A, kind), cancel(A)],
                &[Event::Release(A)],
                &[Event::TimePasses],
            ],
        );
    }
}

#[test]
fn a_session_ends_correctly_in_every_order_of_events() {
    silence();
    for end in [Event::Close, Event::Stop] {
        for kind in [Kind::Polite, Kind::Stubborn, Kind::PanicsLater] {
            explore(
                &format!("{end:?} {kind:?}"),
                2,
                &[&[call(A, kind), cancel(A)], &[Event::Release(A)], &[end]],
            );
        }
    }
}

#[test]
fn an_id_is_used_again_in_every_order() {
    silence();
    for kind in [Kind::Polite, Kind::Stubborn] {
        explore(
            &format!("{kind:?} twice"),
            2,
            &[
                &[call(A, kind), cancel(A), call(A, Kind::Ready)],
                &[Event::Release(A)],
            ],
        );
    }
}

#[test]
fn limits_are_exact_in_every_order() {
    silence();
    for limit in [1, 2] {
        explore(
            &format!("limit {limit}"),
            limit,
            &[
                &[call(A, Kind::Polite), call(B, Kind::Polite), cancel(A)],
                &[Event::Release(A)],
                &[Event::Release(B)],
            ],
        );
    }
}

/// Handlers panic here as they are told: that is no news.
fn silence() {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.payload().downcast_ref::<&str>();
        if text.is_none_or(|text| *text != "as it was told") {
            eprintln!("{panic}");
        }
    }));
}

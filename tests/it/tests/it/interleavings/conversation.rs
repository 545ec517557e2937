//! A client's end of a connection: its requests and those of its server, in every order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use turnbuckle_session::handler::Signal;
use turnbuckle_session::internal::{
    ClientHandler, ClientSession, HandlerOutcome, IncomingNotification, IncomingRequest,
    NegotiatedRevision, OutboundRequest, RawResult, RequestError, ServerRequest,
};
use turnbuckle_session::transport::{
    ClientLimits, Connector, Frame, Inbox, Link, LinkError, LinkFuture, LinkKind, OpenFuture,
    OutboundMessage, RequestTag, SendFuture, Timeouts,
};
use turnbuckle_types::{EmptyResult, RequestId};
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Revision;

use super::{Pause, on_one_thread, paced_orders, pass};

/// Timeout of a request, longer than everything that happens at once.
const PATIENCE: Duration = Duration::from_secs(5);
const LONG: Duration = Duration::from_secs(8);

/// One event of a conversation. Requests of the client are counted from 0; their ids from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Ask(usize),
    /// The server answers.
    Answer(usize),
    /// The caller is not interested any more.
    Drop(usize),
    TimePasses,
    /// The connection is lost.
    Lost,
    /// The client closes it.
    Close,
    /// The server asks.
    Question,
    /// The client cancels that request.
    Withdraw,
    /// The user answers.
    Reply,
}

/// A way to a server that keeps what is sent.
#[derive(Default)]
struct Wire {
    sent: Mutex<Vec<Value>>,
    inbox: Mutex<Option<Arc<dyn Inbox>>>,
}

#[derive(Clone)]
struct To(Arc<Wire>);

impl Connector for To {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        *self.0.inbox.lock().unwrap() = Some(inbox);
        let link: Arc<dyn Link> = Arc::new(self.clone());
        Box::pin(std::future::ready(Ok(link)))
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        "a wire".into()
    }
}

impl Link for To {
    fn kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn try_send(&self, message: OutboundMessage) -> Result<(), OutboundMessage> {
        Err(message)
    }

    fn send(&self, parcel: OutboundMessage) -> SendFuture {
        let wire = self.0.clone();
        Box::pin(async move {
            // As with every other way, it takes a turn.
            tokio::task::yield_now().await;
            let message = serde_json::from_slice(&parcel.frame).unwrap();
            wire.sent.lock().unwrap().push(message);
            Ok(())
        })
    }

    fn may_have_sent(&self) -> bool {
        false
    }

    fn close(&self) -> LinkFuture {
        Box::pin(std::future::ready(()))
    }
}

/// A user who answers when the gate is open.
struct User(Signal);

impl ClientHandler for User {
    fn handle_request(&self, _: IncomingRequest<'_>, request: ServerRequest) -> HandlerOutcome {
        let gate = self.0.clone();
        HandlerOutcome::Pending(Box::pin(async move {
            tokio::select! {
                biased;
                () = request.signal().cancelled() => {}
                () = gate.cancelled() => {}
            }
            Reply::complete(EmptyResult::new())
        }))
    }

    fn handle_notification(&self, _: IncomingNotification<'_>, _: Option<&RequestTag>) {}
}

type Asked = JoinHandle<Result<RawResult, RequestError>>;

struct Path {
    wire: Arc<Wire>,
    gate: Signal,
    conversation: Arc<ClientSession>,
    asked: BTreeMap<usize, Asked>,
    /// Ids, by request; told before it is sent.
    ids: Arc<Mutex<BTreeMap<usize, RequestId>>>,
    /// Requests that were answered, or dropped, while everything was at rest before and after.
    surely: BTreeMap<usize, &'static str>,
    over: bool,
    questions: usize,
}

impl Path {
    async fn new(limit: usize) -> Self {
        let (wire, gate) = (Arc::<Wire>::default(), Signal::new());
        let mut limits = ClientLimits::default();
        limits.max_outgoing_requests = limit;
        limits.max_in_flight = 1;
        let user = Arc::new(User(gate.clone()));
        let opened = ClientSession::open(&To(wire.clone()), user, limits, None).await;
        let conversation = opened.unwrap();
        conversation.set_revision(Arc::new(NegotiatedRevision::legacy(
            Revision::NEWEST_LEGACY,
        )));
        Self {
            wire,
            gate,
            conversation,
            asked: BTreeMap::new(),
            ids: Arc::default(),
            surely: BTreeMap::new(),
            over: false,
            questions: 0,
        }
    }

    fn come(&self, message: &Value) {
        let inbox = self.wire.inbox.lock().unwrap().clone().unwrap();
        inbox.receive(Frame::Message(Bytes::from(message.to_string())), None);
    }

    fn id(&self, number: usize) -> Option<RequestId> {
        self.ids.lock().unwrap().get(&number).cloned()
    }

    async fn happen(&mut self, event: Event) {
        match event {
            Event::Ask(number) => {
                let (conversation, ids) = (self.conversation.clone(), self.ids.clone());
                self.asked.insert(
                    number,
                    tokio::spawn(async move {
                        let speaks = NegotiatedRevision::legacy(Revision::NEWEST_LEGACY);
                        let begun = |id: &RequestId| {
                            ids.lock().unwrap().insert(number, id.clone());
                        };
                        let mut ask = OutboundRequest::new("tools/list", None, &speaks);
                        ask.timeouts = Timeouts::uniform(PATIENCE);
                        ask.on_id_assigned = Some(&begun);
                        conversation.send_request(ask).await
                    }),
                );
            }
            Event::Answer(number) => {
                let id = self.id(number).unwrap_or(RequestId::from(77));
                self.come(&json!({"jsonrpc": "2.0", "id": id, "result": {"tools": []}}));
            }
            Event::Drop(number) => {
                if let Some(asked) = self.asked.get(&number) {
                    asked.abort();
                }
            }
            Event::TimePasses => pass(LONG).await,
            Event::Lost => {
                let inbox = self.wire.inbox.lock().unwrap().clone().unwrap();
                inbox.fail(LinkError::ConnectionLost {
                    reason: "cut".into(),
                });
                self.over = true;
            }
            Event::Close => {
                self.conversation.close().await;
                self.over = true;
            }
            Event::Question => {
                self.questions += 1;
                self.come(&json!({"jsonrpc": "2.0", "id": "q", "method": "roots/list"}));
            }
            Event::Withdraw => self.come(&json!({"jsonrpc": "2.0",
                "method": "notifications/cancelled", "params": {"requestId": "q"}})),
            Event::Reply => self.gate.cancel(),
        }
    }

    /// Returns whether the request waits while every task is idle, so that its fate is certain.
    fn waits(&self, number: usize) -> bool {
        let sent = self.id(number).is_some_and(|id| {
            let id = serde_json::to_value(id).unwrap();
            self.wire
                .sent
                .lock()
                .unwrap()
                .iter()
                .any(|it| it["id"] == id)
        });
        sent && self
            .asked
            .get(&number)
            .is_some_and(|asked| !asked.is_finished())
    }

    fn cancelled(&self, number: usize) -> usize {
        let id = serde_json::to_value(self.id(number)).unwrap();
        let sent = self.wire.sent.lock().unwrap();
        sent.iter()
            .filter(|it| it["params"]["requestId"] == id && !id.is_null())
            .count()
    }
}

async fn follow(limit: usize, script: &[(Event, Pause)]) {
    let mut path = Path::new(limit).await;
    let mut rests = true;
    for (event, pause) in script {
        let sure = match event {
            Event::Answer(number) if rests && path.waits(*number) && !path.over => {
                Some((*number, "answered"))
            }
            Event::Drop(number) if rests && path.waits(*number) => Some((*number, "dropped")),
            _ => None,
        };
        let alive = !path.over;
        path.happen(*event).await;
        rests = *pause == Pause::Rest || *event == Event::TimePasses;
        pause.take().await;
        if let Some((number, what)) = sure.filter(|_| rests) {
            path.surely.entry(number).or_insert(what);
            // Nothing is owed to the server but that it is told, once.
            let expected = usize::from(what == "dropped" && alive);
            assert_eq!(path.cancelled(number), expected, "{script:?}");
        }
        let waiting = path
            .asked
            .values()
            .filter(|asked| !asked.is_finished())
            .count();
        let in_flight = path.conversation.in_flight();
        let (ours, theirs) = (in_flight.requests, in_flight.server_requests);
        assert!(
            ours <= waiting.max(ours.min(limit)) && ours <= limit && theirs <= 1,
            "{script:?}"
        );
        if rests {
            assert!(ours <= waiting, "{script:?}: {ours} wait for nobody");
        }
    }
    pass(LONG).await;
    assert_eq!(path.conversation.in_flight().requests, 0, "{script:?}");
    let asked = std::mem::take(&mut path.asked);
    let mut ids = Vec::new();
    for (number, asked) in asked {
        let ended = tokio::time::timeout(LONG, asked).await.expect("it hangs");
        let well = matches!(ended, Ok(Ok(_)));
        match path.surely.get(&number) {
            Some(&"answered") => assert!(well, "{script:?}: {ended:?}"),
            Some(_) => assert!(ended.is_err(), "{script:?}: {ended:?}"),
            None => {}
        }
        let cancelled = path.cancelled(number);
        assert!(
            cancelled <= 1 && !(well && cancelled > 0),
            "{script:?}: {cancelled}"
        );
        ids.extend(path.id(number));
    }
    ids.sort_by_key(|id| serde_json::to_string(id).unwrap());
    ids.windows(2)
        .for_each(|pair| assert_ne!(pair[0], pair[1], "{script:?}"));
    let sent = path.wire.sent.lock().unwrap().clone();
    let answers = sent.iter().filter(|it| it["id"] == "q").count();
    assert!(answers <= path.questions, "{script:?}");
    let withdrawn = script.iter().any(|it| it.0 == Event::Withdraw);
    let replied = script.iter().any(|it| it.0 == Event::Reply);
    if !withdrawn && !path.over && replied {
        assert_eq!(answers, path.questions, "{script:?}");
    }
    path.gate.cancel();
    Pause::Rest.take().await;
    assert_eq!(
        path.conversation.in_flight(),
        Default::default(),
        "{script:?}"
    );
    // Nobody but this path holds it.
    assert_eq!(Arc::strong_count(&path.conversation), 1, "{script:?}");
}

fn explore(what: &str, limit: usize, scripts: &[&[Event]]) {
    let paths = paced_orders(scripts);
    eprintln!("{what}: {} paths", paths.len());
    on_one_thread(async {
        for path in &paths {
            follow(limit, path).await;
        }
    });
}

#[test]
fn a_request_its_answer_and_its_end_meet_in_every_order() {
    use Event::{Answer, Ask, Close, Drop, Lost, TimePasses};
    for end in [Lost, Close, TimePasses] {
        explore(
            &format!("{end:?}"),
            2,
            &[&[Ask(0), Drop(0)], &[Answer(0), Answer(0)], &[end]],
        );
    }
}

#[test]
fn requests_share_a_limit_in_every_order() {
    use Event::{Answer, Ask, Drop};
    for limit in [1, 2] {
        explore(
            &format!("limit {limit}"),
            limit,
            &[&[Ask(0), Answer(0)], &[Ask(1), Drop(1)], &[Ask(2)]],
        );
    }
}

#[test]
fn a_question_its_answer_and_its_end_meet_in_every_order() {
    use Event::{Close, Lost, Question, Reply, Withdraw};
    explore(
        "question",
        2,
        &[&[Question, Withdraw], &[Reply], &[Question]],
    );
    for end in [Lost, Close] {
        explore(
            &format!("question {end:?}"),
            2,
            &[&[Question, Withdraw], &[Reply], &[end]],
        );
    }
}

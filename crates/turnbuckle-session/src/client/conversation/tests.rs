use std::task::{Context, Waker};

use bytes::Bytes;
use serde_json::{Value, json};
use turnbuckle_types::RequestParams;
use turnbuckle_wire::revision::Revision;

use super::*;
use crate::client::link::{Carrying, Inbox, Opening, Settling};
use crate::{Call, Frame, Handling, Notice, Patience};

/// A server that says nothing by itself, and keeps what it is told.
#[derive(Clone)]
struct Wire(Arc<State>);

struct State {
    kind: LinkKind,
    /// Whether requests are answered and fail to be carried at once.
    fails: bool,
    sent: Mutex<Vec<Value>>,
    inbox: Mutex<Option<Arc<dyn Inbox>>>,
}

impl Wire {
    fn new(kind: LinkKind) -> Self {
        Self::of(kind, false)
    }

    fn of(kind: LinkKind, fails: bool) -> Self {
        Self(Arc::new(State {
            kind,
            fails,
            sent: Mutex::default(),
            inbox: Mutex::default(),
        }))
    }

    async fn open(&self, limits: ConversationLimits) -> Arc<Conversation> {
        let opened = Conversation::open(self, Arc::new(Nobody), limits).await;
        let conversation = opened.unwrap();
        conversation.settle(Arc::new(speaks()));
        conversation
    }

    fn come(&self, frame: Frame) {
        let inbox = self.0.inbox.lock().unwrap().clone();
        inbox.unwrap().receive(frame, None);
    }

    /// Answers the request of that id.
    fn answer(&self, id: &RequestId) {
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"fine": true}});
        self.come(Frame::Message(Bytes::from(answer.to_string())));
    }

    /// The ids of the requests that it was told to forget.
    fn cancelled(&self) -> Vec<Value> {
        let sent = self.0.sent.lock().unwrap();
        let cancelled = |it: &&Value| it["method"] == "notifications/cancelled";
        let ids = sent.iter().filter(cancelled);
        ids.map(|it| it["params"]["requestId"].clone()).collect()
    }
}

impl Connector for Wire {
    fn open(&self, inbox: Arc<dyn Inbox>) -> Opening<'_> {
        *self.0.inbox.lock().unwrap() = Some(inbox);
        let link: Arc<dyn Link> = Arc::new(self.clone());
        Box::pin(std::future::ready(Ok(link)))
    }

    fn binding(&self) -> LinkKind {
        self.0.kind
    }

    fn describe(&self) -> String {
        "a wire".into()
    }
}

impl Link for Wire {
    fn kind(&self) -> LinkKind {
        self.0.kind
    }

    fn carry(&self, parcel: Parcel) -> Carrying {
        let message = serde_json::from_slice(&parcel.frame).unwrap();
        self.0.sent.lock().unwrap().push(message);
        if self.0.fails {
            let wire = self.clone();
            return Box::pin(async move {
                wire.answer(parcel.kind.request_id().unwrap());
                let reason = "the answer came another way".into();
                Err(LinkError::Broken { reason })
            });
        }
        match self.0.kind {
            LinkKind::Duplex => Box::pin(std::future::ready(Ok(()))),
            LinkKind::Exchange => Box::pin(std::future::pending()),
        }
    }

    fn close(&self) -> Settling {
        Box::pin(std::future::ready(()))
    }
}

struct Nobody;

impl Host for Nobody {
    fn call(&self, _: Call<'_>, _: ServerRequest) -> Handling {
        Handling::Pending(Box::pin(std::future::pending()))
    }

    fn notified(&self, _: Notice<'_>) {}
}

fn speaks() -> Speaks {
    Speaks::legacy(Revision::NEWEST_LEGACY)
}

type Asking = std::pin::Pin<Box<dyn Future<Output = Result<RawResult, AskError>> + Send>>;

/// A request that was sent, and its id.
fn ask(conversation: &Arc<Conversation>, method: &'static str) -> (Asking, RequestId) {
    ask_for(conversation, method, Patience::default())
}

fn ask_for(
    conversation: &Arc<Conversation>,
    method: &'static str,
    patience: Patience,
) -> (Asking, RequestId) {
    let (told, id) = std::sync::mpsc::channel();
    let conversation = conversation.clone();
    let mut asking: Asking = Box::pin(async move {
        let speaks = speaks();
        let begun = |id: &RequestId| told.send(id.clone()).unwrap();
        let nothing: Option<&RequestParams> = None;
        let mut ask = Ask::new(method, nothing, &speaks);
        ask.begun = Some(&begun);
        ask.patience = patience;
        conversation.ask(ask).await
    });
    let mut cx = Context::from_waker(Waker::noop());
    assert!(asking.as_mut().poll(&mut cx).is_pending());
    (asking, id.recv().unwrap())
}

const TOO_LONG: Frame = Frame::TooLong { limit: 10 };

async fn rest() {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn on_a_pipe_a_frame_that_was_too_long_ends_the_only_request_and_takes_it_back() {
    let wire = Wire::new(LinkKind::Duplex);
    let conversation = wire.open(ConversationLimits::default()).await;
    let (only, id) = ask(&conversation, "tools/list");
    wire.come(TOO_LONG);
    let ended = only.await;
    let too_large = |it: &_| {
        matches!(
            it,
            Err(AskError::Link {
                error: LinkError::TooLarge { limit: 10 },
                sent: true
            })
        )
    };
    assert!(too_large(&ended), "{ended:?}");
    assert_eq!(conversation.in_flight(), (0, 0));
    rest().await;
    assert_eq!(wire.cancelled(), [json!(id)]);

    // The answer itself tells more than the guess.
    let (only, id) = ask(&conversation, "tools/list");
    wire.come(TOO_LONG);
    wire.answer(&id);
    assert!(only.await.is_ok());
    rest().await;
    assert_eq!(wire.cancelled().len(), 1);

    // Of several it is nobody's.
    let (one, first) = ask(&conversation, "tools/list");
    let (two, second) = ask(&conversation, "tools/list");
    wire.come(TOO_LONG);
    wire.answer(&first);
    wire.answer(&second);
    assert!(one.await.is_ok() && two.await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn what_stays_open_is_not_meant_by_a_frame_that_was_too_long_while_something_else_waits() {
    let wire = Wire::new(LinkKind::Duplex);
    let conversation = wire.open(ConversationLimits::default()).await;
    let (mut open, _) = ask_for(&conversation, "subscriptions/listen", Patience::FOREVER);
    let (call, _) = ask(&conversation, "tools/call");
    wire.come(TOO_LONG);
    assert!(call.await.is_err());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(open.as_mut().poll(&mut cx).is_pending());
    // Alone it is.
    wire.come(TOO_LONG);
    assert!(open.await.is_err());
}

#[tokio::test(start_paused = true)]
async fn over_exchanges_a_frame_of_none_that_was_too_long_ends_no_request() {
    let wire = Wire::new(LinkKind::Exchange);
    let conversation = wire.open(ConversationLimits::default()).await;
    let (mut only, id) = ask(&conversation, "tools/list");
    wire.come(TOO_LONG);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(only.as_mut().poll(&mut cx).is_pending());
    wire.answer(&id);
    assert!(only.await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_came_stands_when_its_request_cannot_be_carried_to_the_end() {
    for kind in [LinkKind::Duplex, LinkKind::Exchange] {
        let wire = Wire::of(kind, true);
        let conversation = wire.open(ConversationLimits::default()).await;
        let (speaks, nothing) = (speaks(), None::<&RequestParams>);
        let answered = conversation.ask(Ask::new("tools/list", nothing, &speaks));
        assert!(answered.await.is_ok(), "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_is_asked_whether_it_is_there_however_many_requests_wait() {
    let wire = Wire::new(LinkKind::Duplex);
    let limits = ConversationLimits::default().outgoing(0);
    let conversation = wire.open(limits).await;
    let second = Duration::from_secs(1);
    conversation.keep_asking(10 * second, second);
    tokio::time::sleep(10 * second + second / 2).await;
    assert!(!conversation.is_lost());
    tokio::time::sleep(second).await;
    assert!(conversation.is_lost(), "it does not answer");
}

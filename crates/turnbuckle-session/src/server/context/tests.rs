use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{self, Waker};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use turnbuckle_wire::revision::Revision;

use super::*;
use crate::server::legacy_state::LegacyState;
use crate::shared::limits::Limits;
use crate::shared::rate::Rate;
use crate::shared::reply_sink::{EncodedResponse, QueueFull};

/// A reply sink with room for `room` messages. It calls `waited_for` when a sender waits for more.
#[derive(Default)]
struct Narrow {
    messages: Mutex<Vec<String>>,
    room: AtomicUsize,
    space: Notify,
    waited_for: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Narrow {
    fn make_room(&self) {
        self.room.fetch_add(1, Ordering::Relaxed);
        self.space.notify_waiters();
    }

    /// Returns the values that were reported, and the answer.
    fn messages(&self) -> Vec<String> {
        self.messages.lock().unwrap().clone()
    }
}

impl ReplySink for Narrow {
    fn send(&self, frame: Vec<u8>) -> Result<(), QueueFull> {
        let taken = self
            .room
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| {
                room.checked_sub(1)
            });
        if taken.is_err() {
            return Err(QueueFull(frame));
        }
        let frame = String::from_utf8(frame).unwrap();
        let (_, value) = frame.split_once(r#""progress":"#).unwrap();
        let value = value.trim_end_matches('}');
        self.messages.lock().unwrap().push(value.to_owned());
        Ok(())
    }

    fn wait_for_space(&self) -> Notified<'_> {
        let happens = self.waited_for.lock().unwrap().take();
        if let Some(happens) = happens {
            happens();
        }
        self.space.notified()
    }

    fn finish(&self, _: Option<EncodedResponse>) {
        self.messages.lock().unwrap().push("answer".into());
    }
}

fn request() -> (RequestContext, Arc<Narrow>) {
    request_of(Bytes::new())
}

fn request_of(frame: Bytes) -> (RequestContext, Arc<Narrow>) {
    let narrow = Arc::new(Narrow::default());
    let features = Revision::NEWEST_LEGACY.features();
    let limits = Limits::default().progress_rate(Rate::UNLIMITED);
    let context = RequestContext::new(RequestState {
        id: RequestId::from(1),
        features,
        binding: Binding::Duplex,
        meta: FrameRange::locate_meta(&frame),
        frame,
        client: ClientDetails::Revision {
            legacy: Arc::new(LegacyState::without_session(features)),
        },
        progress_token: Some(ProgressToken::from(1)),
        log_level: None,
        logging_declared: true,
        transport: TransportContext::default(),
        sink: RequestSink::Shared(narrow.clone()),
        signal: LazySignal::default(),
        account: OwnerAccount::new(&limits).with_reserved(0).unwrap(),
        lazy: LazyState::default(),
    });
    (context, narrow)
}

#[tokio::test(start_paused = true)]
async fn no_report_goes_after_one_that_says_more() {
    let (context, narrow) = request();
    let mut cx = task::Context::from_waker(Waker::noop());
    let mut first = pin!(context.progress(1, None));
    assert!(first.as_mut().poll(&mut cx).is_pending(), "no room");
    narrow.make_room();
    // Whoever comes first has the room.
    let mut second = pin!(context.progress(2, None));
    assert!(second.as_mut().poll(&mut cx).is_ready());
    narrow.make_room();
    assert!(first.as_mut().poll(&mut cx).is_ready());
    assert_eq!(narrow.messages(), ["2"]);
}

#[tokio::test(start_paused = true)]
async fn the_newest_waiting_progress_report_is_sent_before_the_answer() {
    let (context, narrow) = request();
    let mut cx = task::Context::from_waker(Waker::noop());
    let mut first = pin!(context.progress(1, None));
    let mut second = pin!(context.progress(2, None));
    assert!(first.as_mut().poll(&mut cx).is_pending());
    assert!(second.as_mut().poll(&mut cx).is_pending());
    narrow.make_room();
    assert!(context.finish(), "its answer is wanted");
    narrow.finish(None);
    narrow.make_room();
    assert!(first.as_mut().poll(&mut cx).is_ready());
    assert!(second.as_mut().poll(&mut cx).is_ready());
    assert_eq!(narrow.messages(), ["2", "answer"]);
}

#[tokio::test(start_paused = true)]
async fn no_report_goes_after_the_answer() {
    // A request that reported something before its end, and one that did not.
    for reports in [0, 1] {
        let (context, narrow) = request();
        for value in 0..reports {
            narrow.make_room();
            context.progress(value, None).await;
        }
        // It ends just when another task, which found it open, looks for room.
        let (ending, route) = (context.clone(), narrow.clone());
        *narrow.waited_for.lock().unwrap() = Some(Box::new(move || {
            route.make_room();
            ending.finish();
            route.finish(None);
            route.make_room();
        }));
        context.progress(5, None).await;
        assert_eq!(narrow.messages().last().unwrap(), "answer");
        context.progress(6, None).await;
        assert_eq!(narrow.messages().last().unwrap(), "answer");
    }
    let (context, narrow) = request();
    assert!(context.finish());
    assert!(matches!(context.state.lazy.progress.get(), Some(None)));
    narrow.make_room();
    context.progress(1, None).await;
    assert_eq!(narrow.messages(), [""; 0]);
}

#[test]
fn metadata_are_passed_on_without_the_keys_of_their_connection() {
    let meta = |meta: &str| {
        let frame = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"_meta":{meta}}}}}"#
        );
        let meta = request_of(frame.into()).0.meta_without(&["a", "b"]);
        let members = meta
            .iter()
            .map(|(key, value)| format!("{key}={}", value.as_str()));
        members.collect::<Vec<_>>()
    };
    assert_eq!(meta(r#"{"a":1,"b":{}}"#), [""; 0]);
    assert_eq!(meta(r#"{"\u0061":1}"#), [""; 0]);
    assert_eq!(
        meta(r#"{"c":[1, 2],"a":1,"d":2.50}"#),
        ["c=[1, 2]", "d=2.50"]
    );
    assert_eq!(meta("null"), [""; 0]);
    assert!(request().0.meta_without(&[]).is_empty());
}

//! The stream of events that tells a page what has changed.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::sync::OwnedSemaphorePermit;
use turnbuckle_inspector::ChangeBatches;

/// The time after which a stream without changes has a comment, so that a lost browser is noticed.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);

/// The body of an event stream: an event for each batch of changes. It is made while the browser reads
/// it: nothing waits in memory for one that does not.
pub(super) struct EventBody {
    next: NextEvent,
    is_first: bool,
    /// The place among the streams that may be open.
    _permit: OwnedSemaphorePermit,
}

type NextEvent = Pin<Box<dyn Future<Output = (Bytes, ChangeBatches)> + Send>>;

impl EventBody {
    pub(super) fn new(changes: ChangeBatches, permit: OwnedSemaphorePermit) -> Self {
        Self {
            next: next_event(changes),
            is_first: true,
            _permit: permit,
        }
    }
}

fn next_event(mut changes: ChangeBatches) -> NextEvent {
    Box::pin(async move {
        let event = match tokio::time::timeout(COMMENT_INTERVAL, changes.next()).await {
            Ok(versions) => {
                let versions = serde_json::to_string(&versions).unwrap_or_default();
                format!("event: changed\ndata: {versions}\n\n")
            }
            Err(_) => ":\n\n".to_owned(),
        };
        (event.into(), changes)
    })
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        // The head of the response is sent with the first frame.
        if std::mem::take(&mut self.is_first) {
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b":\n\n")))));
        }
        let Poll::Ready((event, changes)) = self.next.as_mut().poll(cx) else {
            return Poll::Pending;
        };
        self.next = next_event(changes);
        Poll::Ready(Some(Ok(Frame::data(event))))
    }
}

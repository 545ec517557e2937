//! A link over a duplex transport: one task moves frames in both directions.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;
use turnbuckle_types::base::debug_fields;

use crate::client::link::{Inbox, Link, LinkFuture, LinkKind, SendFuture};
use crate::client::link_error::LinkError;
use crate::client::outbound_message::OutboundMessage;
use crate::client::tasks;
use crate::shared::frame_queue::FrameQueue;
use crate::shared::reply_sink::{QueueFull, ReplySink};
use crate::shared::signal::Signal;
use crate::shared::transport::Transport;

/// Frames that are received before other tasks get their turn.
const MAX_FRAMES_PER_POLL: usize = 64;

/// The time that queued frames may take to be sent when the link is closed.
const FINAL_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// A [`Link`] over a [`Transport`].
///
/// Closing it sends what is queued and then drops the transport. When the transport ends by itself,
/// the link reports [`LinkError::ConnectionLost`] to its inbox.
pub struct TransportLink {
    outgoing: Arc<FrameQueue>,
    stop_signal: Signal,
    stopped: Signal,
}

impl TransportLink {
    /// Starts a task that moves frames between `transport` and `inbox`. Up to `max_queue_bytes` are
    /// queued for a slow server; beyond that, senders wait.
    pub fn start<T: Transport + 'static>(
        transport: T,
        inbox: Arc<dyn Inbox>,
        max_queue_bytes: usize,
    ) -> Arc<Self> {
        let link = Arc::new(Self {
            outgoing: Arc::new(FrameQueue::with_max_bytes(max_queue_bytes)),
            stop_signal: Signal::new(),
            stopped: Signal::new(),
        });
        let task = LinkTask {
            transport,
            inbox,
            outgoing: link.outgoing.clone(),
        };
        tasks::spawn(task.run(link.stop_signal.clone(), link.stopped.clone()));
        link
    }
}

impl Link for TransportLink {
    fn kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn try_send(&self, mut message: OutboundMessage) -> Result<(), OutboundMessage> {
        if self.outgoing.is_closed() {
            return Err(message);
        }
        let frame = std::mem::take(&mut message.frame);
        self.outgoing.send(frame).map_err(|QueueFull(frame)| {
            message.frame = frame;
            message
        })
    }

    fn send(&self, message: OutboundMessage) -> SendFuture {
        let outgoing = self.outgoing.clone();
        Box::pin(async move {
            let mut frame = message.frame;
            loop {
                let mut space = std::pin::pin!(outgoing.wait_for_space());
                space.as_mut().enable();
                if outgoing.is_closed() {
                    return Err(LinkError::Closed);
                }
                match outgoing.send(frame) {
                    Ok(()) => return Ok(()),
                    Err(QueueFull(back)) => frame = back,
                }
                space.await;
            }
        })
    }

    fn may_have_sent(&self) -> bool {
        false
    }

    fn close(&self) -> LinkFuture {
        self.stop_signal.close();
        self.outgoing.wake_reader();
        let gone = self.stopped.clone();
        Box::pin(async move { gone.cancelled().await })
    }
}

impl Drop for TransportLink {
    fn drop(&mut self) {
        self.stop_signal.cancel();
        self.outgoing.wake_reader();
    }
}

debug_fields!(TransportLink {});

struct LinkTask<T> {
    transport: T,
    inbox: Arc<dyn Inbox>,
    outgoing: Arc<FrameQueue>,
}

impl<T: Transport> LinkTask<T> {
    async fn run(mut self, stop: Signal, gone: Signal) {
        // `close` and `drop` fire the signal and wake this task.
        let ended = poll_fn(|cx| match stop.is_closing() {
            true => Poll::Ready(None),
            false => match self.poll(cx) {
                Poll::Pending if stop.is_closing() => Poll::Ready(None),
                moved => moved.map(Some),
            },
        });
        match ended.await {
            Some(reason) => {
                // First of all: a sender that finds the queue closed then knows the reason.
                self.inbox.fail(reason);
            }
            None if stop.is_cancelled() => {}
            None => self.flush_remaining(&stop).await,
        }
        self.outgoing.close();
        drop(self.transport);
        gone.cancel();
    }

    fn poll(&mut self, cx: &mut task::Context<'_>) -> Poll<LinkError> {
        let mut is_idle = false;
        for _ in 0..MAX_FRAMES_PER_POLL {
            match self.transport.poll_frame(cx) {
                Poll::Ready(Some(frame)) => self.inbox.receive(frame, None),
                Poll::Ready(None) => {
                    // The server may still read.
                    self.outgoing.drain_into(&mut self.transport, cx);
                    let _ = self.transport.poll_flush(cx);
                    return Poll::Ready(LinkError::ConnectionLost {
                        reason: "the server closed its output".into(),
                    });
                }
                Poll::Pending => {
                    is_idle = true;
                    break;
                }
            }
        }
        self.outgoing.drain_into(&mut self.transport, cx);
        match self.transport.poll_flush(cx) {
            // Frames that the server sent before it stopped reading are received first.
            Poll::Ready(Err(error)) if is_idle => Poll::Ready(LinkError::ConnectionLost {
                reason: format!("the server no longer reads: {error}"),
            }),
            _ => {
                if !is_idle {
                    cx.waker().wake_by_ref();
                }
                Poll::Pending
            }
        }
    }

    /// Sends what is queued, for at most [`FINAL_FLUSH_TIMEOUT`].
    async fn flush_remaining(&mut self, stop: &Signal) {
        let flushed = poll_fn(|cx| {
            loop {
                self.outgoing.drain_into(&mut self.transport, cx);
                match self.transport.poll_flush(cx) {
                    Poll::Ready(Ok(())) if self.outgoing.is_empty() => {
                        return Poll::Ready(());
                    }
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(_)) => return Poll::Ready(()),
                    Poll::Pending => return Poll::Pending,
                }
            }
        });
        tokio::select! {
            _ = tokio::time::timeout(FINAL_FLUSH_TIMEOUT, flushed) => {}
            () = stop.cancelled() => {}
        }
    }
}

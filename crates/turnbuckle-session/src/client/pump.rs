//! A link over a duplex transport: one task moves frames both ways.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

use crate::client::link::{Carrying, Inbox, Link, LinkError, LinkKind, Parcel, Settling};
use crate::shared::driver;
use crate::shared::outgoing::Outgoing;
use crate::shared::route::{Full, Route};
use crate::{Signal, Transport};

/// Frames that are taken before other tasks get their turn.
const BURST: usize = 64;

/// How long what was queued may take to leave when the link is closed.
const LAST_FLUSH: Duration = Duration::from_secs(1);

/// A [`Link`] over a [`Transport`].
///
/// Closing it sends what is queued and then drops the transport. When the transport ends by
/// itself, the inbox is told that the connection broke.
pub struct Pump {
    outgoing: Arc<Outgoing>,
    stop: Signal,
    gone: Signal,
}

impl Pump {
    /// Starts moving frames between `transport` and `inbox`. Up to `queue_bytes` wait for a slow
    /// server before their senders have to.
    pub fn start<T: Transport + 'static>(
        transport: T,
        inbox: Arc<dyn Inbox>,
        queue_bytes: usize,
    ) -> Arc<Self> {
        let pump = Arc::new(Self {
            outgoing: Arc::new(Outgoing::new(queue_bytes)),
            stop: Signal::new(),
            gone: Signal::new(),
        });
        let run = Run {
            transport,
            inbox,
            outgoing: pump.outgoing.clone(),
        };
        driver::run_until_done(run.run(pump.stop.clone(), pump.gone.clone()));
        pump
    }
}

impl Link for Pump {
    fn kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn take(&self, mut parcel: Parcel) -> Result<(), Parcel> {
        if self.outgoing.state().closed {
            return Err(parcel);
        }
        let frame = std::mem::take(&mut parcel.frame);
        self.outgoing.send(frame).map_err(|Full(frame)| {
            parcel.frame = frame;
            parcel
        })
    }

    fn carry(&self, parcel: Parcel) -> Carrying {
        let outgoing = self.outgoing.clone();
        Box::pin(async move {
            let mut frame = parcel.frame;
            loop {
                let mut space = std::pin::pin!(outgoing.space());
                space.as_mut().enable();
                if outgoing.state().closed {
                    return Err(LinkError::Closed);
                }
                match outgoing.send(frame) {
                    Ok(()) => return Ok(()),
                    Err(Full(back)) => frame = back,
                }
                space.await;
            }
        })
    }

    fn close(&self) -> Settling {
        self.stop.close();
        self.outgoing.wake_driver();
        let gone = self.gone.clone();
        Box::pin(async move { gone.cancelled().await })
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        self.stop.cancel();
        self.outgoing.wake_driver();
    }
}

impl std::fmt::Debug for Pump {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pump").finish_non_exhaustive()
    }
}

struct Run<T> {
    transport: T,
    inbox: Arc<dyn Inbox>,
    outgoing: Arc<Outgoing>,
}

impl<T: Transport> Run<T> {
    async fn run(mut self, stop: Signal, gone: Signal) {
        // Whoever stops it wakes it too, once it can be woken.
        let ended = poll_fn(|cx| match stop.is_closing() {
            true => Poll::Ready(None),
            false => match self.poll(cx) {
                Poll::Pending if stop.is_closing() => Poll::Ready(None),
                moved => moved.map(Some),
            },
        });
        match ended.await {
            Some(why) => {
                // Told first: whoever finds the way closed knows why.
                self.inbox.lost(why);
            }
            None if stop.is_cancelled() => {}
            None => self.last_flush(&stop).await,
        }
        self.outgoing.close();
        drop(self.transport);
        gone.cancel();
    }

    fn poll(&mut self, cx: &mut task::Context<'_>) -> Poll<LinkError> {
        let mut rests = false;
        for _ in 0..BURST {
            match self.transport.poll_frame(cx) {
                Poll::Ready(Some(frame)) => self.inbox.receive(frame, None),
                Poll::Ready(None) => {
                    // It may still read.
                    self.outgoing.drain_into(&mut self.transport, cx);
                    let _ = self.transport.poll_flush(cx);
                    return Poll::Ready(LinkError::Broken {
                        reason: "the server closed its output".into(),
                    });
                }
                Poll::Pending => {
                    rests = true;
                    break;
                }
            }
        }
        self.outgoing.drain_into(&mut self.transport, cx);
        match self.transport.poll_flush(cx) {
            // What the server said before it stopped reading is still heard.
            Poll::Ready(Err(error)) if rests => Poll::Ready(LinkError::Broken {
                reason: format!("the server no longer reads: {error}"),
            }),
            _ => {
                if !rests {
                    cx.waker().wake_by_ref();
                }
                Poll::Pending
            }
        }
    }

    /// Gives what is queued a while to leave.
    async fn last_flush(&mut self, stop: &Signal) {
        let left = poll_fn(|cx| {
            loop {
                self.outgoing.drain_into(&mut self.transport, cx);
                match self.transport.poll_flush(cx) {
                    Poll::Ready(Ok(())) if self.outgoing.state().frames.is_empty() => {
                        return Poll::Ready(());
                    }
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(_)) => return Poll::Ready(()),
                    Poll::Pending => return Poll::Pending,
                }
            }
        });
        tokio::select! {
            _ = tokio::time::timeout(LAST_FLUSH, left) => {}
            () = stop.cancelled() => {}
        }
    }
}

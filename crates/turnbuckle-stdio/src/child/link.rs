//! The client's link to a child process.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{oneshot, watch};
use turnbuckle_session::handler::Signal;
use turnbuckle_session::transport::{
    Frame, Inbox, Link, LinkError, LinkFuture, LinkKind, OutboundMessage, SendFuture, TransportLink,
};
use turnbuckle_types::RequestId;

use super::system::Group;

/// A link to a server in a child process. The process is killed when the link is dropped.
pub(super) struct ChildLink {
    /// The guard that kills the process when the link is dropped.
    pub(super) guard: Arc<ProcessGuard>,
    /// The link over the standard streams of the process.
    pub(super) transport_link: Arc<TransportLink>,
    /// The reason why the process ended, once the supervisor knows it.
    pub(super) exit_reason: watch::Receiver<Option<LinkError>>,
}

impl Link for ChildLink {
    fn kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn try_send(&self, message: OutboundMessage) -> Result<(), OutboundMessage> {
        self.transport_link.try_send(message)
    }

    fn send(&self, message: OutboundMessage) -> SendFuture {
        let sent = self.transport_link.send(message);
        let (mut exit_reason, shutdown) = (self.exit_reason.clone(), self.guard.shutdown.clone());
        Box::pin(async move {
            let Err(error) = sent.await else {
                return Ok(());
            };
            // The transport has ended. The supervisor knows why, unless the link was closed.
            tokio::select! {
                biased;
                () = shutdown.closing() => Err(error),
                reason = exit_reason.wait_for(Option::is_some) => match reason.as_deref() {
                    Ok(Some(reason)) => Err(LinkError::Unreachable { reason: reason.to_string() }),
                    _ => Err(error),
                },
            }
        })
    }

    fn may_have_sent(&self) -> bool {
        false
    }

    fn close(&self) -> LinkFuture {
        self.guard.shutdown.close();
        let closed = self.transport_link.close();
        let (guard, mut exit_reason) = (self.guard.clone(), self.exit_reason.clone());
        Box::pin(async move {
            closed.await;
            while exit_reason.changed().await.is_ok() {}
            drop(guard);
        })
    }
}

/// The guard of a process: dropping the last reference kills the process. The link holds one, and
/// so does whoever waits for the link to close.
pub(super) struct ProcessGuard {
    /// The signal that tells the supervisor to end the process.
    pub(super) shutdown: Signal,
    /// The process group of the child process, which is killed.
    pub(super) group: Group,
}

impl Drop for ProcessGuard {
    fn drop(&mut self) {
        // Killed here: there may be no runtime left for the supervisor to run on.
        self.group.kill();
        self.shutdown.cancel();
    }
}

/// An inbox that passes received frames to the client's inbox. It reports the loss of the transport
/// to the supervisor instead, which adds the reason why the process ended.
pub(super) struct SupervisedInbox {
    inbox: Arc<dyn Inbox>,
    /// The sender of the loss; `None` once the loss was reported.
    lost: Mutex<Option<oneshot::Sender<LinkError>>>,
}

impl SupervisedInbox {
    /// Creates the inbox, and the supervisor's receiver of the error with which the transport is lost.
    pub(super) fn new(inbox: Arc<dyn Inbox>) -> (Self, oneshot::Receiver<LinkError>) {
        let (lost, error) = oneshot::channel();
        let lost = Mutex::new(Some(lost));
        (Self { inbox, lost }, error)
    }
}

impl Inbox for SupervisedInbox {
    fn receive(&self, frame: Frame, exchange: Option<&RequestId>) {
        self.inbox.receive(frame, exchange);
    }

    fn is_pending(&self, id: &RequestId) -> bool {
        self.inbox.is_pending(id)
    }

    fn fail(&self, error: LinkError) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(supervisor) = lost.take() {
            // A supervisor that has ended has reported the reason already.
            let _ = supervisor.send(error);
        }
    }
}

//! A link to a process: frames go through a pump, the process is a keeper's.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{oneshot, watch};
use turnbuckle_session::{
    Carrying, Frame, Inbox, Link, LinkError, LinkKind, Parcel, Pump, Settling, Signal,
};
use turnbuckle_types::RequestId;

use super::Group;

/// A link to a running server. Without it the process is killed.
pub(super) struct ChildLink {
    pub(super) leash: Arc<Leash>,
    pub(super) pump: Arc<Pump>,
    pub(super) fate: watch::Receiver<Option<LinkError>>,
}

impl Link for ChildLink {
    fn kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn take(&self, parcel: Parcel) -> Result<(), Parcel> {
        self.pump.take(parcel)
    }

    fn carry(&self, parcel: Parcel) -> Carrying {
        let carrying = self.pump.carry(parcel);
        let (mut fate, leash) = (self.fate.clone(), self.leash.signal.clone());
        Box::pin(async move {
            let Err(error) = carrying.await else {
                return Ok(());
            };
            // The pump knows that it is over; the keeper will know why, unless that was us.
            tokio::select! {
                biased;
                () = leash.closing() => Err(error),
                why = fate.wait_for(Option::is_some) => match why.as_deref() {
                    Ok(Some(why)) => Err(LinkError::Unreachable { reason: why.to_string() }),
                    _ => Err(error),
                },
            }
        })
    }

    fn close(&self) -> Settling {
        self.leash.signal.close();
        let pumped = self.pump.close();
        let (leash, mut fate) = (self.leash.clone(), self.fate.clone());
        Box::pin(async move {
            pumped.await;
            while fate.changed().await.is_ok() {}
            drop(leash);
        })
    }
}

/// What holds a process in life: a link, and whoever waits for its shutdown.
pub(super) struct Leash {
    pub(super) signal: Signal,
    pub(super) group: Group,
}

impl Drop for Leash {
    fn drop(&mut self) {
        // Here and now: there may be no runtime left for the keeper to run on.
        self.group.kill();
        self.signal.cancel();
    }
}

/// Hands on what comes, and leaves it to the keeper to say why nothing more does.
pub(super) struct Tap {
    inbox: Arc<dyn Inbox>,
    lost: Mutex<Option<oneshot::Sender<LinkError>>>,
}

impl Tap {
    pub(super) fn new(inbox: Arc<dyn Inbox>) -> (Self, oneshot::Receiver<LinkError>) {
        let (lost, why) = oneshot::channel();
        let lost = Mutex::new(Some(lost));
        (Self { inbox, lost }, why)
    }
}

impl Inbox for Tap {
    fn receive(&self, frame: Frame, exchange: Option<&RequestId>) {
        self.inbox.receive(frame, exchange);
    }

    fn awaits(&self, id: &RequestId) -> bool {
        self.inbox.awaits(id)
    }

    fn lost(&self, why: LinkError) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(keeper) = lost.take() {
            // A keeper that is gone has said why.
            let _ = keeper.send(why);
        }
    }
}

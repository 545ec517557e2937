//! A connector around another that takes down what passes.

use std::sync::Arc;

use turnbuckle_session::transport::{
    Connector, Frame, Inbox, Link, LinkError, LinkFuture, LinkKind, OpenFuture, OutboundMessage,
    SendFuture, UserWaits,
};
use turnbuckle_types::RequestId;
use turnbuckle_wire::revision::Features;

use super::Tap;
use crate::oracle::Sender;

pub(super) struct Tapped<C> {
    connector: C,
    tap: Tap,
}

impl<C> Tapped<C> {
    pub(super) fn new(connector: C, tap: Tap) -> Self {
        Self { connector, tap }
    }
}

impl<C: Connector> Connector for Tapped<C> {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        let tap = self.tap.clone();
        let inbox = Arc::new(TappedInbox {
            inbox,
            tap: tap.clone(),
        });
        Box::pin(async move {
            let link = self.connector.open(inbox).await?;
            Ok(Arc::new(TappedLink { link, tap }) as Arc<dyn Link>)
        })
    }

    fn link_kind(&self) -> LinkKind {
        self.connector.link_kind()
    }

    fn can_reopen(&self) -> bool {
        self.connector.can_reopen()
    }

    fn fallback(&self) -> Option<Arc<dyn Connector>> {
        let older = self.connector.fallback()?;
        Some(Arc::new(Tapped::new(older, self.tap.clone())))
    }

    fn description(&self) -> String {
        self.connector.description()
    }

    fn user_waits(&self) -> Option<&UserWaits> {
        self.connector.user_waits()
    }
}

struct TappedLink {
    link: Arc<dyn Link>,
    tap: Tap,
}

impl Link for TappedLink {
    fn kind(&self) -> LinkKind {
        self.link.kind()
    }

    fn send(&self, parcel: OutboundMessage) -> SendFuture {
        self.tap.record().take(Sender::Client, &parcel.frame);
        self.link.send(parcel)
    }

    fn complete_handshake(&self, features: &'static Features) -> LinkFuture {
        self.link.complete_handshake(features)
    }

    fn close(&self) -> LinkFuture {
        self.link.close()
    }
}

struct TappedInbox {
    inbox: Arc<dyn Inbox>,
    tap: Tap,
}

impl Inbox for TappedInbox {
    fn receive(&self, frame: Frame, exchange: Option<&RequestId>) {
        if let Frame::Message(bytes) = &frame {
            self.tap.record().take(Sender::Server, bytes);
        }
        self.inbox.receive(frame, exchange);
    }

    fn is_pending(&self, id: &RequestId) -> bool {
        self.inbox.is_pending(id)
    }

    fn fail(&self, why: LinkError) {
        self.inbox.fail(why);
    }
}

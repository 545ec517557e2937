//! A connector around another that takes down what passes.

use std::sync::Arc;

use turnbuckle_session::{
    Carrying, Connector, Frame, Inbox, Link, LinkError, LinkKind, Opening, Parcel, Settling,
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
    fn open(&self, inbox: Arc<dyn Inbox>) -> Opening<'_> {
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

    fn binding(&self) -> LinkKind {
        self.connector.binding()
    }

    fn reopens(&self) -> bool {
        self.connector.reopens()
    }

    fn older(&self) -> Option<Arc<dyn Connector>> {
        let older = self.connector.older()?;
        Some(Arc::new(Tapped::new(older, self.tap.clone())))
    }

    fn describe(&self) -> String {
        self.connector.describe()
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

    fn carry(&self, parcel: Parcel) -> Carrying {
        self.tap.record().take(Sender::Client, &parcel.frame);
        self.link.carry(parcel)
    }

    fn established(&self, features: &'static Features) -> Settling {
        self.link.established(features)
    }

    fn close(&self) -> Settling {
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

    fn awaits(&self, id: &RequestId) -> bool {
        self.inbox.awaits(id)
    }

    fn lost(&self, why: LinkError) {
        self.inbox.lost(why);
    }
}

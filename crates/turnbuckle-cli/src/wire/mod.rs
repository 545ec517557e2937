//! The wire as the tool sees it: a wrapping connector that remembers results as they came, and
//! writes what passes to a file without its secrets.

mod recorder;
mod redact;
mod trace;

use std::sync::Arc;

use turnbuckle::Features;
use turnbuckle::session::{
    Carrying, Connector, Frame, Inbox, Link, LinkError, LinkKind, Opening, Parcel, Settling,
};
use turnbuckle::types::RequestId;

pub(crate) use recorder::Recorder;
pub(crate) use trace::Trace;

/// What watches the wire.
#[derive(Clone)]
pub(crate) struct Watch {
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) trace: Option<Arc<Trace>>,
}

impl Watch {
    fn sent(&self, parcel: &Parcel) {
        self.recorder.sent(parcel);
        if let Some(trace) = &self.trace {
            trace.sent(parcel);
        }
    }

    fn received(&self, frame: &Frame) {
        if let Frame::Message(text) = frame {
            self.recorder.received(text);
        }
        if let Some(trace) = &self.trace {
            trace.received(frame);
        }
    }
}

/// A connector whose links are watched.
pub(crate) struct Watched {
    inner: Arc<dyn Connector>,
    watch: Watch,
}

impl Watched {
    pub(crate) fn new(inner: Arc<dyn Connector>, watch: Watch) -> Self {
        Self { inner, watch }
    }
}

impl Connector for Watched {
    fn open(&self, inbox: Arc<dyn Inbox>) -> Opening<'_> {
        let watch = self.watch.clone();
        Box::pin(async move {
            if let Some(trace) = &watch.trace {
                trace.opened(&self.inner.describe());
            }
            let inbox = Arc::new(WatchedInbox {
                inner: inbox,
                watch: watch.clone(),
            });
            let inner = self.inner.open(inbox).await?;
            Ok(Arc::new(WatchedLink { inner, watch }) as Arc<dyn Link>)
        })
    }

    fn binding(&self) -> LinkKind {
        self.inner.binding()
    }

    fn reopens(&self) -> bool {
        self.inner.reopens()
    }

    fn older(&self) -> Option<Arc<dyn Connector>> {
        let older = self.inner.older()?;
        Some(Arc::new(Self::new(older, self.watch.clone())))
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}

struct WatchedLink {
    inner: Arc<dyn Link>,
    watch: Watch,
}

impl Link for WatchedLink {
    fn kind(&self) -> LinkKind {
        self.inner.kind()
    }

    fn carry(&self, parcel: Parcel) -> Carrying {
        self.watch.sent(&parcel);
        self.inner.carry(parcel)
    }

    fn established(&self, features: &'static Features) -> Settling {
        self.inner.established(features)
    }

    fn close(&self) -> Settling {
        self.inner.close()
    }
}

struct WatchedInbox {
    inner: Arc<dyn Inbox>,
    watch: Watch,
}

impl Inbox for WatchedInbox {
    fn receive(&self, frame: Frame, exchange: Option<&RequestId>) {
        self.watch.received(&frame);
        self.inner.receive(frame, exchange);
    }

    fn awaits(&self, id: &RequestId) -> bool {
        self.inner.awaits(id)
    }

    fn lost(&self, why: LinkError) {
        if let Some(trace) = &self.watch.trace {
            trace.lost(&why);
        }
        self.inner.lost(why);
    }
}

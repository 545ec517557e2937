//! A connector wrapper that observes all messages: it records results as the server wrote them, and
//! writes the trace file. Also the log of the command, and the export of its traces and metrics.

mod known_secrets;
mod recorder;
mod redact;
mod telemetry;
mod trace;

use std::sync::Arc;

use turnbuckle::Features;
use turnbuckle::session::transport::{
    Connector, Frame, Inbox, Link, LinkError, LinkFuture, LinkKind, OpenFuture, OutboundMessage,
    SendFuture, UserWaits,
};
use turnbuckle::types::RequestId;

pub(crate) use known_secrets::KnownSecrets;
pub(crate) use recorder::Recorder;
pub(crate) use telemetry::start_telemetry;
pub(crate) use trace::Trace;

/// The observers of a connection.
#[derive(Clone)]
pub(crate) struct WireObserver {
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) trace: Option<Arc<Trace>>,
}

impl WireObserver {
    fn on_sent(&self, parcel: &OutboundMessage) {
        self.recorder.on_sent(parcel);
        if let Some(trace) = &self.trace {
            trace.on_sent(parcel);
        }
    }

    fn on_received(&self, frame: &Frame) {
        if let Frame::Message(text) = frame {
            self.recorder.on_received(text);
        }
        if let Some(trace) = &self.trace {
            trace.on_received(frame);
        }
    }
}

/// A connector whose links are observed.
pub(crate) struct ObservedConnector {
    inner: Arc<dyn Connector>,
    observer: WireObserver,
    /// True if this is the connector of the older transport.
    is_fallback: bool,
}

impl ObservedConnector {
    pub(crate) fn new(inner: Arc<dyn Connector>, observer: WireObserver) -> Self {
        Self {
            inner,
            observer,
            is_fallback: false,
        }
    }
}

impl Connector for ObservedConnector {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        let observer = self.observer.clone();
        Box::pin(async move {
            if let Some(trace) = &observer.trace {
                trace.on_opened(&self.inner.description());
            }
            let inbox = Arc::new(ObservedInbox {
                inner: inbox,
                observer: observer.clone(),
            });
            let inner = self.inner.open(inbox).await?;
            if self.is_fallback {
                observer.recorder.set_fallback();
            }
            Ok(Arc::new(ObservedLink { inner, observer }) as Arc<dyn Link>)
        })
    }

    fn link_kind(&self) -> LinkKind {
        self.inner.link_kind()
    }

    fn can_reopen(&self) -> bool {
        self.inner.can_reopen()
    }

    fn fallback(&self) -> Option<Arc<dyn Connector>> {
        let older = self.inner.fallback()?;
        Some(Arc::new(Self {
            inner: older,
            observer: self.observer.clone(),
            is_fallback: true,
        }))
    }

    fn description(&self) -> String {
        self.inner.description()
    }

    fn user_waits(&self) -> Option<&UserWaits> {
        self.inner.user_waits()
    }
}

struct ObservedLink {
    inner: Arc<dyn Link>,
    observer: WireObserver,
}

impl Link for ObservedLink {
    fn kind(&self) -> LinkKind {
        self.inner.kind()
    }

    fn network_transport(&self) -> &'static str {
        self.inner.network_transport()
    }

    fn send(&self, parcel: OutboundMessage) -> SendFuture {
        self.observer.on_sent(&parcel);
        self.inner.send(parcel)
    }

    fn complete_handshake(&self, features: &'static Features) -> LinkFuture {
        self.inner.complete_handshake(features)
    }

    fn close(&self) -> LinkFuture {
        self.inner.close()
    }
}

struct ObservedInbox {
    inner: Arc<dyn Inbox>,
    observer: WireObserver,
}

impl Inbox for ObservedInbox {
    fn receive(&self, frame: Frame, exchange: Option<&RequestId>) {
        self.observer.on_received(&frame);
        self.inner.receive(frame, exchange);
    }

    fn is_pending(&self, id: &RequestId) -> bool {
        self.inner.is_pending(id)
    }

    fn fail(&self, why: LinkError) {
        if let Some(trace) = &self.observer.trace {
            trace.on_lost(&why);
        }
        self.inner.fail(why);
    }
}

//! The observers of a command's messages: the recorder of results as the server wrote them, and the
//! trace file. Also the log of the command, and the export of its traces and metrics.

mod http_exchanges;
mod known_secrets;
mod recorder;
mod redact;
mod telemetry;
mod trace;

use std::sync::Arc;

use turnbuckle::client::MessageObserver;
use turnbuckle::session::transport::{Frame, LinkError, OutboundMessage};

pub(crate) use http_exchanges::ExchangeObserver;
pub(crate) use known_secrets::KnownSecrets;
pub(crate) use recorder::Recorder;
pub(crate) use redact::has_secret;
pub(crate) use telemetry::start_telemetry;
pub(crate) use trace::Trace;

/// The observers of a connection.
pub(crate) struct WireObserver {
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) trace: Option<Arc<Trace>>,
}

impl MessageObserver for WireObserver {
    fn on_connect(&self, address: &str) {
        if let Some(trace) = &self.trace {
            trace.on_opened(address);
        }
    }

    fn on_send(&self, message: &OutboundMessage) {
        self.recorder.on_sent(message);
        if let Some(trace) = &self.trace {
            trace.on_sent(message);
        }
    }

    fn on_receive(&self, frame: &Frame) {
        if let Frame::Message(text) = frame {
            self.recorder.on_received(text);
        }
        if let Some(trace) = &self.trace {
            trace.on_received(frame);
        }
    }

    fn on_disconnect(&self, reason: &LinkError) {
        if let Some(trace) = &self.trace {
            trace.on_lost(reason);
        }
    }
}

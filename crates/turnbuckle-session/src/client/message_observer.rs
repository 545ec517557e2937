//! An observer of the messages between a client and its server.

use crate::client::link_error::LinkError;
use crate::client::outbound_message::OutboundMessage;
use crate::shared::transport::Frame;

/// An observer of all messages between a client and its server, as they are on the wire: also of
/// handshakes, pings, responses and frames that are no messages.
///
/// The methods do nothing by default. They must return soon: the client sends and receives nothing
/// meanwhile. Messages may hold secrets.
pub trait MessageObserver: Send + Sync + 'static {
    /// Observes that a connection to the server of this address is about to be opened.
    fn on_connect(&self, address: &str) {
        let _ = address;
    }

    /// Observes a message that is about to be sent.
    fn on_send(&self, message: &OutboundMessage) {
        let _ = message;
    }

    /// Observes a frame of the server.
    fn on_receive(&self, frame: &Frame) {
        let _ = frame;
    }

    /// Observes that the connection is lost. A connection that the client closes is not.
    fn on_disconnect(&self, reason: &LinkError) {
        let _ = reason;
    }
}

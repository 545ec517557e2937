//! Requests whose handlers outlive them: a client leaves such work, and comes back for its result.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{
    ClientCapabilities, Implementation, Number, Principal, ProtocolError, RequestId,
};
use turnbuckle_wire::revision::Revision;

use super::{ClientDetails, LazyState, REQUEST_BYTES, RequestContext, RequestSink, RequestState};
use crate::shared::account::OwnerAccount;
use crate::shared::frame_range::FrameRange;
use crate::shared::signal::LazySignal;
use crate::shared::transport::{Binding, TransportContext};

/// The place where the messages of a handler go that is detached from its request.
pub trait Outlet: Send + Sync + 'static {
    /// Returns the request that the handler answers for now, if it does: its messages go there.
    fn request(&self) -> Option<RequestContext>;

    /// Takes a report of progress of a handler that answers no request.
    fn report(&self, progress: Number, total: Option<Number>, message: Option<String>);
}

/// A request that was detached by another process, which has ended.
pub struct RestoredRequest {
    /// The whole message.
    pub frame: Bytes,
    /// The capabilities that its client declared.
    pub capabilities: ClientCapabilities,
    /// The client's description of itself.
    pub client_info: Option<Implementation>,
    /// The principal on whose behalf it was made.
    pub principal: Option<Arc<Principal>>,
}

// The message may be confidential.
debug_fields!(RestoredRequest { principal });

impl RequestContext {
    /// Returns the context of a handler that serves this request but may outlive it: it has a signal of
    /// its own, and its memory counts for the same owner until the handler has ended.
    ///
    /// The handler sees a request of the newest revision. It cannot send requests to the client, and ends
    /// with its questions instead.
    ///
    /// # Errors
    /// An error that names the limit, when the client or all clients together would have too much memory.
    pub fn detach(&self, outlet: Arc<dyn Outlet>) -> Result<Self, ProtocolError> {
        let state = &*self.state;
        let client = match &state.client {
            ClientDetails::Envelope {
                capabilities, info, ..
            } => ClientDetails::Envelope {
                capabilities: *capabilities,
                info: *info,
                decoded: OnceLock::new(),
            },
            _ => ClientDetails::Detached {
                capabilities: Box::new(self.client_capabilities().clone()),
                info: self.client_info().map(Box::new),
            },
        };
        let head_bytes = state
            .transport
            .http
            .as_ref()
            .map_or(0, |it| it.byte_count());
        Self::with_outlet(
            state.id.clone(),
            (state.frame.clone(), state.meta),
            client,
            state.transport.clone(),
            &state.account,
            head_bytes,
            outlet,
        )
    }

    /// Returns the context of a handler that serves a request again which another process detached.
    ///
    /// # Errors
    /// As [`detach`](Self::detach).
    pub fn restore(
        request: RestoredRequest,
        account: &OwnerAccount,
        outlet: Arc<dyn Outlet>,
    ) -> Result<Self, ProtocolError> {
        let client = ClientDetails::Detached {
            capabilities: Box::new(request.capabilities),
            info: request.client_info.map(Box::new),
        };
        let transport = TransportContext {
            principal: request.principal,
            ..TransportContext::default()
        };
        let meta = FrameRange::locate_meta(&request.frame);
        let (id, message) = (RequestId::from(0), (request.frame, meta));
        Self::with_outlet(id, message, client, transport, account, 0, outlet)
    }

    fn with_outlet(
        id: RequestId,
        (frame, meta): (Bytes, Option<FrameRange>),
        client: ClientDetails,
        transport: TransportContext,
        account: &OwnerAccount,
        head_bytes: usize,
        outlet: Arc<dyn Outlet>,
    ) -> Result<Self, ProtocolError> {
        let held_bytes = REQUEST_BYTES + head_bytes + 2 * frame.len();
        Ok(Self::new(RequestState {
            id,
            features: Revision::NEWEST.features(),
            binding: Binding::Exchange,
            frame,
            meta,
            client,
            progress_token: None,
            log_level: None,
            logging_declared: false,
            transport,
            sink: RequestSink::Detached(outlet),
            signal: LazySignal::default(),
            account: account.with_reserved(held_bytes)?,
            lazy: LazyState::default(),
        }))
    }

    /// Returns the place where the messages of a detached handler go.
    pub(super) fn outlet(&self) -> Option<&Arc<dyn Outlet>> {
        match &self.state.sink {
            RequestSink::Detached(outlet) => Some(outlet),
            RequestSink::Shared(_) | RequestSink::Own(_) => None,
        }
    }
}

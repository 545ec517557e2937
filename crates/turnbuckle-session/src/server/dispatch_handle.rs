//! A shared handle to a server, with the values that are the same for all of its requests.

use std::sync::Arc;

use turnbuckle_types::{ProtocolError, RequestId};
use turnbuckle_wire::era::{Params, Reply};
use turnbuckle_wire::revision::Features;
use turnbuckle_wire::rpc;

use crate::server::dispatch::Dispatch;
use crate::shared::account::OwnerAccount;
use crate::shared::memory_budget::MemoryExceeded;
use crate::shared::reply_sink::EncodedResponse;
use crate::shared::trace::{audit_refusal, refusal_outcome};
use crate::shared::transport::TransportContext;

/// A [`Dispatch`] with its encoded server information.
pub(crate) struct DispatchHandle {
    pub(crate) dispatch: Arc<dyn Dispatch>,
    server_info: Option<Vec<u8>>,
}

impl DispatchHandle {
    pub(crate) fn new(dispatch: Arc<dyn Dispatch>) -> Self {
        dispatch.start();
        let server_info = dispatch.identity().to_server_info();
        Self {
            dispatch,
            server_info,
        }
    }

    /// Encodes the response to a request for a client of the revision with these `features`.
    pub(crate) fn encode(
        &self,
        id: &RequestId,
        reply: &Reply,
        features: &'static Features,
    ) -> EncodedResponse {
        EncodedResponse::encode(id, reply, features, self.server_info.as_deref())
    }

    /// Encodes the error response to a request that is refused before it is served, and passes its
    /// record to the audit log.
    #[cold]
    pub(crate) fn refuse(
        &self,
        request: &rpc::Request<'_, Params<'_>>,
        error: ProtocolError,
        features: &'static Features,
        sender: &TransportContext,
    ) -> EncodedResponse {
        let (audit, method) = (self.dispatch.audit(), Some(&*request.method));
        let outcome = refusal_outcome(&error, features);
        audit_refusal(audit, sender.into(), method, outcome, 0);
        self.encode(&request.id, &error.into(), features)
    }

    /// Encodes the response to a request, and counts its memory if it has more than `uncounted`
    /// bytes. A response for which there is no room is replaced by an error.
    pub(crate) fn encode_counted(
        &self,
        id: &RequestId,
        reply: &Reply,
        features: &'static Features,
        account: &OwnerAccount,
        uncounted: usize,
    ) -> EncodedResponse {
        let mut response = self.encode(id, reply, features);
        let bytes = response.byte_count();
        if bytes <= uncounted {
            return response;
        }
        match account.memory().reserve(bytes) {
            Ok(permit) => response.memory = permit,
            Err(exceeded) => response = self.refuse_response(id, bytes, exceeded, features),
        }
        response
    }

    #[cold]
    fn refuse_response(
        &self,
        id: &RequestId,
        bytes: usize,
        exceeded: MemoryExceeded,
        features: &'static Features,
    ) -> EncodedResponse {
        exceeded.count_refusal();
        let error = ProtocolError::internal(format!(
            "the request was served, but there is no room for its response of {bytes} bytes: \
             {exceeded}"
        ));
        self.encode(id, &error.into(), features)
    }
}

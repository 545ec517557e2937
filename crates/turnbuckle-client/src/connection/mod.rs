//! A connection to the server: how it is opened, and how often it is replaced.

pub(crate) mod attempts;
pub(crate) mod connect;
pub(crate) mod policy;

use std::sync::Arc;

use turnbuckle_session::internal::{ClientSession, NegotiatedRevision};
use turnbuckle_session::transport::LinkKind;
use turnbuckle_wire::revision::EraKind;

use crate::server_info::ServerInfo;

/// An open connection on which the revision has been agreed.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) session: Arc<ClientSession>,
    pub(crate) negotiated_revision: Arc<NegotiatedRevision>,
    pub(crate) server: Arc<ServerInfo>,
    /// The number of this connection among those of its client, from 1.
    pub(crate) generation: u64,
}

impl Connection {
    /// Returns whether HTTP headers mirror the parameters of requests.
    pub(crate) fn mirrors_headers(&self) -> bool {
        self.server.link_kind == LinkKind::Exchange && self.server.era() == EraKind::Modern
    }
}

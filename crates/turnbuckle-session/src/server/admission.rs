//! A request is admitted: the era's facts are checked, and the context that its handler sees is
//! made.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;
use turnbuckle_types::{Error, ErrorKind, LoggingLevel, ProgressToken, RawJson, RequestId};
use turnbuckle_wire::era::{Params, Reply, write_reply};
use turnbuckle_wire::revision::{Features, Method, Party};
use turnbuckle_wire::rpc;

use crate::server::context::{ClientDetails, RequestSink, Span, State};
use crate::shared::signal::LazySignal;
use crate::{Binding, Dispatch, EncodedResponse, InboundFrame, RateAccount, RequestContext};

/// A request with the room it came into.
pub(crate) struct Arrival<'a> {
    pub(crate) request: rpc::Request<'a, Params<'a>>,
    pub(crate) delivery: InboundFrame<'a>,
    pub(crate) account: &'a Arc<RateAccount>,
}

/// The request's core method, if the peer's revision has it as one that `receiver` gets.
pub(crate) fn method_of(
    name: &str,
    receiver: Party,
    features: &Features,
) -> Result<Option<Method>, Error> {
    match Method::parse(name) {
        Some(method) if method.is_received_by(receiver, features.revision) => Ok(Some(method)),
        Some(_) => Err(unknown_method(name)),
        None => Ok(None),
    }
}

pub(crate) fn unknown_method(name: &str) -> Error {
    let shown: Cow<'_, str> = match name.char_indices().nth(64) {
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
        None => Cow::Borrowed(name),
    };
    Error::new(
        ErrorKind::MethodNotFound,
        format!("there is no method {shown:?} here"),
    )
}

/// Makes the context of an admitted request.
pub(crate) fn context(
    arrival: &Arrival<'_>,
    home: &DispatchHandle,
    features: &'static Features,
    binding: Binding,
    sender: Option<ClientDetails>,
    way: RequestSink,
) -> Result<RequestContext, Error> {
    let meta = &arrival.request.params.meta;
    let span = |raw: RawJson<'_>| Span::of(arrival.delivery.frame, raw.as_str());
    let sender = match (sender, meta.client_capabilities) {
        (Some(sender), _) => sender,
        (None, Some(capabilities)) => ClientDetails::Modern {
            capabilities: span(capabilities),
            info: meta.client_info.map(span),
            read: OnceLock::new(),
        },
        (None, None) => {
            return Err(Error::new(
                ErrorKind::InvalidEnvelope,
                "the envelope is incomplete",
            ));
        }
    };
    let log_level = match meta.log_level {
        Some(raw) if features.log_by_request => Some(level(raw)?),
        _ => None,
    };
    Ok(RequestContext::new(State {
        id: arrival.request.id.clone(),
        features,
        binding,
        frame: arrival.delivery.frame.clone(),
        sender,
        progress_token: meta.progress_token.map(token).transpose()?,
        log_level,
        logs: home.dispatch.identity().capabilities.logging.is_some(),
        transport: arrival.delivery.transport.clone(),
        way,
        signal: LazySignal::default(),
        account: arrival.account.clone(),
        own: OnceLock::new(),
        reports: OnceLock::new(),
        deadline: Mutex::new(None),
    }))
}

fn level(raw: RawJson<'_>) -> Result<LoggingLevel, Error> {
    raw.decode().map_err(|_| {
        let given = raw.text().unwrap_or(Cow::Borrowed("no string"));
        Error::invalid_params(format!("there is no log level \"{given:.32}\""))
    })
}

fn token(raw: RawJson<'_>) -> Result<ProgressToken, Error> {
    ProgressToken::from_json(raw.as_str())
        .ok_or_else(|| Error::invalid_params("a progress token must be a string or an integer"))
}

/// Encodes the answer to a request.
pub(crate) fn answer(
    id: &RequestId,
    reply: &Reply,
    features: &'static Features,
    server_info: Option<&[u8]>,
) -> EncodedResponse {
    let mut frame = Vec::with_capacity(512);
    let tail = match reply.encoded() {
        Some(encoded) => {
            rpc::write_result_head(&mut frame, id);
            encoded.clone()
        }
        None => {
            write_reply(&mut frame, id, reply, features, server_info);
            Bytes::new()
        }
    };
    let failure = match reply {
        Reply::Error(error) => Some(error.kind().clone()),
        _ => None,
    };
    EncodedResponse {
        frame,
        tail,
        failure,
    }
}

/// What belongs to a dispatch and is the same for all its requests.
pub(crate) struct DispatchHandle {
    pub(crate) dispatch: Arc<dyn Dispatch>,
    pub(crate) server_info: Option<Vec<u8>>,
}

impl DispatchHandle {
    pub(crate) fn new(dispatch: Arc<dyn Dispatch>) -> Self {
        let server_info = dispatch.identity().to_server_info();
        Self {
            dispatch,
            server_info,
        }
    }

    pub(crate) fn answer(
        &self,
        id: &RequestId,
        reply: &Reply,
        features: &'static Features,
    ) -> EncodedResponse {
        answer(id, reply, features, self.server_info.as_deref())
    }
}

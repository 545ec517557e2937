//! A request of an extension that is ready to be sent.

use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;

use turnbuckle_session::transport::Timeouts;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{ExtensionRequest, Json, RawObject, describe_decode_error};

use crate::error::Error;
use crate::request::inner::ClientInner;
use crate::request::options::{ExtensionFacts, RequestOptions};

/// A request of an extension; see [`Client::request_extension`](crate::Client::request_extension).
/// Awaiting it sends it.
///
/// Dropping the future while it waits cancels the request at the server. Results are not cached, and
/// questions inside them are not answered.
#[must_use = "a request is sent when it is awaited"]
pub struct ExtensionRequestBuilder<M: ExtensionRequest> {
    inner: Arc<ClientInner>,
    params: M::Params,
    options: RequestOptions,
}

impl<M: ExtensionRequest> ExtensionRequestBuilder<M> {
    pub(crate) fn new(inner: Arc<ClientInner>, params: M::Params) -> Self {
        Self {
            inner,
            params,
            options: RequestOptions {
                extension: Some(const { &ExtensionFacts::new::<M>() }),
                ..RequestOptions::default()
            },
        }
    }

    /// Sets the timeouts of the request, instead of those of the client.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.options.timeouts = Some(timeouts);
        self
    }
}

impl<M: ExtensionRequest> IntoFuture for ExtensionRequestBuilder<M> {
    type Output = Result<M::Result, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self {
            inner,
            params,
            options,
        } = self;
        let params = RawObject::encode(&params);
        Box::pin(async move {
            let params = params.map_err(|error| Error::InvalidRequest(error.to_string()))?;
            let sent = inner.raw_request(M::METHOD.into(), Some(params), options);
            decode_result::<M>(&sent.await?)
        })
    }
}

fn decode_result<M: ExtensionRequest>(result: &Json) -> Result<M::Result, Error> {
    result.decode().map_err(|error| Error::InvalidResult {
        method: M::METHOD.to_owned(),
        reason: describe_decode_error(&error),
    })
}

impl ClientInner {
    /// Sends a request of an extension behind the layers.
    pub(crate) async fn extension_request<M: ExtensionRequest>(
        self: &Arc<Self>,
        params: &M::Params,
        timeouts: Option<Timeouts>,
    ) -> Result<M::Result, Error> {
        let params =
            RawObject::encode(params).map_err(|error| Error::InvalidRequest(error.to_string()))?;
        let options = RequestOptions {
            timeouts,
            extension: Some(const { &ExtensionFacts::new::<M>() }),
            ..RequestOptions::default()
        };
        let sent = self.raw_request_directly(M::METHOD, Some(params), &options);
        decode_result::<M>(&sent.await?)
    }
}

debug_fields!([M: ExtensionRequest] ExtensionRequestBuilder<M> { method = |_| M::METHOD });

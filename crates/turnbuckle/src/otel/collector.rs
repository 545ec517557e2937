//! The HTTP client of the exporters.

use std::pin::Pin;
use std::time::Duration;

use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response, ResponseBodyTooLarge};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use turnbuckle_http_client::{Client, ClientError, ClientOptions};
use turnbuckle_types::base::debug_fields;

/// The longest answer that is read. An honest one has few bytes; the SDK logs the message in it.
const MAX_ANSWER_BYTES: usize = 16 << 10;

/// Sends requests to the collector, from the threads in which the SDK exports.
pub(super) struct CollectorClient {
    client: Client,
    timeout: Duration,
    /// A runtime of its own: the program may have none, and the SDK exports outside of it. Both
    /// exporters use it.
    runtime: Option<Runtime>,
}

debug_fields!(CollectorClient { timeout });

impl CollectorClient {
    pub(super) fn new(timeout: Duration) -> std::io::Result<Self> {
        Ok(Self {
            client: Client::new(ClientOptions {
                max_idle_connections: 2,
                idle_connection_timeout: Duration::from_secs(90),
                use_env_proxy: true,
                ..ClientOptions::default()
            }),
            timeout,
            runtime: Some(Builder::new_current_thread().enable_all().build()?),
        })
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, ClientError> {
        let response = self.client.clone().send(request).await?;
        let (head, body) = response.into_parts();
        let body = body.read(MAX_ANSWER_BYTES).await?;
        Ok(Response::from_parts(head, body))
    }

    /// Sends a request, and blocks until it is answered.
    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let runtime = self.runtime.as_ref().ok_or("the export has ended")?;
        let exchange = async { timeout(self.timeout, self.exchange(request)).await };
        match runtime.block_on(exchange) {
            Ok(Ok(response)) => Ok(response),
            // The collector may have taken what was sent: the SDK sends it again after other errors.
            Ok(Err(ClientError::BodyTooLarge(_))) => Err(ResponseBodyTooLarge::new().into()),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(format!("there was no answer within {:?}", self.timeout).into()),
        }
    }
}

impl HttpClient for CollectorClient {
    // The form in which the attribute of the trait expects it.
    fn send_bytes<'this, 'sent>(
        &'this self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'sent>>
    where
        'this: 'sent,
        Self: 'sent,
    {
        Box::pin(async move { self.send(request) })
    }
}

impl Drop for CollectorClient {
    fn drop(&mut self) {
        // A runtime that waits for its tasks must not be dropped inside of another.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests;

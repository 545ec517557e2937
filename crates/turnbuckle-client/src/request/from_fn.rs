//! Layers made of async functions.

use std::sync::Arc;
use std::task::{Context, Poll};

use tower_layer::{Layer, layer_fn};
use tower_service::Service;
use turnbuckle_types::base::debug_fields;

use crate::error::Error;
use crate::request::service::{ClientRequest, ClientResponse, ClientService};

/// Makes a layer of an async function that gets a [`ClientRequest`] and the [`ClientService`] that it
/// passes the request on to.
///
/// ```
/// use turnbuckle_client::Client;
/// use turnbuckle_client::service::from_fn;
///
/// let builder = Client::builder("example", "1.0.0").layer(from_fn(
///     async |mut request, next| {
///         request.insert_meta("com.example/tenant", "blue")?;
///         next.run(request).await
///     },
/// ));
/// ```
///
/// An async closure that captures variables is no `Fn`; write `move |request, next| async move { … }`
/// and clone what it captures before the `async`.
pub fn from_fn<F, Fut>(function: F) -> impl Layer<ClientService, Service = FromFn<F>> + Clone
where
    F: Fn(ClientRequest, ClientService) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ClientResponse, Error>> + Send + 'static,
{
    let function = Arc::new(function);
    layer_fn(move |next| FromFn {
        function: function.clone(),
        next,
    })
}

/// The service of a layer made by [`from_fn`].
pub struct FromFn<F> {
    function: Arc<F>,
    next: ClientService,
}

impl<F> Clone for FromFn<F> {
    fn clone(&self) -> Self {
        Self {
            function: self.function.clone(),
            next: self.next.clone(),
        }
    }
}

debug_fields!([F] FromFn<F> {});

impl<F, Fut> Service<ClientRequest> for FromFn<F>
where
    F: Fn(ClientRequest, ClientService) -> Fut,
    Fut: Future<Output = Result<ClientResponse, Error>>,
{
    type Response = ClientResponse;
    type Error = Error;
    type Future = Fut;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: ClientRequest) -> Fut {
        (self.function)(request, self.next.clone())
    }
}

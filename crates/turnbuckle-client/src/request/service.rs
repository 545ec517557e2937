//! A request on its way through the layers of a client, and its response on the way back.

use std::any::Any;
use std::borrow::Cow;
use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tower_service::Service;
use turnbuckle_session::transport::Timeouts;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{CallToolResult, Json, Map, RawObject, describe_decode_error};
use turnbuckle_wire::era::Params;
use turnbuckle_wire::era::headers::mirrored_name;
use turnbuckle_wire::era::params::member_of;
use turnbuckle_wire::revision::Method;

use crate::error::Error;
use crate::method::ServerMethod;
use crate::request::erased::{ErasedRequest, TypedRequest};
use crate::request::inner::ClientInner;
use crate::request::options::RequestOptions;

/// The boxed future in which a service answers.
pub type ResponseFuture = Pin<Box<dyn Future<Output = Result<ClientResponse, Error>> + Send>>;

/// Sends a request after the last layer.
pub(crate) type SendRequest = fn(ClientRequest) -> ResponseFuture;

type BoxError = Box<dyn StdError + Send + Sync>;

/// A request of a program on its way through the layers of its [`Client`](crate::Client). Cheap to
/// clone, for instance to be sent a second time.
///
/// One request may take several messages: the client connects, asks the user what the server wants
/// to know, and repeats what a lost connection did not deliver. All of that happens behind the
/// layers, within the timeouts of the request.
#[derive(Clone)]
pub struct ClientRequest {
    method: Cow<'static, str>,
    params: Option<RawObject>,
    options: RequestOptions,
    client: Arc<ClientInner>,
    /// The number of layers that the request has passed.
    passed: usize,
    send: SendRequest,
}

impl ClientRequest {
    /// Returns the method, such as `tools/call`.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Returns the name of the tool or prompt, the URI of the resource, or the parameter that a request of
    /// an extension mirrors in `Mcp-Name`. `None` for other methods.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        let params = self.params.as_ref()?;
        let name = match self.options.extension {
            Some(facts) => member_of(params.as_str(), facts.mirrored_param?)?,
            None => {
                let fields: Params<'_> = params.decode().ok()?;
                mirrored_name(Method::parse(&self.method)?, &fields)??
            }
        };
        name.text().map(Cow::into_owned)
    }

    /// Returns the address of the server: its URL or its command.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.client.address
    }

    /// Returns the parameters as JSON, in the form of the newest revision; `None` if there are none.
    #[must_use]
    pub fn raw_params(&self) -> Option<&RawObject> {
        self.params.as_ref()
    }

    /// Decodes the parameters, for instance as `CallToolRequestParams`; absent ones as an empty
    /// object.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if the parameters are no `T`.
    pub fn params<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let text = self.params.as_ref().map_or("{}", RawObject::as_str);
        serde_json::from_str(text)
            .map_err(|error| Error::InvalidRequest(describe_decode_error(&error)))
    }

    /// Replaces the parameters.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if `params` are no JSON object.
    pub fn set_params<T: Serialize + ?Sized>(&mut self, params: &T) -> Result<(), Error> {
        self.params = Some(encode(params)?);
        Ok(())
    }

    /// Adds a member to the `_meta` of the parameters, or replaces it.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if `value` has no JSON form.
    pub fn insert_meta<T: Serialize + ?Sized>(
        &mut self,
        key: &str,
        value: &T,
    ) -> Result<(), Error> {
        let invalid = |error: serde_json::Error| Error::InvalidRequest(error.to_string());
        let mut params: Map<Json> = self.params()?;
        let mut meta: Map<Json> = match params.get("_meta") {
            Some(meta) => meta.decode().map_err(invalid)?,
            None => Map::default(),
        };
        meta.insert(key, Json::encode(value).map_err(invalid)?);
        params.insert("_meta", Json::encode(&meta).map_err(invalid)?);
        self.set_params(&params)
    }

    /// Returns the timeouts of the request.
    #[must_use]
    pub fn timeouts(&self) -> Timeouts {
        self.options.timeouts.unwrap_or(self.client.timeouts)
    }

    /// Replaces the timeouts of the request. They begin when it has passed all layers.
    pub fn set_timeouts(&mut self, timeouts: Timeouts) {
        self.options.timeouts = Some(timeouts);
    }

    /// Passes the request on to the next layer, or sends it.
    fn pass_on(mut self) -> ResponseFuture {
        match self.client.layers.get(self.passed).cloned() {
            Some(layer) => {
                self.passed += 1;
                layer.call(self)
            }
            None => (self.send)(self),
        }
    }
}

debug_fields!(ClientRequest { method });

/// The response to a [`ClientRequest`].
pub struct ClientResponse {
    result: Box<dyn AnyResult>,
    /// The length of the result's JSON; 0 if that is not known.
    bytes: usize,
}

/// A result of any type.
trait AnyResult: Any + Send {
    fn to_json(&self) -> Result<Json, serde_json::Error>;
}

impl<R: Serialize + Send + 'static> AnyResult for R {
    fn to_json(&self) -> Result<Json, serde_json::Error> {
        Json::encode(self)
    }
}

impl ClientResponse {
    /// Creates a response from a result: a `CallToolResult` for `tools/call`, and so on; [`Json`] for
    /// [`Client::request_raw`](crate::Client::request_raw).
    #[must_use]
    pub fn new<R: Serialize + Send + 'static>(result: R) -> Self {
        Self {
            result: Box::new(result),
            bytes: 0,
        }
    }

    /// Returns the result, if it is an `R`.
    #[must_use]
    pub fn result<R: 'static>(&self) -> Option<&R> {
        let result: &dyn Any = &*self.result;
        result.downcast_ref()
    }

    /// Returns the result for changes, if it is an `R`.
    #[must_use]
    pub fn result_mut<R: 'static>(&mut self) -> Option<&mut R> {
        let result: &mut dyn Any = &mut *self.result;
        result.downcast_mut()
    }

    /// Returns the result as JSON, in the form of the newest revision.
    ///
    /// # Errors
    /// When a layer put a result in its place that has no JSON form.
    pub fn to_json(&self) -> Result<Json, serde_json::Error> {
        self.result.to_json()
    }

    /// Returns whether this is the error result of a tool (`isError`).
    #[must_use]
    pub fn is_tool_error(&self) -> bool {
        self.result::<CallToolResult>()
            .is_some_and(CallToolResult::is_error)
    }

    /// Returns the result of a request of `method`.
    pub(crate) fn into_result<R: 'static>(self, method: &str) -> Result<(R, usize), Error> {
        let result: Box<dyn Any> = self.result;
        match result.downcast() {
            Ok(result) => Ok((*result, self.bytes)),
            Err(_) => Err(Error::InvalidResult {
                method: method.to_owned(),
                reason: "a layer of this client put a result of another type in its place".into(),
            }),
        }
    }
}

debug_fields!(ClientResponse { bytes });

/// The service that the layers of a client wrap: it passes requests on to further layers, and then to
/// the server.
#[derive(Debug, Clone)]
pub struct ClientService(pub(crate) ());

impl ClientService {
    /// Passes a request on. It can be called more than once, to try again.
    #[must_use]
    pub fn run(&self, request: ClientRequest) -> ResponseFuture {
        request.pass_on()
    }
}

impl Service<ClientRequest> for ClientService {
    type Response = ClientResponse;
    type Error = Error;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: ClientRequest) -> ResponseFuture {
        request.pass_on()
    }
}

/// The service of a layer, type-erased.
pub(crate) trait LayerService: Send + Sync {
    fn call(&self, request: ClientRequest) -> ResponseFuture;
}

/// Erases the type of a layer's service.
pub(crate) fn boxed_service<S>(service: S) -> Arc<dyn LayerService>
where
    S: Service<ClientRequest, Response = ClientResponse> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError> + Send,
    S::Future: Send + 'static,
{
    struct Boxed<S>(S);
    impl<S> LayerService for Boxed<S>
    where
        S: Service<ClientRequest, Response = ClientResponse> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError> + Send,
        S::Future: Send + 'static,
    {
        fn call(&self, request: ClientRequest) -> ResponseFuture {
            let mut service = self.0.clone();
            Box::pin(async move {
                let ready = std::future::poll_fn(|cx| service.poll_ready(cx)).await;
                ready.map_err(layer_error)?;
                service.call(request).await.map_err(layer_error)
            })
        }
    }
    Arc::new(Boxed(service))
}

/// Returns the client's error that passed a layer, or that of the layer itself.
fn layer_error(error: impl Into<BoxError>) -> Error {
    match error.into().downcast::<Error>() {
        Ok(error) => *error,
        Err(other) => Error::LayerFailed(Arc::from(other)),
    }
}

impl ClientInner {
    /// Passes a request through the layers and sends it behind them.
    pub(crate) async fn request_through_layers(
        self: &Arc<Self>,
        request: &mut dyn ErasedRequest,
        options: &RequestOptions,
    ) -> Result<usize, Error> {
        let params = request.encode_params();
        let passed = ClientRequest {
            method: Cow::Borrowed(request.method()),
            params: Some(params.map_err(|error| Error::InvalidRequest(error.to_string()))?),
            options: options.clone(),
            client: self.clone(),
            passed: 0,
            send: request.send_function(),
        };
        let response = passed.pass_on().await?;
        request.set_response(response)
    }

    /// Passes a request of any method through the layers and sends it behind them.
    pub(crate) async fn raw_request_through_layers(
        self: &Arc<Self>,
        method: Cow<'static, str>,
        params: Option<RawObject>,
        options: RequestOptions,
    ) -> Result<Json, Error> {
        let request = ClientRequest {
            method: method.clone(),
            params,
            options,
            client: self.clone(),
            passed: 0,
            send: |request| {
                Box::pin(async move {
                    let sent = request.client.raw_request_directly(
                        &request.method,
                        request.params,
                        &request.options,
                    );
                    sent.await.map(ClientResponse::new)
                })
            },
        };
        let (result, _) = request.pass_on().await?.into_result(&method)?;
        Ok(result)
    }
}

/// Sends a request of the method `M` that has passed all layers.
pub(crate) fn send_behind_layers<M: ServerMethod>(request: ClientRequest) -> ResponseFuture {
    Box::pin(async move {
        let params: M::Params = request.params()?;
        let mut typed = TypedRequest::<M>::new(&params);
        let sent = request.client.send_directly(&mut typed, &request.options);
        let bytes = sent.await?;
        let result = Box::new(typed.into_result()?);
        Ok(ClientResponse { result, bytes })
    })
}

fn encode<T: Serialize + ?Sized>(params: &T) -> Result<RawObject, Error> {
    RawObject::encode(params).map_err(|error| Error::InvalidRequest(error.to_string()))
}

//! A request that is ready to be sent, with its options.

use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use turnbuckle_types::base::debug_fields;

use serde::de::DeserializeOwned;
use turnbuckle_session::internal::ProgressHandler;
use turnbuckle_session::transport::{ClientLimits, RequestTag, Timeouts};
use turnbuckle_types::method::CallTool;
use turnbuckle_types::{LoggingLevel, ProgressNotificationParams, RawObject, Request};

use crate::error::Error;
use crate::method::ServerMethod;
use crate::request::inner::ClientInner;
use crate::request::options::RequestOptions;
use crate::request::progress::Progress;
use crate::request::task::handle::TaskHandle;

/// A request to the server. Awaiting it sends it.
///
/// Dropping the future while it waits cancels the request at the server.
///
/// Specification: basic/patterns/cancellation (2026-07-28).
#[must_use = "a request is sent when it is awaited"]
pub struct RequestBuilder<M: ServerMethod> {
    pub(in crate::request) inner: Arc<ClientInner>,
    pub(in crate::request) params: M::Params,
    pub(in crate::request) options: RequestOptions,
    /// The reason why the request cannot be sent.
    build_error: Option<String>,
}

impl<M: ServerMethod> RequestBuilder<M> {
    pub(crate) fn inner(&self) -> &ClientInner {
        &self.inner
    }

    pub(crate) fn new(inner: Arc<ClientInner>, params: M::Params) -> Self {
        Self {
            inner,
            params,
            options: RequestOptions::default(),
            build_error: None,
        }
    }

    pub(crate) fn with_inner(self, inner: Arc<ClientInner>) -> Self {
        Self { inner, ..self }
    }

    pub(crate) fn is_of(&self, inner: &Arc<ClientInner>) -> bool {
        Arc::ptr_eq(&self.inner, inner)
    }

    pub(crate) fn with_options(self, options: RequestOptions) -> Self {
        Self { options, ..self }
    }

    pub(crate) fn with_build_error(self, build_error: Option<String>) -> Self {
        Self {
            build_error,
            ..self
        }
    }

    /// Sets how long the server may send nothing about the request, instead of the client's
    /// setting. Each progress notification starts the time anew.
    pub fn idle_timeout(mut self, silence: Duration) -> Self {
        self.options.timeouts = Some(self.timeouts().idle_timeout(silence));
        self
    }

    /// Sets how long the request may take in all. Progress does not extend it; reconnecting and the
    /// rounds of input, with the user's time, count.
    pub fn total_timeout(mut self, total: Duration) -> Self {
        self.options.timeouts = Some(self.timeouts().total_timeout(total));
        self
    }

    /// Returns the timeouts of this request or else those of the client.
    fn timeouts(&self) -> Timeouts {
        self.options.timeouts.unwrap_or(self.inner.timeouts)
    }

    /// Returns the request together with a stream of its progress notifications.
    ///
    /// Specification: basic/patterns/progress (2026-07-28).
    pub fn with_progress(mut self) -> (Self, Progress) {
        let progress = Progress::new();
        let listener = progress.listener();
        self.options.listener = Some(listener.clone());
        self.options.progress = Some(listener);
        (self, progress)
    }

    /// Calls `callback` for each progress notification. The callback must not block: the client
    /// reads nothing else from the server meanwhile.
    pub fn on_progress(
        mut self,
        callback: impl Fn(ProgressNotificationParams) + Send + Sync + 'static,
    ) -> Self {
        struct Callback<F>(F);
        impl<F: Fn(ProgressNotificationParams) + Send + Sync + 'static> ProgressHandler for Callback<F> {
            fn handle_progress(&self, params: ProgressNotificationParams) {
                (self.0)(params);
            }
        }
        self.options.listener = Some(Arc::new(Callback(callback)));
        self.options.progress = None;
        self
    }

    /// Calls `callback` with the handle of the task if the call becomes one, before its result is waited for:
    /// to write the handle to a file, for example. A call to a server of 2025-11-25 becomes a task if the
    /// tool allows it, as by [`start`](Self::start).
    pub fn on_task(mut self, callback: impl Fn(&TaskHandle) + Send + Sync + 'static) -> Self {
        self.options.on_task = Some(Arc::new(callback));
        self
    }

    /// Sets the least severe level of log messages that the server sends for this request. Only the
    /// modern era has such a setting; in the legacy era the level belongs to the session, see
    /// [`Client::set_log_level`](crate::Client::set_log_level).
    pub fn log_level(mut self, level: LoggingLevel) -> Self {
        self.options.log_level = Some(level);
        self
    }

    /// Sets the capabilities that the request carries, for a client that speaks for another one. Default: those of this client.
    /// A server of the legacy era reads those of the handshake.
    pub fn capabilities(mut self, capabilities: Arc<RawObject>) -> Self {
        self.options.capabilities = Some(capabilities);
        self
    }

    /// Attaches a tag to the request, for a client that serves several parties. Handlers of questions
    /// find it in [`QuestionContext::request_tag`](crate::QuestionContext::request_tag), and
    /// [`ClientBuilder::on_tagged_log`](crate::ClientBuilder::on_tagged_log) gets it with log messages.
    pub fn tag(mut self, tag: RequestTag) -> Self {
        self.options.tag = Some(tag);
        self
    }

    /// Sets how many bytes of JSON a result may have. A larger one is [`Error::ResultTooLarge`]. Default: what
    /// the transport takes.
    pub fn max_result_bytes(mut self, bytes: usize) -> Self {
        self.options.max_result_bytes = Some(bytes);
        self
    }

    /// Turns off the check of structured content against the output schema of its tool: for a proxy, whose own
    /// client makes the check. By default, content off its schema is an error.
    pub fn skip_output_check(mut self) -> Self {
        self.options.skips_output_check = true;
        self
    }

    /// Allows sending the request a second time after the connection was lost, even if the server
    /// may have acted on it already.
    pub fn allow_retry(mut self) -> Self {
        self.options.allow_retry = true;
        self
    }

    /// Asks the server even if a cached result may still be used.
    pub fn bypass_cache(mut self) -> Self {
        self.options.bypass_cache = true;
        self
    }

    /// Returns the limits of the connection that the request is sent on.
    #[must_use]
    pub fn limits(&self) -> &ClientLimits {
        &self.inner.limits
    }

    /// Returns the parameters, to change members that have no method of their own.
    pub fn params_mut(&mut self) -> &mut M::Params {
        &mut self.params
    }

    /// Sends the request and returns its result. Each call sends the request anew, under a new id.
    ///
    /// # Errors
    /// Returns an [`Error`](crate::Error) if there is no result.
    pub async fn send(&self) -> Result<M::Result, Error> {
        self.send_sized().await.map(|(result, _)| result)
    }

    /// Sends the request and returns its result with the number of its bytes of JSON: 0 for a cached
    /// result and for one that came after rounds of input.
    pub(crate) async fn send_sized(&self) -> Result<(M::Result, usize), Error> {
        let _sending = self
            .options
            .progress
            .as_ref()
            .map(|listener| listener.begin_send());
        if let Some(build_error) = &self.build_error {
            return Err(Error::InvalidRequest(build_error.clone()));
        }
        self.inner.request::<M>(&self.params, &self.options).await
    }
}

impl RequestBuilder<CallTool> {
    /// Sends the call and decodes the structured content of its result. In revisions without
    /// structured content, servers send the same JSON as the only text, and that is decoded.
    ///
    /// The content blocks are not decoded if there is structured content.
    ///
    /// # Errors
    /// Returns [`Error::ToolFailed`] if the result has `isError`, [`Error::InvalidResult`] if the
    /// result has neither form or the content is no `T`, and any other [`Error`](crate::Error) if
    /// there is no result.
    pub async fn structured_content<T: DeserializeOwned>(mut self) -> Result<T, Error> {
        self.options.structured_only = true;
        let result = self.send().await?;
        if result.is_error() {
            return Err(Error::ToolFailed(Box::new(result)));
        }
        result.structured().map_err(|error| Error::InvalidResult {
            method: CallTool::METHOD.to_owned(),
            reason: error.to_string(),
        })
    }
}

impl<M: ServerMethod> IntoFuture for RequestBuilder<M> {
    type Output = Result<M::Result, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.send().await })
    }
}

impl<M: ServerMethod> Clone for RequestBuilder<M> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            params: self.params.clone(),
            options: self.options.clone(),
            build_error: self.build_error.clone(),
        }
    }
}

debug_fields!([M: ServerMethod] RequestBuilder<M> { method = |_| M::METHOD });

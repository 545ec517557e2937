//! Sends one request: deadlines, rounds of input, and the cases in which it is sent again.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use turnbuckle_session::internal::{MirroredFields, OutboundRequest, RequestError, SentRequest};
use turnbuckle_session::transport::{LinkError, RequestTag};
use turnbuckle_types::method::ListTools;
use turnbuckle_types::{
    InputRequests, InputRequiredResult, InputResponses, PaginatedRequestParams,
    describe_decode_error,
};
use turnbuckle_wire::era::{ResultType, code, is_complete, result_type};
use turnbuckle_wire::revision::EraKind;

use crate::connection::Connection;
use crate::error::Error;
use crate::method::{ResultInspector, ServerMethod, check_capability};
use crate::request::builder::RequestBuilder;
use crate::request::deadline::RequestDeadline;
use crate::request::erased::{ErasedRequest, TypedRequest};
use crate::request::inner::ClientInner;
use crate::request::list::List;
use crate::request::options::RequestOptions;
use crate::request::task::call::{Answer, TASK, core_task, task_as_result};

/// Returns whether the server refused a request because it no longer knows the session: it did not
/// act on the request, which may be sent again in a new session.
///
/// Specification: basic/transports, "Session Management" (2025-11-25).
pub(super) fn is_unknown_session(error: &Error) -> bool {
    matches!(
        error,
        Error::ConnectionLost {
            sent: false,
            reason: LinkError::SessionNotFound,
        }
    )
}

/// The future of a request for all tools within a timeout. Boxed, because one request may make another.
type RefreshTools<'a> = Pin<Box<dyn Future<Output = Result<Result<(), Error>, Error>> + Send + 'a>>;

impl ClientInner {
    /// Passes a request through the layers and sends it. Returns its result, with the bytes of its JSON
    /// if they are known.
    pub(crate) async fn request<M: ServerMethod>(
        self: &Arc<Self>,
        params: &M::Params,
        options: &RequestOptions,
    ) -> Result<(M::Result, usize), Error> {
        let mut request = TypedRequest::<M>::new(params);
        let bytes = match self.layers.is_empty() {
            true => self.send_directly(&mut request, options).await?,
            false => Box::pin(self.request_through_layers(&mut request, options)).await?,
        };
        Ok((request.into_result()?, bytes))
    }

    /// Sends a request behind the layers and returns its result.
    pub(crate) async fn request_directly<M: ServerMethod>(
        self: &Arc<Self>,
        params: &M::Params,
        options: &RequestOptions,
    ) -> Result<M::Result, Error> {
        let mut request = TypedRequest::<M>::new(params);
        self.send_directly(&mut request, options).await?;
        request.into_result()
    }

    /// Sends a request behind the layers, within its total timeout. Returns the bytes of its result.
    ///
    /// The future is boxed, because its code would be compiled again in each crate that awaits it. It holds
    /// little: what only rare cases await is in boxes of its own.
    pub(crate) fn send_directly<'a>(
        self: &'a Arc<Self>,
        request: &'a mut dyn ErasedRequest,
        options: &'a RequestOptions,
    ) -> Pin<Box<dyn Future<Output = Result<usize, Error>> + Send + 'a>> {
        Box::pin(async move {
            let timeouts = options.timeouts.unwrap_or(self.timeouts);
            let deadline = RequestDeadline::start(timeouts, &self.user_waits);
            self.request_with_retries(request, options, &deadline).await
        })
    }

    /// Returns an open connection, or opens one within the idle timeout.
    pub(crate) async fn connection(
        &self,
        deadline: &RequestDeadline<'_>,
    ) -> Result<Arc<Connection>, Error> {
        if let Some(connection) = self.reconnector.open_connection() {
            return Ok(connection);
        }
        // Boxed, so that the rare case does not enlarge the future of every request.
        Box::pin(deadline.run_idle(self.reconnector.connection())).await
    }

    /// Returns a cached result, or sends the request, and sends it again where that is safe and
    /// useful:
    ///
    /// - once after the connection was lost, if the request is safe to repeat or the server refused
    ///   it for an unknown session;
    /// - once after the headers did not match, with the tool's definition listed anew;
    /// - once after the server required a visit to a URL, if the user agreed to it.
    async fn request_with_retries(
        self: &Arc<Self>,
        request: &mut dyn ErasedRequest,
        options: &RequestOptions,
        deadline: &RequestDeadline<'_>,
    ) -> Result<usize, Error> {
        self.forget_results_of_former_user();
        let mut slot = self.cache.slot(request);
        if !options.bypass_cache
            && let Some(slot) = &slot
            && let Some(cached) = self.cache.get(slot)
            && request.set_cached(&cached)
        {
            return Ok(0);
        }
        let facts = request.facts();
        let mut retried = false;
        let mut corrected = false;
        loop {
            let connection = self.connection(deadline).await?;
            if options.wants_task() && self.lacks_task_support(&connection, request) {
                self.refresh_tools(options, deadline).await??;
            }
            let outcome = self
                .request_with_rounds(&connection, request, options, deadline)
                .await;
            let error = match outcome {
                Ok(Answer::Task(task)) if options.starts_task => {
                    return task_as_result(request, &task).map(|()| 0);
                }
                // A call that became a task is never sent again.
                Ok(Answer::Task(task)) => {
                    let finished = self.finish_call(&connection, *task, request, options, deadline);
                    return Box::pin(finished).await.map(|()| 0);
                }
                Ok(Answer::Result(size)) => {
                    if let Err(error) = self.inspect(&connection, request, options) {
                        let again =
                            self.inspect_again(&connection, request, options, deadline, error);
                        Box::pin(again).await?;
                    }
                    if let (Some(slot), Some(size)) = (slot.take(), size) {
                        self.cache.insert(&connection, slot, request, size);
                    }
                    return Ok(size.unwrap_or(0));
                }
                Err(error) => error,
            };
            match &error {
                Error::ConnectionLost { reason, .. } | Error::Unreachable { reason, .. }
                    if !retried
                        && (error.is_connection_lost() || connection.session.is_closed()) =>
                {
                    let safe = is_unknown_session(&error)
                        || facts.is_safe_to_resend()
                        || options.allow_retry
                        || self.is_retry_safe(request);
                    // A legacy cursor is only valid in its session.
                    let is_bound =
                        request.has_cursor() && connection.server.era() == EraKind::Legacy;
                    // Sending again cannot help.
                    let is_futile = matches!(
                        reason,
                        LinkError::Closed | LinkError::MessageTooLarge { .. }
                    );
                    if !safe || is_bound || is_futile {
                        return Err(error);
                    }
                    retried = true;
                }
                // The tool's schema, which says what the headers mirror, may have changed.
                Error::ErrorResponse(response)
                    if response.code == code::HEADER_MISMATCH
                        && facts.mirrors_arguments()
                        && !corrected =>
                {
                    corrected = true;
                    self.refresh_tools(options, deadline).await??;
                }
                Error::ErrorResponse(response)
                    if response.code == code::URL_REQUIRED && !corrected =>
                {
                    corrected = true;
                    let input = self.router.input();
                    let tag = options.tag.as_ref();
                    let visits = input.visit_required_urls(response, tag);
                    let handler_timeout = connection.session.limits().handler_timeout;
                    let visits = deadline.run(timeout(handler_timeout, visits));
                    let accepted = Box::pin(visits).await?;
                    if !accepted.unwrap_or_default() {
                        return Err(error);
                    }
                }
                // The tool may have to be called as a task, which its definition says.
                Error::ErrorResponse(response)
                    if response.code == code::METHOD_NOT_FOUND
                        && self.lacks_task_support(&connection, request)
                        && !corrected =>
                {
                    corrected = true;
                    let listed = self.refresh_tools(options, deadline).await?;
                    if listed.is_err() || !self.is_task_required(&connection, request) {
                        return Err(error);
                    }
                }
                // The cursor of a list was not valid.
                Error::ErrorResponse(response)
                    if response.code == code::INVALID_PARAMS && slot.is_some() =>
                {
                    self.cache.remove_list(facts);
                    return Err(error);
                }
                _ => return Err(error),
            }
        }
    }

    /// Inspects a result for the second time, with the tools listed anew, if the definition of the
    /// called tool may have changed since the first. Otherwise returns the `error` of the first.
    async fn inspect_again(
        self: &Arc<Self>,
        connection: &Connection,
        request: &mut dyn ErasedRequest,
        options: &RequestOptions,
        deadline: &RequestDeadline<'_>,
        error: Error,
    ) -> Result<(), Error> {
        let tool = request.mirrored_fields().name;
        if !self.tools.is_outdated(connection, tool) {
            return Err(error);
        }
        match self.refresh_tools(options, deadline).await? {
            Ok(()) => self.inspect(connection, request, options),
            Err(_) => Err(error),
        }
    }

    /// Decodes a page of a list without its malformed items, each of which is reported.
    fn decode_valid_items(&self, request: &mut dyn ErasedRequest, text: &str) -> bool {
        let method = request.method();
        request.decode_valid_items(text, &mut |name, reason| {
            self.tools.invalid_items.report(method, name, reason);
        })
    }

    /// Learns from a result or checks it, and undoes the projection to the server's revision.
    pub(in crate::request) fn inspect(
        &self,
        connection: &Connection,
        request: &mut dyn ErasedRequest,
        options: &RequestOptions,
    ) -> Result<(), Error> {
        let checks_output = !options.skips_output_check;
        request.inspect(ResultInspector::new(&self.tools, connection, checks_output))
    }

    /// Sends a request and answers the server's questions until there is a result or a task.
    async fn request_with_rounds(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        request: &mut dyn ErasedRequest,
        options: &RequestOptions,
        deadline: &RequestDeadline<'_>,
    ) -> Result<Answer, Error> {
        let method = request.method();
        let unsupported = |reason| Error::Unsupported {
            method: method.to_owned(),
            reason,
            revision: connection.server.revision,
        };
        if !turnbuckle_session::transport::is_server_method(method, connection.server.revision) {
            return Err(unsupported("the revision has no such request"));
        }
        check_capability(request.facts(), &connection.server)?;
        request.reset_params();
        self.set_task_wish(connection, request, options);
        let mut input_bytes = 0;
        for round in 0..=self.max_input_rounds {
            let sent = self.send(connection, request, options, deadline);
            let raw = sent.await.map_err(|error| self.to_error(error))?;
            let invalid = |reason: String| Error::InvalidResult {
                method: method.to_owned(),
                reason,
            };
            let (text, features) = (raw.as_str(), connection.negotiated_revision.features());
            let size = (round == 0).then_some(text.len());
            options.check_result_size(method, text)?;
            if let Some(task) = core_task(request, text)? {
                return Ok(Answer::Task(Box::new(task)));
            }
            // The usual case, in which the JSON is decoded once.
            let decoded = request.decode_result(text, options.structured_only);
            if decoded.is_ok() && is_complete(request.result_type(), features) {
                return Ok(Answer::Result(size));
            }
            match result_type(text, features) {
                Some(ResultType::Complete) => {
                    if let Err(error) = decoded
                        && !self.decode_valid_items(request, text)
                    {
                        return Err(invalid(describe_decode_error(&error)));
                    }
                    return Ok(Answer::Result(size));
                }
                Some(ResultType::InputRequired) => {
                    let limit = connection.session.limits().max_request_bytes;
                    input_bytes += text.len();
                    if input_bytes > limit {
                        return Err(Error::TooManyBytes { limit });
                    }
                    let required: InputRequiredResult = serde_json::from_str(text)
                        .map_err(|error| invalid(describe_decode_error(&error)))?;
                    if request.input_members().is_none() {
                        return Err(invalid(
                            "the method's results must not request for input".into(),
                        ));
                    }
                    if required.is_empty() {
                        return Err(invalid("`resultType` is `input_required`, but there are no requests and no state".into()));
                    }
                    if round == self.max_input_rounds {
                        break;
                    }
                    let tag = options.tag.as_ref();
                    let answers = self.answer_input_requests(connection, &required, round, tag);
                    let answers = Box::pin(deadline.run(answers)).await??;
                    if let Some((responses, state)) = request.input_members() {
                        *responses = answers;
                        *state = required.request_state;
                    }
                }
                Some(ResultType::Other(name)) if name == TASK => {
                    let task = self.extension_task(connection, request, text);
                    return task.map(|task| Answer::Task(Box::new(task)));
                }
                Some(ResultType::Other(name)) => {
                    return Err(invalid(format!("its `resultType` {name:?} is unknown")));
                }
                None => return Err(invalid("it is no object, or has no `resultType`".into())),
            }
        }
        Err(Error::TooManyInputRounds {
            limit: self.max_input_rounds,
        })
    }

    /// Answers the questions inside a result while the connection lasts. A round without questions,
    /// which only passes state back, waits before the next one: the server is not ready.
    async fn answer_input_requests(
        &self,
        connection: &Connection,
        required: &InputRequiredResult,
        round: usize,
        tag: Option<&RequestTag>,
    ) -> Result<InputResponses, Error> {
        if required.input_requests.is_empty() {
            let wait = Duration::from_millis(100) * (1u32 << round.min(6));
            tokio::time::sleep(wait).await;
            return Ok(InputResponses::new());
        }
        let asked = self.ask_handlers(connection, &required.input_requests, tag);
        tokio::select! {
            biased;
            answers = asked => answers,
            () = connection.session.closed().cancelled() => Err(self.to_error(RequestError::Link {
                error: connection.session.close_reason().unwrap_or(LinkError::Closed),
                sent: true,
            })),
        }
    }

    /// Asks the installed handlers, within the time of `ClientLimits::handler_timeout`.
    pub(in crate::request) async fn ask_handlers(
        &self,
        connection: &Connection,
        requests: &InputRequests,
        tag: Option<&RequestTag>,
    ) -> Result<InputResponses, Error> {
        let handler_timeout = connection.session.limits().handler_timeout;
        let input = self.router.input();
        let answers = input.answer_requests(&connection.server, requests, tag);
        match timeout(handler_timeout, answers).await {
            Ok(answers) => answers,
            Err(_) => Err(Error::InputUnanswered {
                method: requests
                    .values()
                    .next()
                    .map_or("", |asked| asked.method())
                    .to_owned(),
                reason: format!(
                    "it took longer than {handler_timeout:?} (ClientLimits::handler_timeout)"
                ),
            }),
        }
    }

    /// Sends one round of a request with its mirrored headers and timeouts.
    fn send<'a>(
        &self,
        connection: &'a Connection,
        request: &dyn ErasedRequest,
        options: &RequestOptions,
        deadline: &RequestDeadline<'_>,
    ) -> SentRequest<'a> {
        let (facts, fields) = (request.facts(), request.mirrored_fields());
        let mirrored = match facts.mirrors_arguments() && connection.mirrors_headers() {
            true => fields.name.and_then(|name| self.tools.param_headers(name)),
            false => None,
        };
        let params = Some(request.params());
        let revision = &connection.negotiated_revision;
        let mut outbound = OutboundRequest::new(request.method(), params, revision);
        outbound.mirrored = MirroredFields {
            param_headers: mirrored.as_deref().unwrap_or_default(),
            ..fields
        };
        outbound.timeouts = deadline.timeouts;
        outbound.started_at = Some(deadline.start_time().into_std());
        // A call may take long: progress starts its idle timeout anew, with or without a listener.
        outbound.wants_progress = facts.reports_progress();
        outbound.progress_handler = options.listener.clone();
        outbound.log_level = options.log_level.or(self.log_level);
        outbound.capabilities = options.capabilities.as_deref();
        outbound.tag.clone_from(&options.tag);
        connection.session.send_request(outbound)
    }

    /// Converts an error of the session.
    pub(crate) fn to_error(&self, error: RequestError) -> Error {
        Error::from_request_error(error, &self.address)
    }

    /// Returns whether the annotations of the called tool allow to call it again although the
    /// server may have acted on the first call.
    fn is_retry_safe(&self, request: &dyn ErasedRequest) -> bool {
        request.facts().mirrors_arguments()
            && self.trust_tool_hints
            && request
                .mirrored_fields()
                .name
                .is_some_and(|tool| self.tools.is_retry_safe(tool))
    }

    /// Lists all tools again to record their current definitions, within the rest of the total timeout.
    fn refresh_tools<'a>(
        self: &Arc<Self>,
        options: &RequestOptions,
        deadline: &'a RequestDeadline<'_>,
    ) -> RefreshTools<'a> {
        let options = RequestOptions {
            bypass_cache: true,
            timeouts: options.timeouts,
            ..RequestOptions::default()
        };
        let call = RequestBuilder::<ListTools>::new(self.clone(), PaginatedRequestParams::new());
        let list = List::new(call.with_options(options));
        let listed = Box::pin(async move { list.fetch_all().await.map(drop) });
        Box::pin(deadline.run(listed))
    }
}

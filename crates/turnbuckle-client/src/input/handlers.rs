//! The user's handlers of input requests, and the way from a question to its answer.
//!
//! A legacy server sends requests of its own, a modern one asks inside a result. Both come to
//! [`InputHandlers::answer`], and a handler cannot tell them apart.
//!
//! Specification: basic/patterns/mrtr, client/sampling, client/elicitation and client/roots
//! (2026-07-28).

use std::sync::Arc;

use serde::Serialize;
use turnbuckle_session::internal::{HandlerOutcome, IncomingRequest};
use turnbuckle_session::transport::RequestTag;
use turnbuckle_types::base::text::shorten;
use turnbuckle_types::method::{CreateMessage, Elicit, ListRoots};
use turnbuckle_types::{
    ClientCapabilities, ElicitRequestParams, ElicitationCapability, ErrorObject, InputRequest,
    InputRequests, InputResponses, Json, ListRootsResult, Map, ProtocolError, Request,
    RootsCapability, SamplingCapability, Settings, TASKS_EXTENSION, UrlElicitationRequiredData,
};
use turnbuckle_wire::era::{Project, Reply};
use turnbuckle_wire::revision::{Features, Method};

use crate::connection::Connection;
use crate::input::answer_all::answer_all;
use crate::input::form::{Form, FormHandler, answer_form};
use crate::input::limiter::{AskingServer, QuestionLimiter};
use crate::input::rates::QuestionRates;
use crate::input::roots::{RootsSource, answer_roots};
use crate::input::sampling::{SamplingHandler, check_params};
use crate::input::task_requests::ReceivedQuestion;
use crate::input::tasks::ReceivedTasks;
use crate::input::url::{UrlHandler, UrlRequest, answer_url, is_accepted};
use crate::server_info::ServerInfo;

/// The handlers of one client and their shared state.
#[derive(Clone, Default)]
pub(crate) struct InputHandlers {
    pub(crate) sampling: SamplingHandler,
    pub(crate) form: Option<FormHandler>,
    pub(crate) url: Option<UrlHandler>,
    pub(crate) roots: Option<RootsSource>,
    pub(crate) extensions: Map<Json>,
    /// True if the client neither declares tasks nor wishes for them.
    pub(crate) without_tasks: bool,
    /// The tasks that the server started at this client.
    pub(crate) tasks: Arc<ReceivedTasks>,
    pub(crate) limiter: Arc<QuestionLimiter>,
    pub(crate) rates: Arc<QuestionRates>,
}

impl InputHandlers {
    /// Returns the capabilities that the installed handlers give the client.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::new();
        capabilities.sampling = self.sampling.handler.is_some().then(|| {
            let mut sampling = SamplingCapability::new();
            sampling.tools = self.sampling.tools.then(Settings::new);
            sampling.context = self.sampling.context.then(Settings::new);
            sampling
        });
        capabilities.elicitation = (self.form.is_some() || self.url.is_some()).then(|| {
            let mut elicitation = ElicitationCapability::new();
            elicitation.form = self.form.is_some().then(Settings::new);
            elicitation.url = self.url.is_some().then(Settings::new);
            elicitation
        });
        capabilities.roots = self.roots.as_ref().map(|roots| match roots {
            RootsSource::List(_) => RootsCapability::new().list_changed(true),
            RootsSource::Handler(_) => RootsCapability::new(),
        });
        capabilities.tasks = self.task_capability().map(Box::new);
        capabilities.extensions.clone_from(&self.extensions);
        if self.uses_tasks() && !capabilities.extensions.contains_key(TASKS_EXTENSION) {
            let settings = Json::empty_object();
            capabilities.extensions.insert(TASKS_EXTENSION, settings);
        }
        capabilities
    }

    /// Returns whether calls of the server's tools may become tasks.
    pub(crate) fn uses_tasks(&self) -> bool {
        !self.without_tasks
    }

    /// Takes note of a new connection: questions on it name its server, which is notified of
    /// changed roots.
    pub(crate) fn on_connected(&self, connection: &Connection, address: &str) {
        self.limiter.set_server(connection, address);
        if let Some(RootsSource::List(roots)) = &self.roots {
            roots.notify_changes(connection);
        }
    }

    /// Answers a request of a legacy server, about the request of the tag.
    pub(crate) fn handle_request(
        &self,
        call: IncomingRequest<'_>,
        tag: Option<&RequestTag>,
    ) -> HandlerOutcome {
        if let Some(outcome) = self.handle_task_request(call) {
            return outcome;
        }
        let Some(method) = input_method(call.name) else {
            return Reply::from(ProtocolError::method_not_found(&shorten(call.name))).into();
        };
        let question = ReceivedQuestion::decode(method, call.text);
        let (input, tag) = (self.clone(), tag.cloned());
        HandlerOutcome::Pending(Box::pin(async move {
            let asking_server = input.limiter.connected_server().await;
            let asking_server = asking_server.with_tag(tag.as_ref());
            let answered = input.answer_or_start(question, asking_server).await;
            answered.unwrap_or_else(Reply::from)
        }))
    }

    /// Answers all questions inside a result of a modern server at once. The first that fails drops
    /// the others.
    pub(crate) async fn answer_requests(
        &self,
        server: &Arc<ServerInfo>,
        requests: &InputRequests,
        tag: Option<&RequestTag>,
    ) -> Result<InputResponses, crate::Error> {
        let asking_server = self.limiter.server_context(server).with_tag(tag);
        answer_all(requests, self.rates.max_input_requests(), |request| {
            self.answer(request.method(), Ok(request.clone()), asking_server.clone())
        })
        .await
    }

    /// Asks the user to visit the URLs of a `URLElicitationRequired` error, one after the other.
    /// Returns whether the user agreed to all, so that the request is worth another try.
    pub(crate) async fn visit_required_urls(
        &self,
        refusal: &ErrorObject,
        tag: Option<&RequestTag>,
    ) -> bool {
        let asking_server = self.limiter.last_server();
        let Some(asking_server) =
            asking_server.filter(|asking_server| asking_server.features().url_required_error)
        else {
            return false;
        };
        let asking_server = asking_server.with_tag(tag);
        let data = refusal.data.as_ref();
        let Some(Ok(UrlElicitationRequiredData { elicitations, .. })) = data.map(Json::decode)
        else {
            return false;
        };
        if elicitations.is_empty() || elicitations.len() > self.rates.max_input_requests() {
            return false;
        }
        for url in elicitations {
            let question = Ok(InputRequest::from(url));
            let answer = self.answer(Elicit::METHOD, question, asking_server.clone());
            let accepted = match answer.await {
                Ok(answer) => is_accepted(&answer),
                Err(_) => false,
            };
            if !accepted {
                return false;
            }
        }
        true
    }

    /// Handles the announcement that a visit to a URL is complete.
    pub(crate) fn complete_visit(&self, message: &str) {
        self.limiter.visits().complete(message);
    }

    /// Answers one question of either era, projected to the revision of the server. A question that
    /// the client did not declare a capability for is refused with the code of the specification.
    pub(super) async fn answer(
        &self,
        method: &str,
        question: Result<InputRequest, ProtocolError>,
        asking_server: AskingServer,
    ) -> Result<Json, ProtocolError> {
        let features = asking_server.features();
        let declared = self.declared_capabilities(features);
        let capability = Method::parse(method).and_then(Method::capability);
        if !capability.is_some_and(|capability| capability.is_declared_by_client(&declared)) {
            return Err(ProtocolError::method_not_found(method));
        }
        match question? {
            InputRequest::CreateMessage(params) => {
                let params = check_params(*params, &declared, features)?;
                self.rates.admit_sampling(&asking_server)?;
                let (question, _permit) = self.limiter.admit(asking_server).await;
                project_answer(self.sampling.answer(params, question).await?, features)
            }
            InputRequest::Elicit(ElicitRequestParams::Form(params)) => {
                let on_form = self
                    .form
                    .as_ref()
                    .filter(|_| declared.supports_elicitation_form());
                let on_form = on_form.ok_or_else(|| undeclared_mode_error("by form"))?;
                let form = Form::from_params(params)?;
                self.rates.admit_elicitation(&asking_server)?;
                let (question, _permit) = self.limiter.admit(asking_server).await;
                project_answer(answer_form(on_form, form, question).await?, features)
            }
            InputRequest::Elicit(ElicitRequestParams::Url(params)) => {
                let on_url = self
                    .url
                    .as_ref()
                    .filter(|_| declared.supports_elicitation_url());
                let on_url = on_url.ok_or_else(|| undeclared_mode_error("by URL"))?;
                self.rates.admit_elicitation(&asking_server)?;
                let url = UrlRequest::from_params(
                    params,
                    features,
                    self.limiter.visits(),
                    &asking_server.ended,
                )?;
                let (question, _permit) = self.limiter.admit(asking_server).await;
                project_answer(answer_url(on_url, url, question).await?, features)
            }
            InputRequest::ListRoots(_) => {
                let roots = self.roots.as_ref();
                let roots = roots.ok_or_else(|| ProtocolError::method_not_found(method))?;
                let roots = match roots {
                    RootsSource::List(roots) => roots.answer(),
                    RootsSource::Handler(handler) => {
                        let (question, _permit) = self.limiter.admit(asking_server).await;
                        ListRootsResult::new(answer_roots(handler, question).await?)
                    }
                };
                project_answer(roots, features)
            }
            _ => Err(ProtocolError::method_not_found(method)),
        }
    }

    /// Returns the capabilities as the client declared them in a revision.
    pub(super) fn declared_capabilities(&self, features: &Features) -> ClientCapabilities {
        let mut declared = self.capabilities();
        if !declared.fits(features) {
            declared.project(features);
        }
        declared
    }
}

/// Returns the method, if it is one of an input request.
fn input_method(method: &str) -> Option<&'static str> {
    [CreateMessage::METHOD, Elicit::METHOD, ListRoots::METHOD]
        .into_iter()
        .find(|known| *known == method)
}

/// Returns the error for a mode of elicitation that was not declared.
fn undeclared_mode_error(mode: &str) -> ProtocolError {
    ProtocolError::invalid_params(format!("this client does not declare elicitation {mode}"))
}

/// Encodes an answer as the revision has it.
fn project_answer<T: Serialize + Project>(
    mut answer: T,
    features: &Features,
) -> Result<Json, ProtocolError> {
    if !answer.fits(features) {
        answer.project(features);
    }
    Json::encode(&answer).map_err(|error| ProtocolError::internal(error.to_string()))
}

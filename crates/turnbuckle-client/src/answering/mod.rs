//! What a server may ask, and who answers: one set of handlers for both eras.
//!
//! A legacy server sends requests of its own, a modern one asks inside a result. Both come to
//! [`Answers::answer`], and a handler cannot tell them apart.
//!
//! Specification: basic/patterns/mrtr, client/sampling, client/elicitation and client/roots
//! (2026-07-28).

mod desk;
mod form;
mod handler;
mod install;
mod pace;
mod question;
mod roots;
mod round;
mod sampling;
mod url;
mod visit;

use std::sync::Arc;

use serde::Serialize;
use turnbuckle_schema::shorten;
use turnbuckle_session::{Call, Handling};
use turnbuckle_types::method::{CreateMessage, Elicit, ListRoots};
use turnbuckle_types::{
    ClientCapabilities, ElicitParams, ElicitationCapability, Error, ErrorObject, InputRequest,
    InputRequests, InputResponses, Json, Map, Request, RootsCapability, SamplingCapability,
    Settings, UrlElicitationData, undecoded,
};
use turnbuckle_wire::era::{Encoded, Project, Reply, params::raw_params};
use turnbuckle_wire::revision::Features;

pub use form::{Form, FormAnswer};
pub use question::Question;
pub use roots::Roots;
pub use sampling::Declined;
pub use url::{Consent, UrlRequest, UrlWarning};

use crate::live::Live;
use crate::server::ServerInfo;
use desk::{Asker, Desk};
use form::OnForm;
pub(crate) use pace::Pace;
use roots::OpenRoots;
use sampling::Sampling;
use url::OnUrl;

/// The handlers of one client, and what they share.
#[derive(Clone, Default)]
pub(crate) struct Answers {
    sampling: Sampling,
    form: Option<OnForm>,
    url: Option<OnUrl>,
    roots: Option<Arc<OpenRoots>>,
    pub(crate) extensions: Map<Json>,
    desk: Arc<Desk>,
    pub(crate) pace: Arc<Pace>,
}

impl Answers {
    /// What the installed handlers let a server ask.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::new();
        capabilities.sampling = self.sampling.on_sampling.is_some().then(|| {
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
        let roots = || RootsCapability::new().list_changed(true);
        capabilities.roots = self.roots.is_some().then(roots);
        capabilities.extensions.clone_from(&self.extensions);
        capabilities
    }

    /// There is a connection: questions on it are told who asks, and its server hears when the
    /// roots change.
    pub(crate) fn connected(&self, live: &Live, address: &str) {
        self.desk.seat(live, address);
        if let Some(roots) = &self.roots {
            roots.announce_on(live);
        }
    }

    /// Answers a request of a legacy server.
    pub(crate) fn call(&self, call: Call<'_>) -> Handling {
        let Some(method) = known(call.name) else {
            return Reply::from(Error::unknown_method(&shorten(call.name))).into();
        };
        let question = decode(method, call.text);
        let answers = self.clone();
        Handling::Pending(Box::pin(async move {
            let asker = answers.desk.asker().await;
            match answers.answer(method, question, asker).await {
                Ok(answer) => Reply::Complete(Box::new(Encoded::object(answer.as_str()))),
                Err(error) => error.into(),
            }
        }))
    }

    /// Answers what a modern server asks inside a result: all of it at once. The first that has no
    /// answer takes the others back.
    pub(crate) async fn fulfil(
        &self,
        server: &Arc<ServerInfo>,
        requests: &InputRequests,
    ) -> Result<InputResponses, crate::Error> {
        let asker = self.desk.asker_of(server);
        round::all(requests, self.pace.questions(), |request| {
            self.answer(request.method(), Ok(request.clone()), asker.clone())
        })
        .await
    }

    /// Has the user visit the URLs that an error names, one after the other. Whether they agreed to
    /// all, so that the request is worth another try.
    pub(crate) async fn visit_first(&self, refusal: &ErrorObject) -> bool {
        let asker = self.desk.current();
        let Some(asker) = asker.filter(|asker| asker.features().url_required_error) else {
            return false;
        };
        let data = refusal.data.as_ref();
        let Some(Ok(UrlElicitationData { elicitations, .. })) = data.map(Json::decode) else {
            return false;
        };
        if elicitations.is_empty() || elicitations.len() > self.pace.questions() {
            return false;
        }
        for url in elicitations {
            let question = Ok(InputRequest::from(url));
            let answer = self.answer(Elicit::METHOD, question, asker.clone());
            let agreed = match answer.await {
                Ok(answer) => url::agreed(&answer),
                Err(_) => false,
            };
            if !agreed {
                return false;
            }
        }
        true
    }

    /// Hears that what a URL was for is done.
    pub(crate) fn completed(&self, message: &str) {
        self.desk.visits().completed(message);
    }

    /// Answers one question of either era, laid out for the revision of who asks. What was not
    /// declared in that revision is refused with the code of its page.
    async fn answer(
        &self,
        method: &str,
        question: Result<InputRequest, Error>,
        asker: Asker,
    ) -> Result<Json, Error> {
        let features = asker.features();
        let declared = self.declared(features);
        let there = match method {
            CreateMessage::METHOD => declared.supports_sampling(),
            Elicit::METHOD => declared.elicitation.is_some(),
            ListRoots::METHOD => declared.supports_roots(),
            _ => false,
        };
        if !there {
            return Err(Error::unknown_method(method));
        }
        match question? {
            InputRequest::CreateMessage(params) => {
                let params = sampling::admit(*params, &declared, features)?;
                self.pace.sampling()?;
                let (question, _seat) = self.desk.question(asker).await;
                lay(self.sampling.answer(params, question).await?, features)
            }
            InputRequest::Elicit(ElicitParams::Form(params)) => {
                let on_form = self
                    .form
                    .as_ref()
                    .filter(|_| declared.supports_elicitation_form());
                let on_form = on_form.ok_or_else(|| undeclared("by form"))?;
                let form = Form::admit(params)?;
                self.pace.elicitation()?;
                let (question, _seat) = self.desk.question(asker).await;
                lay(form::answer(on_form, form, question).await?, features)
            }
            InputRequest::Elicit(ElicitParams::Url(params)) => {
                let on_url = self
                    .url
                    .as_ref()
                    .filter(|_| declared.supports_elicitation_url());
                let on_url = on_url.ok_or_else(|| undeclared("by URL"))?;
                self.pace.elicitation()?;
                let url = UrlRequest::admit(params, features, self.desk.visits(), &asker.ended)?;
                let (question, _seat) = self.desk.question(asker).await;
                lay(url::answer(on_url, url, question).await?, features)
            }
            InputRequest::ListRoots(_) => {
                let roots = self.roots.as_ref();
                let roots = roots.ok_or_else(|| Error::unknown_method(method))?;
                lay(roots.answer(), features)
            }
            _ => Err(Error::unknown_method(method)),
        }
    }

    fn declared(&self, features: &Features) -> ClientCapabilities {
        let mut declared = self.capabilities();
        if !declared.fits(features) {
            declared.project(features);
        }
        declared
    }
}

fn known(method: &str) -> Option<&'static str> {
    [CreateMessage::METHOD, Elicit::METHOD, ListRoots::METHOD]
        .into_iter()
        .find(|known| *known == method)
}

/// Reads the question out of a legacy request.
fn decode(method: &str, message: &str) -> Result<InputRequest, Error> {
    let params = raw_params(message).map(|raw| raw.as_str());
    let malformed = |error: serde_json::Error| Error::invalid_params(shorten(&undecoded(&error)));
    let needed = || params.ok_or_else(|| Error::invalid_params("\"params\" is missing"));
    Ok(match method {
        CreateMessage::METHOD => {
            InputRequest::CreateMessage(serde_json::from_str(needed()?).map_err(malformed)?)
        }
        Elicit::METHOD => InputRequest::Elicit(serde_json::from_str(needed()?).map_err(malformed)?),
        _ => match params {
            Some(params) => {
                InputRequest::ListRoots(serde_json::from_str(params).map_err(malformed)?)
            }
            None => InputRequest::list_roots(),
        },
    })
}

fn undeclared(mode: &str) -> Error {
    Error::invalid_params(format!("this client does not declare elicitation {mode}"))
}

/// Writes an answer as a reader of that revision knows it.
fn lay<T: Serialize + Project>(mut answer: T, features: &Features) -> Result<Json, Error> {
    if !answer.fits(features) {
        answer.project(features);
    }
    Json::of(&answer).map_err(|error| Error::internal(error.to_string()))
}

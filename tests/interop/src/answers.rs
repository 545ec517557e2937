//! The answers of the user and the model behind the client, and a record of what the server sends
//! on its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use turnbuckle::ClientBuilder;
use turnbuckle::client::{Form, FormAnswer, QuestionContext, Roots, UrlAnswer, UrlRequest};
use turnbuckle::types::{
    CreateMessageRequestParams, CreateMessageResult, LoggingMessageNotificationParams, Role, Root,
    SamplingMessageContentBlock,
};

use crate::problem::Problem;

/// The model's reply to every sampling request.
pub(crate) const REPLY: &str = "the canned reply";
/// The name that the user fills into a form; every other field stays empty.
pub(crate) const NAME: &str = "ada";
/// The roots.
pub(crate) const ROOTS: [&str; 2] = ["file:///interop/alpha", "file:///interop/beta"];

/// Messages that the server sent on its own, in order.
#[derive(Debug, Default)]
pub(crate) struct ServerMessages(Mutex<All>);

/// Each kind in a list of its own.
#[derive(Debug, Default)]
pub(crate) struct All {
    /// The texts that the model was asked with.
    pub(crate) prompts: Vec<String>,
    /// The messages of forms.
    pub(crate) forms: Vec<String>,
    /// The fields of the last form that have a default.
    pub(crate) defaults: Vec<String>,
    /// The URLs to go to.
    pub(crate) urls: Vec<String>,
    /// The data of log messages, as JSON.
    pub(crate) logs: Vec<String>,
}

impl ServerMessages {
    /// Returns everything recorded so far.
    pub(crate) fn all(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Installs an answer to everything that a server may ask.
pub(crate) fn install(
    builder: ClientBuilder,
    messages: &Arc<ServerMessages>,
) -> Result<ClientBuilder, Problem> {
    let roots = Roots::new();
    for uri in ROOTS {
        roots.add(Root::new(uri)?)?;
    }
    let [prompts, forms, urls, logs] = [(); 4].map(|()| messages.clone());
    Ok(builder
        .roots(roots)
        .on_sampling(
            move |params: CreateMessageRequestParams, _: QuestionContext| {
                prompts.all().prompts.push(prompt(&params));
                let reply = SamplingMessageContentBlock::text(REPLY);
                let reply = CreateMessageResult::new(Role::Assistant, reply, "canned");
                std::future::ready(Ok(reply.stop_reason("endTurn")))
            },
        )
        .on_form(move |form: Form, _: QuestionContext| {
            let mut messages = forms.all();
            messages.defaults = form.defaults().keys().map(Into::into).collect();
            messages.forms.push(form.message);
            std::future::ready(FormAnswer::accept([("name", NAME)]))
        })
        .on_url(move |url: UrlRequest, _: QuestionContext| {
            urls.all().urls.push(url.url.clone());
            std::future::ready(UrlAnswer::Accept)
        })
        .on_log(move |params: LoggingMessageNotificationParams| {
            logs.all().logs.push(params.data.as_str().to_owned());
        }))
}

fn prompt(params: &CreateMessageRequestParams) -> String {
    let contents = params
        .messages
        .iter()
        .flat_map(|message| message.content.iter());
    let texts: Vec<&str> = contents
        .filter_map(SamplingMessageContentBlock::as_text)
        .collect();
    texts.join(" ")
}

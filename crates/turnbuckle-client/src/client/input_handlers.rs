//! Installs the handlers of input requests in a [`ClientBuilder`].

use std::sync::Arc;

use turnbuckle_types::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ProtocolError, Root,
};

use crate::client::builder::ClientBuilder;
use crate::input::form::{Form, FormAnswer};
use crate::input::handler::InputHandler;
use crate::input::limiter::QuestionLimiter;
use crate::input::question::QuestionContext;
use crate::input::roots::{Roots, RootsProvider, RootsSource};
use crate::input::url::{UrlAnswer, UrlRequest};

/// Handlers of what a server may ask. The client declares a capability for each installed handler.
///
/// ```
/// use turnbuckle_client::{Client, Form, FormAnswer, QuestionContext, Roots};
/// use turnbuckle_types::Root;
///
/// let roots = Roots::new();
/// roots.set([Root::new("file:///code/project")?])?;
/// let builder = Client::builder("editor", "1.0.0")
///     .roots(roots.clone())
///     .on_form(async |form: Form, question: QuestionContext| {
///         println!("{} asks: {}", question.address(), form.message);
///         FormAnswer::Decline
///     });
/// assert!(builder.capabilities().supports_elicitation_form());
/// assert!(!builder.capabilities().supports_sampling());
/// # Ok::<(), turnbuckle_types::RootError>(())
/// ```
impl ClientBuilder {
    /// Installs the handler of sampling: the server asks the user's model. The user should see the
    /// request and the answer, and may refuse both with `Err(SamplingRejected.into())`.
    ///
    /// Requests whose tool uses and tool results do not match are refused before they reach the
    /// handler.
    ///
    /// Specification: client/sampling (2026-07-28).
    pub fn on_sampling<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(CreateMessageRequestParams, QuestionContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CreateMessageResult, ProtocolError>> + Send + 'static,
    {
        self.input.sampling.handler = Some(InputHandler::new(handler));
        self
    }

    /// Declares that the server may give tools to the model, which the handler of
    /// [`on_sampling`](Self::on_sampling) has to pass on. Default: requests with tools are refused.
    pub fn sampling_tools(mut self) -> Self {
        self.input.sampling.tools = true;
        self
    }

    /// Declares that the server may ask for context of servers, which the handler of
    /// [`on_sampling`](Self::on_sampling) has to add as `include_context` says. Default:
    /// `include_context` is removed from requests.
    pub fn sampling_context(mut self) -> Self {
        self.input.sampling.context = true;
        self
    }

    /// Removes the handlers of questions that `capabilities` lack, such as those of another client that this one speaks
    /// for, so that no server is told of them.
    pub fn limit_questions(mut self, capabilities: &ClientCapabilities) -> Self {
        let input = &mut self.input;
        if !capabilities.supports_sampling() {
            input.sampling.handler = None;
        }
        input.sampling.tools &= capabilities.supports_sampling_tools();
        input.sampling.context &= capabilities.supports_sampling_context();
        if !capabilities.supports_elicitation_form() {
            input.form = None;
        }
        if !capabilities.supports_elicitation_url() {
            input.url = None;
        }
        if !capabilities.supports_roots() {
            input.roots = None;
        }
        self
    }

    /// Installs the handler of forms: the server asks the user to fill in fields.
    ///
    /// The answer is completed with the form's defaults and checked against the form; an answer
    /// that does not fit is never sent. [`Form::validate`] does the same check beforehand.
    ///
    /// Specification: client/elicitation (2026-07-28).
    pub fn on_form<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(Form, QuestionContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = FormAnswer> + Send + 'static,
    {
        self.input.form = Some(InputHandler::new(handler));
        self
    }

    /// Installs the handler of URLs: the server asks the user to visit one. Only `http` and `https`
    /// URLs reach the handler, and the client does not open them: see [`UrlRequest`].
    ///
    /// If a server refuses a request until the user has visited a URL, the handler is asked too,
    /// and the request is sent once more if the user agrees. To delay it until the server announces
    /// that the visit is complete, the handler awaits [`UrlRequest::wait_for_completion`] before it
    /// answers.
    ///
    /// Specification: client/elicitation (2026-07-28).
    pub fn on_url<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(UrlRequest, QuestionContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = UrlAnswer> + Send + 'static,
    {
        self.input.url = Some(InputHandler::new(handler));
        self
    }

    /// Exposes these roots to the server, even if there are none yet.
    ///
    /// Specification: client/roots (2026-07-28).
    pub fn roots(mut self, roots: Roots) -> Self {
        self.input.roots = Some(RootsSource::List(Arc::new(RootsProvider::new(roots))));
        self
    }

    /// Installs the handler of questions for roots, instead of a list of [`roots`](Self::roots): it is
    /// asked each time, for instance because the roots depend on the request under way. The server is
    /// not notified of changes. An answer with an invalid root is an error for the server.
    ///
    /// Specification: client/roots (2026-07-28).
    pub fn on_roots<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(QuestionContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<Root>, ProtocolError>> + Send + 'static,
    {
        let handler = InputHandler::new(move |(), question| handler(question));
        self.input.roots = Some(RootsSource::Handler(handler));
        self
    }

    /// Sets how many questions may be with handlers at once; more wait for their turn. Default: 8.
    pub fn max_concurrent_questions(mut self, questions: usize) -> Self {
        self.input.limiter = Arc::new(QuestionLimiter::new(questions));
        self
    }
}

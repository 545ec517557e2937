//! Installing handlers.

use std::sync::Arc;

use turnbuckle_types::{CreateMessageParams, CreateMessageResult, Error};

use super::desk::Desk;
use super::handler::Handler;
use super::roots::OpenRoots;
use super::{Consent, Form, FormAnswer, Question, Roots, UrlRequest};
use crate::ClientBuilder;

/// What a server may ask. A client declares what it has a handler for, and nothing else.
///
/// ```
/// use turnbuckle_client::{Client, Form, FormAnswer, Question, Roots};
/// use turnbuckle_types::Root;
///
/// let roots = Roots::new();
/// roots.set([Root::new("file:///code/project")?])?;
/// let builder = Client::builder("editor", "1.0.0")
///     .roots(roots.clone())
///     .on_form(async |form: Form, question: Question| {
///         println!("{} asks: {}", question.address(), form.message);
///         FormAnswer::Decline
///     });
/// assert!(builder.capabilities().supports_elicitation_form());
/// assert!(!builder.capabilities().supports_sampling());
/// # Ok::<(), turnbuckle_types::RootError>(())
/// ```
impl ClientBuilder {
    /// Lets the server ask the user's model. The user should see what is asked, and what comes
    /// back, and may refuse both: `Err(Declined.into())`.
    ///
    /// Messages whose uses of tools and results do not match never come here.
    ///
    /// Specification: client/sampling (2026-07-28).
    pub fn on_sampling<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(CreateMessageParams, Question) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CreateMessageResult, Error>> + Send + 'static,
    {
        self.answers.sampling.on_sampling = Some(Handler::new(handler));
        self
    }

    /// Declares that the model may be given tools by the server, which the handler of
    /// [`on_sampling`](Self::on_sampling) has to heed. Default: requests with tools are refused.
    pub fn sampling_tools(mut self) -> Self {
        self.answers.sampling.tools = true;
        self
    }

    /// Declares that the model may be given context of servers, which the handler of
    /// [`on_sampling`](Self::on_sampling) has to add as `include_context` says. Default: what a
    /// server says of that is left out before the handler sees it.
    pub fn sampling_context(mut self) -> Self {
        self.answers.sampling.context = true;
        self
    }

    /// Lets the server ask the user by forms.
    ///
    /// The answer is completed with the form's defaults and held against the form; one that does
    /// not fit is never sent. [`Form::check`] tells that beforehand.
    ///
    /// Specification: client/elicitation (2026-07-28).
    pub fn on_form<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(Form, Question) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = FormAnswer> + Send + 'static,
    {
        self.answers.form = Some(Handler::new(handler));
        self
    }

    /// Lets the server ask the user to go to a URL. Only URLs of `http` and `https` come here, and
    /// nothing opens them: see [`UrlRequest`].
    ///
    /// Where a server refuses a request until the user was somewhere, the handler is asked too, and
    /// the request is made once more if the user agreed. A handler that waits for
    /// [`UrlRequest::completed`] before it answers puts that off until the server says so.
    ///
    /// Specification: client/elicitation (2026-07-28).
    pub fn on_url<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(UrlRequest, Question) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Consent> + Send + 'static,
    {
        self.answers.url = Some(Handler::new(handler));
        self
    }

    /// Lets the server ask for these roots, also when there are none yet.
    ///
    /// Specification: client/roots (2026-07-28).
    pub fn roots(mut self, roots: Roots) -> Self {
        self.answers.roots = Some(Arc::new(OpenRoots::new(roots)));
        self
    }

    /// How many questions may stand before the handlers at once; more wait for their turn.
    /// Default 8.
    pub fn questions_at_once(mut self, questions: usize) -> Self {
        self.answers.desk = Arc::new(Desk::new(questions));
        self
    }
}

//! The builder of a test client: its revision, its capabilities and its scripted answers.

use std::sync::Arc;

use serde::Serialize;
use turnbuckle_client::{Client, ClientBuilder, EraPreference, FormAnswer, Roots, UrlAnswer};
use turnbuckle_server::Server;
use turnbuckle_types::{FieldValue, Json, Map, Principal, Root};
use turnbuckle_wire::revision::Revision;

use super::TestClient;
use super::client::MemoryServer;
use super::script::{Answer, Script};
use crate::error::{Error, Result};
use turnbuckle_types::base::{debug_fields, setters};

/// A test client before it connects.
///
/// It declares elicitation by forms and URLs, and sampling, so that every question of the server
/// arrives. Scripted answers of one kind are used in their order; an answer after
/// [`when`](Self::when) is kept for its question.
#[must_use = "call `connect` to get a client"]
pub struct TestClientBuilder {
    server: Result<Server>,
    revision: Revision,
    principal: Option<Principal>,
    script: Script,
    /// The text of the question that the next answer is for.
    when: Option<String>,
    roots: Option<Roots>,
    answers: bool,
    /// The first invalid answer of the script, reported by `connect`.
    error: Option<String>,
    configure: Vec<Configure>,
}

type Configure = Box<dyn FnOnce(ClientBuilder) -> ClientBuilder + Send>;

impl TestClientBuilder {
    pub(super) fn new(server: Result<Server>) -> Self {
        Self {
            server,
            revision: Revision::NEWEST,
            principal: None,
            script: Script::default(),
            when: None,
            roots: None,
            answers: true,
            error: None,
            configure: Vec::new(),
        }
    }

    setters! {
        /// Sets the protocol revision. Default: the newest.
        revision(revision: Revision) { revision = revision }

        /// Sets the authenticated principal of the client. Default: none.
        principal(principal: Principal) { principal = Some(principal) }

        /// Keeps the next answer for a question whose message contains `text`.
        when(text: impl Into<String>) { when = Some(text.into()) }
    }

    /// Accepts a form with these fields, given as an object. Fields that are left out get their
    /// defaults.
    pub fn answer_form(mut self, content: impl Serialize) -> Self {
        let content: std::result::Result<Map<FieldValue>, _> =
            Json::encode(&content).and_then(|content| content.decode());
        match content {
            Ok(content) => self.add_answer(Answer::Form(FormAnswer::Accept(content))),
            Err(error) => {
                self.error = Some(format!("the answer to a form must be an object: {error}"));
                self
            }
        }
    }

    /// Declines a form.
    pub fn decline_form(self) -> Self {
        self.add_answer(Answer::Form(FormAnswer::Decline))
    }

    /// Cancels a form.
    pub fn cancel_form(self) -> Self {
        self.add_answer(Answer::Form(FormAnswer::Cancel))
    }

    /// Accepts a URL elicitation.
    pub fn accept_url(self) -> Self {
        self.add_answer(Answer::Url(UrlAnswer::Accept))
    }

    /// Declines a URL elicitation.
    pub fn decline_url(self) -> Self {
        self.add_answer(Answer::Url(UrlAnswer::Decline))
    }

    /// Cancels a URL elicitation.
    pub fn cancel_url(self) -> Self {
        self.add_answer(Answer::Url(UrlAnswer::Cancel))
    }

    /// Answers a sampling request with this text.
    pub fn answer_sampling(self, text: impl Into<String>) -> Self {
        self.add_answer(Answer::Sampling(Some(text.into())))
    }

    /// Rejects a sampling request.
    pub fn decline_sampling(self) -> Self {
        self.add_answer(Answer::Sampling(None))
    }

    /// Declares roots with these `file://` URIs. Default: roots are not declared.
    pub fn roots<S: Into<String>>(mut self, uris: impl IntoIterator<Item = S>) -> Self {
        let roots = Roots::new();
        let opened: Result<Vec<Root>, _> = uris.into_iter().map(Root::new).collect();
        if let Err(error) = opened.and_then(|opened| roots.set(opened)) {
            self.error = Some(error.to_string());
        }
        self.roots = Some(roots);
        self
    }

    /// Declares neither elicitation nor sampling, like a client that cannot be asked.
    pub fn without_answers(mut self) -> Self {
        self.answers = false;
        self
    }

    /// Sets other settings of the client, such as timeouts or notification handlers. Handlers
    /// for questions replace the script.
    pub fn configure(
        mut self,
        configure: impl FnOnce(ClientBuilder) -> ClientBuilder + Send + 'static,
    ) -> Self {
        self.configure.push(Box::new(configure));
        self
    }

    /// Connects to the server.
    ///
    /// # Errors
    /// If the server cannot be built or does not answer, or a scripted answer is invalid.
    pub async fn connect(self) -> Result<TestClient> {
        let server = self.server?;
        if let Some(fault) = self.error {
            return Err(Error::new(fault));
        }
        let script = Arc::new(self.script);
        let mut builder = Client::builder("test", env!("CARGO_PKG_VERSION"))
            .era(EraPreference::Only(self.revision));
        if self.answers {
            builder = script.install_handlers(builder);
        }
        if let Some(roots) = self.roots {
            builder = builder.roots(roots);
        }
        for configure in self.configure {
            builder = configure(builder);
        }
        let hosted = MemoryServer::start(server, self.principal);
        let client = builder.connect(hosted.connector).await?;
        Ok(TestClient::new(client, hosted.task, script))
    }

    fn add_answer(mut self, answer: Answer) -> Self {
        let when = self.when.take();
        self.script.add(answer, when);
        self
    }
}

debug_fields!(TestClientBuilder { revision });

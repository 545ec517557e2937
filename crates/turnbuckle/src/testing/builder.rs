//! What a client of a test speaks, declares and answers.

use std::sync::Arc;

use serde::Serialize;
use turnbuckle_client::{Client, ClientBuilder, Consent, Era, FormAnswer, Roots};
use turnbuckle_server::{Result, Server};
use turnbuckle_types::{FieldValue, Json, Map, Principal, Root};
use turnbuckle_wire::revision::Revision;

use super::TestClient;
use super::client::Hosted;
use super::script::{Answer, Script};

/// A client of a test, before it connects.
///
/// It declares that its user can be asked by forms and by URLs and its model be asked, so that every
/// question of the server arrives. Answers of one kind are given in the order in which they were
/// scripted; those after [`when`](Self::when) wait for their question.
#[must_use = "a client is there when it is connected"]
pub struct Builder {
    server: Result<Server>,
    revision: Revision,
    principal: Option<Principal>,
    script: Script,
    /// What the next answer waits for.
    when: Option<String>,
    roots: Option<Roots>,
    answers: bool,
    /// What was scripted wrongly, told when the client connects.
    fault: Option<String>,
    configure: Vec<Configure>,
}

type Configure = Box<dyn FnOnce(ClientBuilder) -> ClientBuilder + Send>;

impl Builder {
    pub(super) fn new(server: Result<Server>) -> Self {
        Self {
            server,
            revision: Revision::NEWEST,
            principal: None,
            script: Script::default(),
            when: None,
            roots: None,
            answers: true,
            fault: None,
            configure: Vec::new(),
        }
    }

    /// The revision that is spoken. Default: the newest.
    pub fn revision(mut self, revision: Revision) -> Self {
        self.revision = revision;
        self
    }

    /// On whose behalf the client asks. Default: nobody's in particular.
    pub fn principal(mut self, principal: Principal) -> Self {
        self.principal = Some(principal);
        self
    }

    /// Keeps the next answer for a question whose message holds `text`.
    pub fn when(mut self, text: impl Into<String>) -> Self {
        self.when = Some(text.into());
        self
    }

    /// Fills a form in with these fields: an object. Fields that are left out get their defaults.
    pub fn answer_form(mut self, content: impl Serialize) -> Self {
        let content: std::result::Result<Map<FieldValue>, _> =
            Json::of(&content).and_then(|content| content.decode());
        match content {
            Ok(content) => self.then(Answer::Form(FormAnswer::Accept(content))),
            Err(error) => {
                self.fault = Some(format!("an answer to a form is an object: {error}"));
                self
            }
        }
    }

    /// Refuses a form.
    pub fn decline_form(self) -> Self {
        self.then(Answer::Form(FormAnswer::Decline))
    }

    /// Closes a form without a choice.
    pub fn cancel_form(self) -> Self {
        self.then(Answer::Form(FormAnswer::Cancel))
    }

    /// Agrees to visit a URL.
    pub fn accept_url(self) -> Self {
        self.then(Answer::Url(Consent::Accept))
    }

    /// Refuses to visit a URL.
    pub fn decline_url(self) -> Self {
        self.then(Answer::Url(Consent::Decline))
    }

    /// Closes the question for a visit without a choice.
    pub fn cancel_url(self) -> Self {
        self.then(Answer::Url(Consent::Cancel))
    }

    /// Has the model say this.
    pub fn answer_sample(self, text: impl Into<String>) -> Self {
        self.then(Answer::Sample(Some(text.into())))
    }

    /// Does not allow the server to ask the model.
    pub fn decline_sample(self) -> Self {
        self.then(Answer::Sample(None))
    }

    /// Opens these directories to the server: `file://` URIs. Default: roots are not declared.
    pub fn roots<S: Into<String>>(mut self, uris: impl IntoIterator<Item = S>) -> Self {
        let roots = Roots::new();
        let opened: Result<Vec<Root>, _> = uris.into_iter().map(Root::new).collect();
        if let Err(error) = opened.and_then(|opened| roots.set(opened)) {
            self.fault = Some(error.to_string());
        }
        self.roots = Some(roots);
        self
    }

    /// Declares neither forms nor URLs nor a model: a client that cannot be asked.
    pub fn without_answers(mut self) -> Self {
        self.answers = false;
        self
    }

    /// Sets what else a client has: how long it waits, what it hears. Its handlers for questions
    /// replace the script.
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
    /// When the server cannot be built or does not answer, or an answer was scripted that is none.
    pub async fn connect(self) -> Result<TestClient> {
        let server = self.server?;
        if let Some(fault) = self.fault {
            return Err(fault.into());
        }
        let script = Arc::new(self.script);
        let mut builder =
            Client::builder("test", env!("CARGO_PKG_VERSION")).era(Era::Only(self.revision));
        if self.answers {
            builder = script.install(builder);
        }
        if let Some(roots) = self.roots {
            builder = builder.roots(roots);
        }
        for configure in self.configure {
            builder = configure(builder);
        }
        let hosted = Hosted::start(server, self.principal);
        let client = builder.connect(hosted.connector).await?;
        Ok(TestClient::new(client, hosted.serving, script))
    }

    fn then(mut self, answer: Answer) -> Self {
        let when = self.when.take();
        self.script.add(answer, when);
        self
    }
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

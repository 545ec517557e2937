//! The Inspector: the object that the routes of the page call.

mod entries;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use turnbuckle_types::Request as _;
use turnbuckle_types::method::{CallTool, GetPrompt, GetTask, ReadResource};

use crate::api::{
    Answer, AnswerOutcome, AutomaticAnswers, CheckRun, Completion, CompletionRequest,
    InspectorState, ItemDefinition, ItemKind, ItemsWindow, OpenSource, RequestToSend, SendOutcome,
};
use crate::call::{expand_template, form_of_item};
use crate::change::Changes;
use crate::check_run::CheckRuns;
use crate::inbox::Inbox;
use crate::items::{ItemLimits, Items};
use crate::place::PageState;
use crate::session::{Session, Shared};
use crate::target::OpenServer;
use crate::timeline::{Timeline, TimelineLimits};
use crate::values::Document;
use crate::values::string::cut;
use entries::Documents;

pub use entries::Download;

/// The most sessions. The oldest that is closed goes first.
const MAX_SESSIONS: usize = 32;

/// The most bytes of a description.
const MAX_DESCRIPTION_BYTES: usize = 64 * 1024;

/// The most that an [`Inspector`] keeps.
#[derive(Debug, Clone, Copy, Default)]
pub struct InspectorLimits {
    /// The limits of the timeline.
    pub timeline: TimelineLimits,
    /// The limits of the lists of servers.
    pub items: ItemLimits,
}

/// The reason why the Inspector did not do what the page asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InspectorError {
    /// There is no such session, item, request or entry.
    #[error("there is no {0} like this, or no longer")]
    NotFound(&'static str),
    /// The request cannot be met.
    #[error("{0}")]
    Refused(String),
}

/// The sessions with servers, and everything that is known about them. Its methods are called inside
/// of a tokio runtime.
pub struct Inspector {
    shared: Shared,
    page: PageState,
    sessions: Mutex<Sessions>,
    documents: Documents,
}

#[derive(Default)]
struct Sessions {
    list: Vec<(Arc<Session>, Arc<CheckRuns>)>,
    last_id: u64,
}

impl Inspector {
    /// Creates an Inspector without sessions.
    #[must_use]
    pub fn new(opener: Arc<dyn OpenServer>, limits: InspectorLimits) -> Self {
        let changes = Changes::default();
        let shared = Shared {
            opener,
            timeline: Timeline::new(limits.timeline, changes.clone()),
            items: Items::new(limits.items, changes.clone()),
            inbox: Inbox::new(changes.clone()),
            changes: changes.clone(),
        };
        Self {
            shared,
            page: PageState::new(changes),
            sessions: Mutex::default(),
            documents: Documents::default(),
        }
    }

    /// Returns everything small at once.
    #[must_use]
    pub fn state(&self) -> InspectorState {
        // The versions come first: a change meanwhile makes the page ask again.
        let versions = self.shared.changes.versions();
        let sessions = self
            .lock()
            .list
            .iter()
            .map(|(session, _)| session.to_api())
            .collect();
        InspectorState {
            servers: self.shared.opener.servers(),
            sessions,
            inbox: self.shared.inbox.questions(),
            place: self.page.text(),
            versions,
        }
    }

    /// Returns the versions of all topics, to wait for changes.
    #[must_use]
    pub fn changes(&self) -> &Changes {
        &self.shared.changes
    }

    /// Returns the timeline.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.shared.timeline
    }

    /// Opens a session and returns its id. It connects by itself.
    ///
    /// # Errors
    /// Fails if there are too many sessions.
    pub fn open(&self, source: OpenSource) -> Result<String, InspectorError> {
        let mut sessions = self.lock();
        if sessions.list.len() >= MAX_SESSIONS {
            let is_over = |(session, _): &(Arc<Session>, _)| session.is_over();
            let Some(index) = sessions.list.iter().position(is_over) else {
                let sentence = format!("{MAX_SESSIONS} sessions are open: close one");
                return Err(InspectorError::Refused(sentence));
            };
            let (session, runs) = sessions.list.remove(index);
            self.forget(&session, &runs);
        }
        sessions.last_id += 1;
        let id = format!("s{}", sessions.last_id);
        let runs = CheckRuns::new(&id, self.shared.changes.clone());
        let session = Session::start(id.clone(), source, self.shared.clone());
        sessions.list.push((session, runs));
        Ok(id)
    }

    /// Ends the connection of a session and opens another one.
    ///
    /// # Errors
    /// Fails if there is no such session, as all methods with the id of a session do.
    pub async fn restart(&self, session: &str) -> Result<(), InspectorError> {
        self.session(session)?.restart().await;
        Ok(())
    }

    /// Begins a new login at the server of a session, on a new connection.
    ///
    /// # Errors
    /// Fails if there is no such session.
    pub async fn log_in(&self, session: &str) -> Result<(), InspectorError> {
        self.session(session)?.log_in().await;
        Ok(())
    }

    /// Closes a session and forgets its lists. Its entries stay in the timeline.
    ///
    /// # Errors
    /// Fails if there is no such session.
    pub async fn close(&self, session: &str) -> Result<(), InspectorError> {
        let found = {
            let mut sessions = self.lock();
            let index = sessions.list.iter().position(|(it, _)| it.id == session);
            index.map(|index| sessions.list.remove(index))
        };
        let (session, runs) = found.ok_or(InspectorError::NotFound("session"))?;
        session.close().await;
        self.forget(&session, &runs);
        Ok(())
    }

    fn forget(&self, session: &Session, runs: &CheckRuns) {
        runs.stop();
        self.shared.items.remove_session(&session.id);
        self.shared.changes.remove_session(&session.id);
        self.shared.changes.add("sessions");
    }

    /// Closes all sessions.
    pub async fn close_all(&self) {
        let sessions = std::mem::take(&mut self.lock().list);
        for (session, runs) in sessions {
            runs.stop();
            session.close().await;
        }
    }

    /// Reads the lists of a session again.
    ///
    /// # Errors
    /// Fails if the session is not connected.
    pub fn refresh(&self, session: &str) -> Result<(), InspectorError> {
        self.session(session)?
            .refresh()
            .map_err(InspectorError::Refused)
    }

    /// Returns the items of a list that pass a filter, from an index on.
    ///
    /// # Errors
    /// Fails if there is no such session.
    pub fn items(
        &self,
        session: &str,
        kind: ItemKind,
        filter: &str,
        from: usize,
        count: usize,
    ) -> Result<ItemsWindow, InspectorError> {
        let session = self.session(session)?;
        Ok(self
            .shared
            .items
            .window(&session.id, kind, filter, from, count))
    }

    /// Returns the definition of an item, with its form.
    ///
    /// # Errors
    /// Fails if there is no such item.
    pub fn definition(
        &self,
        session: &str,
        kind: ItemKind,
        key: &str,
    ) -> Result<ItemDefinition, InspectorError> {
        let session = self.session(session)?;
        let item = self.shared.items.find(&session.id, kind, key);
        let item = item.ok_or(InspectorError::NotFound("item"))?;
        let description = Document::new(item.raw.clone());
        let description = description
            .root()
            .and_then(|root| root.member("description")?.as_str());
        let server = session.to_api().server;
        let has = |fact: fn(&crate::api::ServerFacts) -> bool| server.as_ref().is_some_and(fact);
        let method = match kind {
            ItemKind::Tools => CallTool::METHOD,
            ItemKind::Prompts => GetPrompt::METHOD,
            ItemKind::Resources | ItemKind::Templates | ItemKind::Skills => ReadResource::METHOD,
            ItemKind::Tasks => GetTask::METHOD,
        };
        Ok(ItemDefinition {
            row: item.row,
            description: description.map(|text| cut(text, MAX_DESCRIPTION_BYTES)),
            method: method.to_owned(),
            form: form_of_item(kind, &item.raw),
            raw: item.range,
            can_subscribe: kind == ItemKind::Resources && has(|server| server.can_subscribe),
            can_complete: matches!(kind, ItemKind::Prompts | ItemKind::Templates)
                && has(|server| server.can_complete),
        })
    }

    /// Sends a request, unless its parameters have faults.
    ///
    /// # Errors
    /// Fails if there is no such session.
    pub async fn send(
        &self,
        session: &str,
        request: RequestToSend,
    ) -> Result<SendOutcome, InspectorError> {
        Ok(self.session(session)?.send(request).await)
    }

    /// Cancels the request with the number `n`.
    ///
    /// # Errors
    /// Fails if the request has its response already.
    pub fn cancel(&self, session: &str, n: u64) -> Result<(), InspectorError> {
        match self.session(session)?.cancel(n) {
            true => Ok(()),
            false => Err(InspectorError::NotFound("request")),
        }
    }

    /// Subscribes to the updates of a resource.
    ///
    /// # Errors
    /// Fails if the server refuses.
    pub async fn subscribe(&self, session: &str, uri: String) -> Result<(), InspectorError> {
        let session = self.session(session)?;
        session
            .subscribe(uri)
            .await
            .map_err(InspectorError::Refused)
    }

    /// Ends the subscription to a resource.
    ///
    /// # Errors
    /// Fails if there is none.
    pub fn unsubscribe(&self, session: &str, uri: &str) -> Result<(), InspectorError> {
        match self.session(session)?.unsubscribe(uri) {
            true => Ok(()),
            false => Err(InspectorError::NotFound("subscription")),
        }
    }

    /// Sets the least severe level of log messages that the server is asked for.
    ///
    /// # Errors
    /// Fails if there is no such level, or the server refuses.
    pub async fn set_log_level(&self, session: &str, level: &str) -> Result<(), InspectorError> {
        let session = self.session(session)?;
        session
            .set_log_level(level)
            .await
            .map_err(InspectorError::Refused)
    }

    /// Returns the URI of a resource template (RFC 6570) with the values of its variables, the JSON text
    /// of an object.
    ///
    /// # Errors
    /// Fails if the template breaks the RFC, the arguments are no object, or the URI gets too long.
    pub fn expand(&self, template: &str, arguments: &str) -> Result<String, InspectorError> {
        expand_template(template, arguments).map_err(InspectorError::Refused)
    }

    /// Asks the server for the values that an argument may have.
    ///
    /// # Errors
    /// Fails if there is no answer.
    pub async fn complete(
        &self,
        session: &str,
        request: CompletionRequest,
    ) -> Result<Completion, InspectorError> {
        let session = self.session(session)?;
        session
            .complete(request)
            .await
            .map_err(InspectorError::Refused)
    }

    /// Starts the checks of the server of a session, unless they run.
    ///
    /// # Errors
    /// Fails if there is no such session.
    pub fn start_check(&self, session: &str) -> Result<(), InspectorError> {
        let (session, runs) = self.find(session)?;
        runs.start(self.shared.opener.clone(), session.source.clone());
        Ok(())
    }

    /// Returns the last run of the checks.
    ///
    /// # Errors
    /// Fails if there is no such session.
    pub fn check_run(&self, session: &str) -> Result<CheckRun, InspectorError> {
        Ok(self.find(session)?.1.last())
    }

    /// Sets the questions of a session's server that are answered without a person.
    ///
    /// # Errors
    /// Fails if an answer does not have the form of one.
    pub fn set_automatic(
        &self,
        session: &str,
        answers: AutomaticAnswers,
    ) -> Result<(), InspectorError> {
        let session = self.session(session)?;
        session
            .set_automatic(answers)
            .map_err(InspectorError::Refused)
    }

    /// Answers a question of a server.
    #[must_use]
    pub fn answer(&self, question: &str, answer: Answer) -> AnswerOutcome {
        self.shared.inbox.answer(question, answer)
    }

    /// Replaces the state that the page keeps.
    ///
    /// # Errors
    /// Fails if the text is too long or no JSON.
    pub fn set_place(&self, text: String) -> Result<(), InspectorError> {
        self.page.set(text).map_err(InspectorError::Refused)
    }

    fn session(&self, id: &str) -> Result<Arc<Session>, InspectorError> {
        Ok(self.find(id)?.0)
    }

    fn find(&self, id: &str) -> Result<(Arc<Session>, Arc<CheckRuns>), InspectorError> {
        let sessions = self.lock();
        let found = sessions.list.iter().find(|(session, _)| session.id == id);
        found.cloned().ok_or(InspectorError::NotFound("session"))
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

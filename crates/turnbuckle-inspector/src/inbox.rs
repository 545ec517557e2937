//! Questions of servers that wait for a person.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::api::{
    Answer, AnswerAction, AnswerOutcome, Fault, Question, QuestionKind, QuestionState,
};
use crate::change::Changes;

/// The most questions that wait at once. More are declined without being shown.
const MAX_OPEN: usize = 200;

/// The most bytes of texts of the questions that wait. More are declined without being shown.
const MAX_OPEN_BYTES: usize = 8 << 20;

/// The most answered questions that are kept.
const MAX_CLOSED: usize = 100;

/// Checks the content of an answer.
pub(crate) type CheckAnswer = Box<dyn Fn(&str) -> Vec<Fault> + Send>;

/// A question to ask.
pub(crate) struct NewQuestion<'a> {
    pub(crate) session: &'a str,
    pub(crate) at_us: u64,
    /// The number of the request that the question is about, if it is known.
    pub(crate) about: Option<u64>,
    pub(crate) kind: QuestionKind,
    /// The answer that is given without a person, if it fits.
    pub(crate) automatic: Option<Answer>,
    pub(crate) check: CheckAnswer,
}

/// The questions of all sessions. Clones share them.
#[derive(Clone)]
pub(crate) struct Inbox {
    changes: Changes,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    open: VecDeque<OpenQuestion>,
    open_bytes: usize,
    closed: VecDeque<Question>,
    /// The bytes of the texts of each closed question.
    closed_bytes: VecDeque<usize>,
    last_id: u64,
}

struct OpenQuestion {
    question: Question,
    bytes: usize,
    check: CheckAnswer,
    reply: oneshot::Sender<Answer>,
}

impl Inbox {
    pub(crate) fn new(changes: Changes) -> Self {
        Self {
            changes,
            state: Arc::default(),
        }
    }

    /// Asks the person, and waits for an answer. Dropping the future withdraws the question. Returns
    /// `None` if too many questions wait already.
    pub(crate) async fn ask(&self, new: NewQuestion<'_>) -> Option<Answer> {
        let (reply, answer) = oneshot::channel();
        let mut question = Question {
            id: String::new(),
            session: new.session.to_owned(),
            at_us: new.at_us,
            about: new.about,
            state: QuestionState::Open,
            is_automatic: false,
            kind: new.kind,
        };
        let automatic = new.automatic.filter(|it| faults(&new.check, it).is_empty());
        let bytes = question_bytes(&question.kind);
        let id = {
            let mut state = self.lock();
            state.last_id += 1;
            question.id = format!("q{}", state.last_id);
            if let Some(answer) = automatic {
                question.is_automatic = true;
                state.keep_closed(question, bytes, closed_state(answer.action));
                drop(state);
                self.changes.add("inbox");
                return Some(answer);
            }
            let is_full = state.open_bytes + bytes > MAX_OPEN_BYTES;
            if state.open.len() >= MAX_OPEN || (is_full && !state.open.is_empty()) {
                return None;
            }
            let id = question.id.clone();
            state.open_bytes += bytes;
            state.open.push_back(OpenQuestion {
                question,
                bytes,
                check: new.check,
                reply,
            });
            id
        };
        self.changes.add("inbox");
        let _guard = WithdrawOnDrop { inbox: self, id };
        answer.await.ok()
    }

    /// Answers a question. Content that does not fit stays unsent, unless it is sent anyway.
    pub(crate) fn answer(&self, id: &str, answer: Answer) -> AnswerOutcome {
        let mut state = self.lock();
        let Some(index) = state.open.iter().position(|open| open.question.id == id) else {
            return AnswerOutcome::Gone;
        };
        let faults = faults(&state.open[index].check, &answer);
        if !answer.anyway && !faults.is_empty() {
            return AnswerOutcome::Refused { faults };
        }
        let Some(reply) = state.close(index, closed_state(answer.action)) else {
            return AnswerOutcome::Gone;
        };
        drop(state);
        self.changes.add("inbox");
        match reply.send(answer) {
            Ok(()) => AnswerOutcome::Sent,
            Err(_) => AnswerOutcome::Gone,
        }
    }

    /// Returns the open questions, then the last closed ones.
    pub(crate) fn questions(&self) -> Vec<Question> {
        let state = self.lock();
        let open = state.open.iter().map(|open| &open.question);
        open.chain(&state.closed).cloned().collect()
    }

    fn withdraw(&self, id: &str) {
        let mut state = self.lock();
        let index = state.open.iter().position(|open| open.question.id == id);
        if index
            .and_then(|index| state.close(index, QuestionState::Withdrawn))
            .is_some()
        {
            drop(state);
            self.changes.add("inbox");
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Moves a question to the closed ones.
    fn close(&mut self, index: usize, state: QuestionState) -> Option<oneshot::Sender<Answer>> {
        let open = self.open.remove(index)?;
        self.open_bytes -= open.bytes;
        self.keep_closed(open.question, open.bytes, state);
        Some(open.reply)
    }

    fn keep_closed(&mut self, question: Question, bytes: usize, state: QuestionState) {
        self.closed.push_front(Question { state, ..question });
        self.closed_bytes.push_front(bytes);
        let mut bytes = 0;
        let fitting = self.closed_bytes.iter().take(MAX_CLOSED).take_while(|it| {
            bytes += **it;
            bytes <= MAX_OPEN_BYTES
        });
        let count = fitting.count();
        self.closed.truncate(count);
        self.closed_bytes.truncate(count);
    }
}

/// Returns the faults of an answer that is accepted with content.
fn faults(check: &CheckAnswer, answer: &Answer) -> Vec<Fault> {
    match answer.action {
        AnswerAction::Accept => check(answer.content.as_deref().unwrap_or("{}")),
        _ => Vec::new(),
    }
}

fn closed_state(action: AnswerAction) -> QuestionState {
    match action {
        AnswerAction::Accept => QuestionState::Accepted,
        AnswerAction::Decline => QuestionState::Declined,
        AnswerAction::Cancel => QuestionState::Cancelled,
    }
}

/// Returns about the bytes that the page is sent for a question.
fn question_bytes(kind: &QuestionKind) -> usize {
    match kind {
        // A form is written as often as the state of the Inspector is.
        QuestionKind::Form { message, form } => {
            message.len() + serde_json::to_string(form).map_or(0, |text| text.len())
        }
        QuestionKind::Url { message, url, .. } => message.len() + url.len(),
        QuestionKind::Sampling { params, .. } => params.len(),
        QuestionKind::Roots { .. } => 0,
    }
}

/// Withdraws a question that nobody waits for any more.
struct WithdrawOnDrop<'a> {
    inbox: &'a Inbox,
    id: String,
}

impl Drop for WithdrawOnDrop<'_> {
    fn drop(&mut self) {
        self.inbox.withdraw(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::fault;

    fn answer(action: AnswerAction, content: &str, anyway: bool) -> Answer {
        Answer {
            action,
            content: Some(content.to_owned()),
            anyway,
        }
    }

    fn ask(inbox: &Inbox) -> impl Future<Output = Option<Answer>> + Send + use<> {
        let kind = QuestionKind::Roots {
            suggested: "{}".into(),
        };
        let check: CheckAnswer = Box::new(|content| match content {
            "bad" => vec![fault("/a", "is bad")],
            _ => Vec::new(),
        });
        let inbox = inbox.clone();
        let question = NewQuestion {
            session: "s1",
            at_us: 0,
            about: Some(7),
            kind,
            automatic: None,
            check,
        };
        async move { inbox.ask(question).await }
    }

    fn states(inbox: &Inbox) -> Vec<QuestionState> {
        inbox
            .questions()
            .into_iter()
            .map(|question| question.state)
            .collect()
    }

    #[tokio::test]
    async fn an_answer_that_does_not_fit_is_sent_only_anyway() {
        let inbox = Inbox::new(Changes::default());
        let asked = tokio::spawn(ask(&inbox));
        tokio::task::yield_now().await;
        assert_eq!(states(&inbox), [QuestionState::Open]);
        let refused = inbox.answer("q1", answer(AnswerAction::Accept, "bad", false));
        assert!(matches!(refused, AnswerOutcome::Refused { faults } if faults[0].path == "/a"));
        let sent = inbox.answer("q1", answer(AnswerAction::Accept, "bad", true));
        assert_eq!(sent, AnswerOutcome::Sent);
        assert_eq!(
            asked.await.unwrap().unwrap().content.as_deref(),
            Some("bad")
        );
        assert_eq!(states(&inbox), [QuestionState::Accepted]);
        let again = inbox.answer("q1", answer(AnswerAction::Decline, "", false));
        assert_eq!(again, AnswerOutcome::Gone);
    }

    #[tokio::test]
    async fn a_question_that_nobody_waits_for_is_withdrawn() {
        let inbox = Inbox::new(Changes::default());
        let asked = tokio::spawn(ask(&inbox));
        tokio::task::yield_now().await;
        asked.abort();
        assert!(asked.await.is_err());
        assert_eq!(states(&inbox), [QuestionState::Withdrawn]);
    }

    #[tokio::test]
    async fn questions_are_bounded() {
        let inbox = Inbox::new(Changes::default());
        let asked: Vec<_> = (0..MAX_OPEN).map(|_| tokio::spawn(ask(&inbox))).collect();
        while inbox.questions().len() < MAX_OPEN {
            tokio::task::yield_now().await;
        }
        assert_eq!(ask(&inbox).await, None);
        for number in 1..=MAX_OPEN {
            inbox.answer(
                &format!("q{number}"),
                answer(AnswerAction::Decline, "", false),
            );
        }
        assert_eq!(states(&inbox).len(), MAX_CLOSED);
        for asked in asked {
            assert!(asked.await.unwrap().is_some());
        }
    }
}

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

/// The most answered questions that are kept.
const MAX_CLOSED: usize = 100;

/// Checks the content of an answer.
pub(crate) type CheckAnswer = Box<dyn Fn(&str) -> Vec<Fault> + Send>;

/// The questions of all sessions. Clones share them.
#[derive(Clone)]
pub(crate) struct Inbox {
    changes: Changes,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    open: VecDeque<OpenQuestion>,
    closed: VecDeque<Question>,
    last_id: u64,
}

struct OpenQuestion {
    question: Question,
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
    pub(crate) async fn ask(
        &self,
        session: &str,
        at_us: u64,
        about: Option<u64>,
        kind: QuestionKind,
        check: CheckAnswer,
    ) -> Option<Answer> {
        let (reply, answer) = oneshot::channel();
        let id = {
            let mut state = self.lock();
            if state.open.len() >= MAX_OPEN {
                return None;
            }
            state.last_id += 1;
            let id = format!("q{}", state.last_id);
            state.open.push_back(OpenQuestion {
                question: Question {
                    id: id.clone(),
                    session: session.to_owned(),
                    at_us,
                    about,
                    state: QuestionState::Open,
                    kind,
                },
                check,
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
        if answer.action == AnswerAction::Accept && !answer.anyway {
            let faults = (state.open[index].check)(answer.content.as_deref().unwrap_or("{}"));
            if !faults.is_empty() {
                return AnswerOutcome::Refused { faults };
            }
        }
        let closed = match answer.action {
            AnswerAction::Accept => QuestionState::Accepted,
            AnswerAction::Decline => QuestionState::Declined,
            AnswerAction::Cancel => QuestionState::Cancelled,
        };
        let Some(reply) = state.close(index, closed) else {
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
        self.closed.push_front(Question {
            state,
            ..open.question
        });
        self.closed.truncate(MAX_CLOSED);
        Some(open.reply)
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
        async move { inbox.ask("s1", 0, Some(7), kind, check).await }
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

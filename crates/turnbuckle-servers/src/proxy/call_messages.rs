//! The messages of a server about one request, on their way to the client that sent the request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use turnbuckle_types::{LoggingMessageNotificationParams, ProgressNotificationParams};

use crate::proxy::from_server::OpenQuestion;

/// The most reports of progress that wait for the client; further ones are left out.
const MAX_WAITING_REPORTS: usize = 64;

/// The most log messages that wait for the client; further ones are left out.
const MAX_WAITING_LOGS: usize = 64;

/// A message of a server about a request.
pub(super) enum CallMessage {
    Progress(Box<ProgressNotificationParams>),
    Log(Box<LoggingMessageNotificationParams>),
    Question(Box<OpenQuestion>),
}

/// The sending end of a queue of messages about one request. Clones send to the same queue.
#[derive(Clone, Default)]
pub(super) struct CallMessageSender(Arc<Mutex<Queue>>);

/// The receiving end. Questions that come after it was dropped reach nobody.
pub(super) struct CallMessages(CallMessageSender);

#[derive(Default)]
struct Queue {
    messages: VecDeque<CallMessage>,
    reports: usize,
    logs: usize,
    is_closed: bool,
    receiver: Option<Waker>,
}

/// Creates a queue, which takes no memory until a message comes.
pub(super) fn channel() -> (CallMessageSender, CallMessages) {
    let sender = CallMessageSender::default();
    (sender.clone(), CallMessages(sender))
}

impl CallMessageSender {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a report of progress, unless too many wait.
    pub(super) fn report(&self, report: ProgressNotificationParams) {
        let mut queue = self.queue();
        if queue.reports < MAX_WAITING_REPORTS {
            queue.reports += 1;
            send(queue, CallMessage::Progress(Box::new(report)));
        }
    }

    /// Sends a log message, unless too many wait.
    pub(super) fn log(&self, message: LoggingMessageNotificationParams) {
        let mut queue = self.queue();
        if queue.logs < MAX_WAITING_LOGS {
            queue.logs += 1;
            send(queue, CallMessage::Log(Box::new(message)));
        }
    }

    /// Sends a question. The connection to the server bounds how many there are. Without a receiver the
    /// question is dropped, and with it the way of its answer.
    pub(super) fn ask(&self, question: OpenQuestion) {
        send(self.queue(), CallMessage::Question(Box::new(question)));
    }
}

fn send(mut queue: MutexGuard<'_, Queue>, message: CallMessage) {
    if queue.is_closed {
        return;
    }
    queue.messages.push_back(message);
    let receiver = queue.receiver.take();
    drop(queue);
    if let Some(receiver) = receiver {
        receiver.wake();
    }
}

impl CallMessages {
    /// Polls for the next message. Without `takes_questions`, a question stays where it is, and all that came after it.
    pub(super) fn poll_next(
        &self,
        takes_questions: bool,
        cx: &mut Context<'_>,
    ) -> Poll<CallMessage> {
        let mut queue = self.0.queue();
        let first = queue.messages.front();
        let stays = !takes_questions && matches!(first, Some(CallMessage::Question(_)));
        let message = match stays {
            true => None,
            false => queue.messages.pop_front(),
        };
        let Some(message) = message else {
            match &mut queue.receiver {
                Some(receiver) => receiver.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            return Poll::Pending;
        };
        match message {
            CallMessage::Progress(_) => queue.reports -= 1,
            CallMessage::Log(_) => queue.logs -= 1,
            CallMessage::Question(_) => {}
        }
        Poll::Ready(message)
    }
}

impl Drop for CallMessages {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        queue.is_closed = true;
        let unread = (std::mem::take(&mut queue.messages), queue.receiver.take());
        drop(queue);
        // Outside of the lock: a question that is dropped wakes the task that waits for its answer.
        drop(unread);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use tokio::sync::oneshot::error::TryRecvError;
    use turnbuckle_types::{Json, LoggingLevel, ProgressToken};

    use super::*;
    use crate::proxy::question::{Answer, Question};

    fn ask(sender: &CallMessageSender) -> oneshot::Receiver<Answer> {
        let (answer, answered) = oneshot::channel();
        let question = Question::Roots;
        sender.ask(OpenQuestion { question, answer });
        answered
    }

    /// Returns the kinds of the messages that wait, in their order: progress, log message, question.
    fn take_all(messages: &CallMessages) -> String {
        let mut cx = Context::from_waker(Waker::noop());
        let mut kinds = String::new();
        while let Poll::Ready(message) = messages.poll_next(true, &mut cx) {
            kinds.push(match message {
                CallMessage::Progress(_) => 'p',
                CallMessage::Log(_) => 'l',
                CallMessage::Question(_) => 'q',
            });
        }
        kinds
    }

    #[test]
    fn messages_keep_their_order_and_a_flood_of_one_kind_costs_no_other() {
        let (sender, messages) = channel();
        let report = || ProgressNotificationParams::new(ProgressToken::from(1), 1);
        let log =
            || LoggingMessageNotificationParams::new(LoggingLevel::Info, Json::empty_object());
        for _ in 0..2 {
            for _ in 0..=MAX_WAITING_REPORTS {
                sender.report(report());
            }
            let _answered = ask(&sender);
            for _ in 0..=MAX_WAITING_LOGS {
                sender.log(log());
            }
            let (reports, logs) = (
                "p".repeat(MAX_WAITING_REPORTS),
                "l".repeat(MAX_WAITING_LOGS),
            );
            assert_eq!(take_all(&messages), format!("{reports}q{logs}"));
        }
    }

    #[test]
    fn a_question_ends_with_its_receiver() {
        let (sender, messages) = channel();
        let mut before = ask(&sender);
        assert_eq!(before.try_recv().err(), Some(TryRecvError::Empty));
        drop(messages);
        for mut asked in [before, ask(&sender)] {
            assert_eq!(asked.try_recv().err(), Some(TryRecvError::Closed));
        }
    }
}

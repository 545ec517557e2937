//! Watching a run of a handler that asks: ends the run when it waits for nothing but answers of the
//! client.

use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::time::Sleep;
use turnbuckle_wire::era::Reply;

use super::answer_log::{AnswerLog, NOT_ASKED_AGAIN, RunState};
use super::{InputRound, NeedsInput};
use crate::error::failure::Result;

/// The time in which a run that asks a new question has to repeat its earlier questions.
const REASK_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs a handler to its result, or to the questions that it waits for.
pub(crate) async fn run_until_input_required(
    round: &InputRound,
    run: impl Future<Output = Result<Reply>>,
) -> Result<Reply> {
    let answer_log = round.answer_log();
    let mut run = pin!(run);
    // Dropped before the run, so that dropping the run does not withdraw its questions.
    let _close = CloseOnDrop(answer_log);
    let mut timeout: Option<Pin<Box<Sleep>>> = None;
    std::future::poll_fn(move |cx| {
        answer_log.watch(cx.waker());
        loop {
            let polled = run.as_mut().poll(cx);
            if polled.is_ready() {
                return polled;
            }
            match answer_log.run_state() {
                RunState::InputRequired(requests) => {
                    return Poll::Ready(Err(needs_input(round, requests).into()));
                }
                RunState::Running => {
                    timeout = None;
                    return Poll::Pending;
                }
                RunState::MissingQuestions => {
                    let sleep =
                        timeout.get_or_insert_with(|| Box::pin(tokio::time::sleep(REASK_TIMEOUT)));
                    if sleep.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    drop(answer_log.refuse(NOT_ASKED_AGAIN));
                }
            }
        }
    })
    .await
}

/// Returns the questions of a round as a failure of the run.
fn needs_input(round: &InputRound, requests: turnbuckle_types::InputRequests) -> NeedsInput {
    NeedsInput {
        requests,
        state: round.state().cloned(),
        ..NeedsInput::default()
    }
}

/// Closes the answer log when dropped.
struct CloseOnDrop<'a>(&'a AnswerLog);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

//! Answers all questions inside one result at once.

use std::pin::Pin;
use std::task::Poll;

use turnbuckle_types::base::text::shorten_to;
use turnbuckle_types::{InputRequest, InputRequests, InputResponses, Json, ProtocolError};

/// The most characters of a reason, which may contain text of the server.
const MAX_REASON_CHARS: usize = 400;

/// Answers all questions at once, each under its own key. The first that fails drops the others.
pub(crate) async fn answer_all<'a, F>(
    requests: &'a InputRequests,
    max_requests: usize,
    answer: impl Fn(&'a InputRequest) -> F,
) -> Result<InputResponses, crate::Error>
where
    F: Future<Output = Result<Json, ProtocolError>> + Send,
{
    let unanswered = |request: &InputRequest, reason: String| crate::Error::InputUnanswered {
        method: shorten_to(request.method(), 64),
        reason,
    };
    if let Some(one_too_many) = requests.values().nth(max_requests) {
        let reason = format!(
            "there are more than {max_requests} questions at once (ClientLimits::max_input_requests)"
        );
        return Err(unanswered(one_too_many, reason));
    }
    let mut waiting: Vec<PendingAnswer<'_, F>> = requests
        .iter()
        .map(|(key, request)| PendingAnswer {
            key,
            request,
            state: AnswerState::Open(Box::pin(answer(request))),
        })
        .collect();
    std::future::poll_fn(|cx| {
        let mut open = false;
        for pending in &mut waiting {
            let AnswerState::Open(answer) = &mut pending.state else {
                continue;
            };
            match answer.as_mut().poll(cx) {
                Poll::Pending => open = true,
                Poll::Ready(Ok(answer)) => pending.state = AnswerState::Answered(answer),
                Poll::Ready(Err(error)) => {
                    let reason = shorten_to(&error.to_string(), MAX_REASON_CHARS);
                    return Poll::Ready(Err(unanswered(pending.request, reason)));
                }
            }
        }
        match open {
            true => Poll::Pending,
            false => Poll::Ready(Ok(())),
        }
    })
    .await?;
    let mut answers = InputResponses::new();
    for pending in waiting {
        if let AnswerState::Answered(answer) = pending.state {
            answers.insert(pending.key, answer);
        }
    }
    Ok(answers)
}

/// One question of the round.
struct PendingAnswer<'a, F> {
    key: &'a str,
    request: &'a InputRequest,
    state: AnswerState<F>,
}

enum AnswerState<F> {
    Open(Pin<Box<F>>),
    Answered(Json),
}

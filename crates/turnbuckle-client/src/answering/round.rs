//! The questions of one round of a modern request.

use std::pin::Pin;
use std::task::Poll;

use turnbuckle_schema::shorten_to;
use turnbuckle_types::{Error, InputRequest, InputRequests, InputResponses, Json};

/// The most characters of a reason: it may name what a server wrote.
const LONGEST_REASON: usize = 400;

/// Has all questions answered at once, each under its own key, `most` of them. The first that fails
/// drops the others.
pub(super) async fn all<'a, F>(
    requests: &'a InputRequests,
    most: usize,
    answer: impl Fn(&'a InputRequest) -> F,
) -> Result<InputResponses, crate::Error>
where
    F: Future<Output = Result<Json, Error>> + Send,
{
    let unanswered = |request: &InputRequest, reason: String| crate::Error::Unanswered {
        method: shorten_to(request.method(), 64),
        reason,
    };
    if let Some(one_too_many) = requests.values().nth(most) {
        let reason =
            format!("there are more than {most} questions at once (ConversationLimits::questions)");
        return Err(unanswered(one_too_many, reason));
    }
    let mut waiting: Vec<Slot<'_, F>> = requests
        .iter()
        .map(|(key, request)| Slot {
            key,
            request,
            state: State::Open(Box::pin(answer(request))),
        })
        .collect();
    std::future::poll_fn(|cx| {
        let mut open = false;
        for slot in &mut waiting {
            let State::Open(answer) = &mut slot.state else {
                continue;
            };
            match answer.as_mut().poll(cx) {
                Poll::Pending => open = true,
                Poll::Ready(Ok(answer)) => slot.state = State::Answered(answer),
                Poll::Ready(Err(error)) => {
                    let reason = shorten_to(&error.to_string(), LONGEST_REASON);
                    return Poll::Ready(Err(unanswered(slot.request, reason)));
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
    for slot in waiting {
        if let State::Answered(answer) = slot.state {
            answers.insert(slot.key, answer);
        }
    }
    Ok(answers)
}

struct Slot<'a, F> {
    key: &'a str,
    request: &'a InputRequest,
    state: State<F>,
}

enum State<F> {
    Open(Pin<Box<F>>),
    Answered(Json),
}

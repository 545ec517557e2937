//! One message and its exchange: POSTed, answered, and taken up again where that is possible.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body::Body as _;
use tokio::time::Instant;
use turnbuckle_session::{Frame, LinkError, Parcel, ParcelKind};
use turnbuckle_types::RequestId;

use super::answer::{self, Media, Refusal};
use super::core::{Core, NoStream, session_of};
use super::decode::Decoder;
use super::events::{self, End};
use super::http::{AnswerBody, HttpFailure};
use super::resume::Pace;

/// What is read of the body of an answer that carries nothing, so that its connection can be used
/// again.
const REST: usize = 4 << 10;

/// How long that may take.
const REST_TIME: Duration = Duration::from_millis(100);

/// Carries a message until its exchange has ended, or the link is closed.
pub(crate) async fn carry(core: Arc<Core>, parcel: Parcel) -> Result<(), LinkError> {
    let mut closing = pin!(core.closing.closing());
    let mut exchange = pin!(exchange(&core, parcel));
    poll_fn(|cx| {
        if core.closing.is_closing() {
            return Poll::Ready(Err(LinkError::Closed));
        }
        match exchange.as_mut().poll(cx) {
            // Only now somebody has to be told.
            Poll::Pending => closing.as_mut().poll(cx).map(|()| Err(LinkError::Closed)),
            carried => carried,
        }
    })
    .await
}

async fn exchange(core: &Core, parcel: Parcel) -> Result<(), LinkError> {
    let Parcel {
        frame,
        kind,
        headers,
    } = parcel;
    let session = session_of(core, &kind);
    let answer = core.post(frame, &headers, session.as_ref()).await?;
    let id = kind.request_id();
    if !answer.status().is_success() {
        return match (answer::refusal(answer, session.is_some()).await, id) {
            (Refusal::Error { frame, status }, Some(id)) => told(core, id, frame, status),
            (refusal, _) => Err(refusal.error()),
        };
    }
    if matches!(kind, ParcelKind::Initialize(_)) {
        core.open_session(answer.headers())?;
    }
    let status = answer.status().as_u16();
    let media = Media::of(answer.headers());
    let body = answer.into_body();
    match (id, media) {
        (None, Media::Events) => Ok(()),
        (None, _) => {
            spend(body).await;
            Ok(())
        }
        (Some(id), Media::Json) => json(core, id, body).await,
        (Some(id), Media::Events) => stream(core, id, body).await,
        (Some(_), Media::None) if matches!(status, 202 | 204) => Err(LinkError::Violation {
            reason: format!("a request that was taken (HTTP {status}) and not answered"),
        }),
        (Some(_), media) => Err(media.unexpected()),
    }
}

/// Reads what is left of an answer that carries nothing, if it is little and there.
pub(crate) async fn spend(mut body: AnswerBody) {
    let _ = tokio::time::timeout(REST_TIME, answer::read(&mut body, REST)).await;
}

/// An error of the protocol under a status of its own.
fn told(core: &Core, id: &RequestId, frame: Bytes, status: u16) -> Result<(), LinkError> {
    core.inbox.receive(Frame::Message(frame.clone()), Some(id));
    if core.inbox.awaits(id) {
        return Err(Refusal::Error { frame, status }.error());
    }
    Ok(())
}

async fn json(core: &Core, id: &RequestId, mut body: AnswerBody) -> Result<(), LinkError> {
    let limit = core.remote.options.max_message;
    if body.size_hint().lower() > limit as u64 {
        return Err(LinkError::TooLarge { limit });
    }
    let read = answer::read(&mut body, limit).await;
    let read = read.map_err(broken)?;
    if !read.whole {
        return Err(LinkError::TooLarge { limit });
    }
    core.inbox.receive(Frame::Message(read.bytes), Some(id));
    if core.inbox.awaits(id) {
        return Err(LinkError::Violation {
            reason: "an answer to a request that does not answer it".to_owned(),
        });
    }
    Ok(())
}

async fn stream(core: &Core, id: &RequestId, mut body: AnswerBody) -> Result<(), LinkError> {
    let limit = core.remote.options.max_message;
    let mut decoder = Decoder::new(limit);
    let mut pace = Pace::new(&core.remote.options);
    loop {
        match events::read(&*core.inbox, &mut decoder, body, Some(id)).await {
            End::Answered => return Ok(()),
            End::TooLarge => return Err(LinkError::TooLarge { limit }),
            End::Over { reason, fruitful } => {
                if !core.resumes() || decoder.cursor().id.is_none() {
                    return Err(LinkError::Broken { reason });
                }
                if fruitful {
                    pace.fruitful();
                }
                body = resume(core, &decoder, &mut pace, reason).await?;
            }
        }
    }
}

/// Comes back for the rest of a stream.
async fn resume(
    core: &Core,
    decoder: &Decoder,
    pace: &mut Pace,
    mut reason: String,
) -> Result<AnswerBody, LinkError> {
    let cursor = decoder.cursor();
    loop {
        let ended = Instant::now();
        let wait = pace.next(cursor.retry).map_err(|spent| {
            let reason = format!("{reason}, and {spent}");
            LinkError::Broken { reason }
        })?;
        tokio::time::sleep_until(ended + wait).await;
        match core.stream(cursor.id.as_ref()).await {
            Ok(body) => return Ok(body),
            Err(NoStream::Passing(error)) => reason = error.to_string(),
            // The request was taken by its POST: that is said, whatever became of coming back.
            Err(NoStream::Lasting(error)) => {
                let reason = format!("{reason}, and it cannot be taken up again: {error}");
                if matches!(error, LinkError::SessionGone) {
                    core.inbox.lost(error);
                }
                return Err(LinkError::Broken { reason });
            }
        }
    }
}

/// A body that could not be read: whatever the failure says, the request was sent.
fn broken(failure: HttpFailure) -> LinkError {
    LinkError::Broken {
        reason: failure.to_string(),
    }
}

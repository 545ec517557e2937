//! Questions to a legacy client: real requests on the stream of the request that needs them.
//!
//! The requests of one round are sent together and answered in any order. The first failure cancels
//! the others.

use std::pin::Pin;
use std::task::Poll;

use turnbuckle_session::handler::{Peer, PeerError, RequestContext};
use turnbuckle_session::internal::LegacyState;
use turnbuckle_types::base::random::{self, RandomnessUnavailable};
use turnbuckle_types::{
    ElicitRequestParams, InputRequest, InputRequests, Json, ListRootsResult, Map, ProtocolError,
    RequestParams,
};
use turnbuckle_wire::era::Project;
use turnbuckle_wire::revision::Method;

use super::declared::check;
use crate::error::AskError;

/// The reason that a legacy client gave no answers.
#[derive(Debug)]
pub(crate) enum LegacyInputError {
    /// The client cannot be asked this.
    Unsupported(ProtocolError),
    /// The client was asked and did not answer.
    Failed(PeerError),
}

impl From<LegacyInputError> for AskError {
    fn from(reason: LegacyInputError) -> Self {
        match reason {
            LegacyInputError::Unsupported(error) => Self::before_asking(error),
            LegacyInputError::Failed(PeerError::Refused(error)) => Self::Refused(error),
            LegacyInputError::Failed(error) => {
                Self::Failed(crate::error::failure::Failure::new(error.to_string()))
            }
        }
    }
}

/// Asks a legacy client all questions of a round.
pub(crate) async fn ask(
    call: &RequestContext,
    requests: &InputRequests,
) -> Result<Map<Json>, LegacyInputError> {
    check(requests, call).map_err(LegacyInputError::Unsupported)?;
    let peer = peer(call)?;
    let mut answers: Vec<(&str, LegacyAnswer<'_>)> = Vec::with_capacity(requests.len());
    for (key, request) in requests.iter() {
        let request = project_request(call, request.clone())?;
        answers.push((key, Box::pin(send(&peer, request))));
    }
    join_answers(answers)
        .await
        .map_err(LegacyInputError::Failed)
}

/// Asks a legacy client one question, which was checked before.
pub(crate) async fn ask_one(
    call: &RequestContext,
    request: InputRequest,
) -> Result<Json, LegacyInputError> {
    let (peer, request) = (peer(call)?, project_request(call, request)?);
    send(&peer, request).await.map_err(LegacyInputError::Failed)
}

/// Returns the client's session.
fn peer(call: &RequestContext) -> Result<Peer, LegacyInputError> {
    call.peer().ok_or_else(|| {
        LegacyInputError::Unsupported(ProtocolError::internal(
            "there is no session to ask the client in",
        ))
    })
}

/// Rewrites a question for the client's revision.
fn project_request(
    call: &RequestContext,
    mut request: InputRequest,
) -> Result<InputRequest, LegacyInputError> {
    request
        .check_expressible(call.features())
        .map_err(LegacyInputError::Unsupported)?;
    if call.features().elicitation_id {
        assign_elicitation_id(&mut request).map_err(|error| {
            LegacyInputError::Unsupported(ProtocolError::internal(error.to_string()))
        })?;
    }
    if !request.fits(call.features()) {
        request.project(call.features());
    }
    Ok(request)
}

/// The future of an answer.
type LegacyAnswer<'a> = Pin<Box<dyn Future<Output = Result<Json, PeerError>> + Send + 'a>>;

/// Sends a question as a request and returns the answer.
async fn send(peer: &Peer, request: InputRequest) -> Result<Json, PeerError> {
    let method = request.method().to_owned();
    match &request {
        InputRequest::Elicit(params) => peer.request(&method, Some(params)).await,
        InputRequest::CreateMessage(params) => peer.request(&method, Some(&**params)).await,
        InputRequest::ListRoots(None) => list_roots(peer).await,
        InputRequest::ListRoots(params) => {
            peer.request::<RequestParams>(&method, params.as_ref())
                .await
        }
        _ => Err(PeerError::Unsupported),
    }
}

/// Asks for the roots, unless the client has told them and notifies of changes.
async fn list_roots(peer: &Peer) -> Result<Json, PeerError> {
    let request = || peer.request::<RequestParams>(Method::ListRoots.as_str(), None);
    let Some(cache) = peer.legacy_state().and_then(LegacyState::roots_cache) else {
        return request().await;
    };
    if let Some(roots) = cache.get() {
        return Ok(roots);
    }
    let version = cache.version();
    let roots = request().await?;
    if roots.decode::<ListRootsResult>().is_ok() {
        peer.cache_roots(version, &roots);
    }
    Ok(roots)
}

/// Gives a URL elicitation an id, by which its completion can be announced.
fn assign_elicitation_id(request: &mut InputRequest) -> Result<(), RandomnessUnavailable> {
    if let InputRequest::Elicit(ElicitRequestParams::Url(params)) = request
        && params.elicitation_id.is_none()
    {
        params.elicitation_id = Some(random::id()?);
    }
    Ok(())
}

/// Waits for all answers, or for the first failure. Dropping the other requests cancels them.
async fn join_answers(mut waiting: Vec<(&str, LegacyAnswer<'_>)>) -> Result<Map<Json>, PeerError> {
    let mut answers = Map::new();
    std::future::poll_fn(move |cx| {
        let mut at = 0;
        while at < waiting.len() {
            let (key, future) = &mut waiting[at];
            match future.as_mut().poll(cx) {
                Poll::Pending => at += 1,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(answer)) => {
                    answers.insert(*key, answer);
                    drop(waiting.swap_remove(at));
                }
            }
        }
        if waiting.is_empty() {
            Poll::Ready(Ok(std::mem::take(&mut answers)))
        } else {
            Poll::Pending
        }
    })
    .await
}

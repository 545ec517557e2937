//! The same questions to a legacy client: real requests, on the stream of the request that needs
//! them.
//!
//! The requests of one round go out together and are answered in any order; the first failure
//! takes the others back.

use std::pin::Pin;
use std::task::Poll;

use turnbuckle_session::{Context as Call, Peer, PeerError};
use turnbuckle_types::{
    ElicitParams, Error, InputRequest, InputRequests, Json, Map, RequestParams,
};
use turnbuckle_wire::era::Project;

use super::rounds::check;
use super::{NoRandomness, random_id};

/// Why a legacy client gave no answers.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// It cannot be asked that.
    Unable(Error),
    /// It was asked and did not answer.
    Failed(PeerError),
}

/// Asks a legacy client all questions of a round.
pub(crate) async fn ask(call: &Call, requests: &InputRequests) -> Result<Map<Json>, NoAnswer> {
    check(requests, call).map_err(NoAnswer::Unable)?;
    let peer = peer(call)?;
    let mut asked: Vec<(&str, Pending<'_>)> = Vec::with_capacity(requests.len());
    for (key, request) in requests.iter() {
        let request = told(call, request.clone())?;
        asked.push((key, Box::pin(send(&peer, request))));
    }
    all(asked).await.map_err(NoAnswer::Failed)
}

/// Asks a legacy client one question that was checked.
pub(crate) async fn ask_one(call: &Call, request: InputRequest) -> Result<Json, NoAnswer> {
    let (peer, request) = (peer(call)?, told(call, request)?);
    send(&peer, request).await.map_err(NoAnswer::Failed)
}

fn peer(call: &Call) -> Result<Peer, NoAnswer> {
    call.peer().ok_or_else(|| {
        NoAnswer::Unable(Error::internal("there is no session to ask the client in"))
    })
}

/// A question in the words of the client's revision.
fn told(call: &Call, mut request: InputRequest) -> Result<InputRequest, NoAnswer> {
    request
        .expressible(call.features())
        .map_err(NoAnswer::Unable)?;
    if call.features().elicitation_id {
        name_url(&mut request)
            .map_err(|error| NoAnswer::Unable(Error::internal(error.to_string())))?;
    }
    if !request.fits(call.features()) {
        request.project(call.features());
    }
    Ok(request)
}

type Pending<'a> = Pin<Box<dyn Future<Output = Result<Json, PeerError>> + Send + 'a>>;

async fn send(peer: &Peer, request: InputRequest) -> Result<Json, PeerError> {
    let method = request.method().to_owned();
    match &request {
        InputRequest::Elicit(params) => peer.request(&method, Some(params)).await,
        InputRequest::CreateMessage(params) => peer.request(&method, Some(&**params)).await,
        InputRequest::ListRoots(params) => {
            peer.request::<RequestParams>(&method, params.as_ref())
                .await
        }
        _ => Err(PeerError::Unsupported),
    }
}

/// A URL elicitation needs an id where its end can be announced.
fn name_url(request: &mut InputRequest) -> Result<(), NoRandomness> {
    if let InputRequest::Elicit(ElicitParams::Url(params)) = request
        && params.elicitation_id.is_none()
    {
        params.elicitation_id = Some(random_id()?);
    }
    Ok(())
}

/// Waits for all, or for the first that fails; dropping the others takes them back.
async fn all(mut waiting: Vec<(&str, Pending<'_>)>) -> Result<Map<Json>, PeerError> {
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

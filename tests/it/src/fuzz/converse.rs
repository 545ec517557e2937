//! A conversation with the small server over a pair in memory, from its first frame to its end.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use turnbuckle_server::Server;
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::transport::{
    CloseReason, Frame, Transport, TransportContext, memory_pair, serve,
};
use turnbuckle_wire::revision::Revision;

use super::server::server;

/// Client capabilities that allow every kind of question.
pub(super) const CAPABILITIES: &str =
    r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#;

/// Creates a runtime whose clock stands still while any task can run.
pub(super) fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_time().start_paused(true);
    builder.build().expect("a runtime")
}

/// Sends the frames, ends the input, and gives everything that came back.
pub(super) fn converse<'a>(frames: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    converse_with(server(), frames)
}

/// Sends the frames as [`converse`] does, to another server.
pub(super) fn converse_with<'a>(
    server: &Server,
    frames: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<String> {
    hold(server, frames, None)
}

/// Reaction of a client to a frame.
pub(super) enum Then {
    Say(Vec<u8>),
    Listen,
    /// The client ends its input.
    Leave,
}

/// Sends the frames as [`converse_with`] does, with a client that stays connected and reacts to
/// what it receives.
pub(super) fn converse_on<'a>(
    frames: impl IntoIterator<Item = &'a [u8]>,
    hears: &mut dyn FnMut(&str) -> Then,
) -> Vec<String> {
    hold(server(), frames, Some(hears))
}

fn hold<'a>(
    server: &Server,
    frames: impl IntoIterator<Item = &'a [u8]>,
    mut hears: Option<&mut dyn FnMut(&str) -> Then>,
) -> Vec<String> {
    let (mut client, transport) = memory_pair();
    for frame in frames {
        client.queue(frame);
    }
    let mut answers = Vec::new();
    let closed = runtime().block_on(async {
        let context = TransportContext::default();
        let serve = serve(
            server.clone(),
            transport,
            Limits::default(),
            context,
            Signal::new(),
        );
        let mut serve = pin!(serve);
        let (mut stays, mut sending) = (hears.is_some(), true);
        poll_fn(|cx| {
            loop {
                if sending && client.poll_flush(cx).is_ready() && !stays {
                    client.close_sending();
                    sending = false;
                }
                let closed = serve.as_mut().poll(cx);
                let before = answers.len();
                while let Poll::Ready(Some(frame)) = client.poll_frame(cx) {
                    let heard = text(frame);
                    match hears.as_mut().map(|hears| hears(&heard)) {
                        Some(Then::Say(said)) if stays => client.queue(&said),
                        Some(Then::Leave) => stays = false,
                        _ => {}
                    }
                    answers.push(heard);
                }
                if closed.is_ready() || answers.len() == before {
                    return closed;
                }
            }
        })
        .await
    });
    assert!(matches!(closed, CloseReason::ByPeer), "{closed:?}");
    answers
}

fn text(frame: Frame) -> String {
    match frame {
        Frame::Message(frame) => String::from_utf8(frame.into()).expect("what is sent is text"),
        Frame::TooLong { limit } => panic!("a pair in memory has no limit of {limit}"),
    }
}

/// Returns a request of a modern client that accepts input requests; `params` are members of an
/// object, each followed by a comma.
pub(super) fn request(id: usize, method: &str, params: &str) -> Vec<u8> {
    let revision = Revision::NEWEST;
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}"_meta":{{
        "io.modelcontextprotocol/protocolVersion":"{revision}",
        "io.modelcontextprotocol/clientCapabilities":{CAPABILITIES}}}}}}}"#
    )
    .into_bytes()
}

/// Returns the result of the request with this id, or the code of its error. The request must be
/// answered exactly once.
pub(super) fn answer(frames: &[String], id: usize) -> Result<Value, i64> {
    let messages = frames.iter().map(|frame| serde_json::from_str(frame));
    let messages = messages.map(|message: Result<Value, _>| message.expect("what is sent is JSON"));
    let mut own = messages.filter(|message| message["id"] == id);
    let mut answer = own.next().expect("every request is answered");
    assert!(own.next().is_none(), "request {id} is answered twice");
    match answer.get_mut("result") {
        Some(result) => Ok(result.take()),
        None => Err(answer["error"]["code"]
            .as_i64()
            .expect("an error has a code")),
    }
}

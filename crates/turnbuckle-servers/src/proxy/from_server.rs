//! Messages of a server about a request, on their way to the client that sent the request.

use std::sync::Arc;

use tokio::sync::oneshot;
use turnbuckle_client::{Form, FormAnswer, RequestTag, SamplingRejected, UrlAnswer, UrlRequest};
use turnbuckle_server::HandlerContext;
use turnbuckle_session::internal::ChangeFeed;
use turnbuckle_types::{ElicitAction, ErrorKind, LoggingMessageNotificationParams, ProtocolError};

use crate::builder::ServersBuilder;
use crate::connections::client_key::ClientKeys;
use crate::proxy::call_error::response_error;
use crate::proxy::call_messages::CallMessageSender;
use crate::proxy::question::{Answer, Question};
use crate::question::ServerQuestion;

/// A question of a server, and the way of its answer.
pub(super) struct OpenQuestion {
    pub(super) question: Question,
    pub(super) answer: oneshot::Sender<Answer>,
}

/// The value of a request's tag: the way to the client that sent the request.
struct Receiver {
    messages: CallMessageSender,
    /// The session whose number the sender has while any of its requests is known. `None` on a client's own
    /// connection, which ends with the session: it must not wait for a server that leaves a cancelled request open.
    _session: Option<Arc<ChangeFeed>>,
}

/// Returns the tag of a request that is forwarded, whose messages of the server go to `messages`. On the own connection
/// of a session or a principal they are about no other client. That of an address may be for several, which are one user.
pub(super) fn tag(
    context: &HandlerContext,
    keys: &ClientKeys,
    is_own_connection: bool,
    messages: CallMessageSender,
) -> RequestTag {
    let session = context.session_change_feed();
    let receiver = Receiver {
        messages,
        _session: session.filter(|_| !is_own_connection).cloned(),
    };
    let sender = keys.sender(context);
    let tag = RequestTag::new(sender, receiver);
    let principal = keys.principal(context);
    if is_own_connection && (context.session_change_feed().is_some() || principal.is_some()) {
        // Whatever comes on the connection is for its client.
        return tag.with_connection(0, ());
    }
    match (context.session_change_feed(), context.duplex_connection()) {
        (Some(session), _) => tag.with_connection(sender, Arc::downgrade(session)),
        (None, Some(connection)) => tag.with_connection(keys.connection(&connection), connection),
        // Questions reach the very request, and log messages the user.
        (None, None) => match principal.or(is_own_connection.then_some(0)) {
            Some(principal) => tag.with_party(principal),
            None => tag,
        },
    }
}

/// Returns the way to the client that sent the request of a tag.
fn find_receiver(server: &str, tag: Option<&RequestTag>) -> Option<CallMessageSender> {
    let receiver = tag.and_then(|tag| tag.value::<Receiver>());
    if receiver.is_none() {
        tracing::debug!(
            server,
            "a question or a log message reaches nobody: it may be about requests of several clients"
        );
    }
    receiver.map(|receiver| receiver.messages.clone())
}

/// Passes a log message on. One for a client that is too far behind is left out.
fn pass_log(server: &str, message: LoggingMessageNotificationParams, tag: Option<&RequestTag>) {
    if let Some(receiver) = find_receiver(server, tag) {
        receiver.log(message);
    }
}

/// Passes a question on and waits for the answer; `None` if nobody can be asked.
async fn pass_question(asked: &ServerQuestion, question: Question) -> Option<Answer> {
    let (answer, answered) = oneshot::channel();
    let receiver = find_receiver(&asked.server, asked.request_tag())?;
    receiver.ask(OpenQuestion { question, answer });
    answered.await.ok()
}

/// Returns the error response to a question that the client of the proxy does not have, has refused, or never got. Forms
/// and URLs have no such answer: their server reads that the user has cancelled.
fn refusal(answer: Option<Answer>, kind: &str) -> ProtocolError {
    match answer {
        Some(Answer::Refused(error)) => response_error(error),
        Some(Answer::Unsupported) => {
            let message = format!("the client of the proxy does not support {kind}");
            ProtocolError::new(ErrorKind::MethodNotFound, message)
        }
        _ => ProtocolError::internal(format!("no client can be asked for {kind}")),
    }
}

/// Installs handlers that pass questions and log messages on to the clients of the proxy, which read no addresses of
/// servers in errors.
pub(super) fn install(builder: ServersBuilder) -> ServersBuilder {
    builder
        .install(|builder, server| builder.server_name(&**server))
        // Each request brings the level of its client along.
        .install(|builder, server| {
            let server: Arc<str> = server.clone();
            builder.on_tagged_log(move |message, tag| pass_log(&server, message, tag))
        })
        .on_roots(async |asked: ServerQuestion| {
            match pass_question(&asked, Question::Roots).await {
                Some(Answer::Roots(roots)) => Ok(roots),
                answer => Err(refusal(answer, "roots")),
            }
        })
        .on_form(async |form: Form, asked: ServerQuestion| {
            match pass_question(&asked, form.into()).await {
                Some(Answer::Form(answer)) => match answer.action {
                    ElicitAction::Accept => FormAnswer::Accept(answer.content.unwrap_or_default()),
                    ElicitAction::Decline => FormAnswer::Decline,
                    _ => FormAnswer::Cancel,
                },
                _ => FormAnswer::Cancel,
            }
        })
        .on_url(async |request: UrlRequest, asked: ServerQuestion| {
            match pass_question(&asked, request.into()).await {
                Some(Answer::Url(ElicitAction::Accept)) => UrlAnswer::Accept,
                Some(Answer::Url(ElicitAction::Decline)) => UrlAnswer::Decline,
                _ => UrlAnswer::Cancel,
            }
        })
        .on_sampling(async |params, asked: ServerQuestion| {
            match pass_question(&asked, Question::Sampling(Box::new(params))).await {
                Some(Answer::Sampling(Some(answer))) => Ok(*answer),
                None | Some(Answer::Sampling(None)) => Err(SamplingRejected.into()),
                answer => Err(refusal(answer, "sampling")),
            }
        })
}

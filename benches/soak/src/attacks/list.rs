//! Every attack: its name, its attackers in the long form, and what each of them does.

use super::attack::Attack;
use super::{calls, floods};

/// The attacks, in the order in which they are played.
pub(super) const ATTACKS: &[Attack] = &[
    // Heads and connections.
    Attack::new("silent connections", 1500, |it| {
        Box::pin(floods::silent(it))
    }),
    Attack::new("silent connections of many addresses", 400, |it| {
        Box::pin(floods::silent_from_own(it))
    }),
    Attack::new("connections, again and again", 200, |it| {
        Box::pin(floods::connects_again(it))
    }),
    Attack::new("slow heads", 300, |it| Box::pin(floods::slow_head(it))),
    Attack::new("large heads", 300, |it| Box::pin(floods::large_head(it))),
    Attack::new("garbage", 100, |it| Box::pin(floods::garbage(it))),
    // Handshakes and sessions.
    Attack::new("handshakes on one connection", 1, |it| {
        Box::pin(floods::handshakes(it))
    }),
    Attack::new("handshakes on many connections", 100, |it| {
        Box::pin(floods::handshakes(it))
    }),
    Attack::new("handshakes of many addresses", 200, |it| {
        Box::pin(floods::handshakes_from_own(it))
    }),
    Attack::new("sessions with streams", 800, |it| {
        Box::pin(floods::session_streams(it))
    })
    .shows_end(),
    // Streams and subscriptions.
    Attack::new("subscription streams", 800, |it| {
        Box::pin(floods::listens(it))
    })
    .shows_end(),
    Attack::new("resource subscriptions", 100, |it| {
        Box::pin(floods::subscribes(it))
    }),
    Attack::new("http+sse connections", 400, |it| {
        Box::pin(floods::sse_connections(it))
    }),
    Attack::new("http+sse connections, unread", 100, |it| {
        Box::pin(calls::unread_sse(it))
    }),
    // Bodies and answers.
    Attack::new("half-sent bodies", 300, |it| Box::pin(calls::half_body(it))).shows_end(),
    Attack::new("half-sent bodies of many addresses", 300, |it| {
        Box::pin(calls::half_body_from_own(it))
    })
    .shows_end(),
    Attack::new("unread answers", 150, |it| {
        Box::pin(calls::unread_answer(it))
    })
    .shows_end(),
    Attack::new("unread answers of many addresses", 150, |it| {
        Box::pin(calls::unread_answer_from_own(it))
    })
    .shows_end(),
    Attack::new("unread streams", 150, |it| {
        Box::pin(calls::unread_stream(it))
    })
    .shows_end(),
    Attack::new("calls left behind", 200, |it| {
        Box::pin(calls::left_behind(it))
    })
    .shows_end(),
    Attack::new("replay logs", 640, |it| Box::pin(calls::replay_log(it))).shows_end(),
    Attack::new("callers who vanish", 100, |it| {
        Box::pin(calls::vanishes(it))
    }),
    Attack::new("calls at full speed", 50, |it| {
        Box::pin(calls::full_speed(it))
    }),
];

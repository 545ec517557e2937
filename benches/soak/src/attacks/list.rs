//! The table of the attacks over HTTP: the server that is attacked, whether the attackers have one identity
//! or many, the attackers of the long form, the actions of each, and the name of the attack.

use super::attacker::{Attack, Attacker, Origin, pause};
use super::target::Scene;
use super::{calls, http2, sse, tables, tls};
use crate::problem::Result;
use crate::random::Random;

macro_rules! attacks {
    ($($scene:ident $origin:ident $attackers:literal $act:path, $name:literal,)*) => {
        /// The attacks, in the order in which they are played.
        pub(super) const ATTACKS: &[Attack] = &[$(Attack {
            name: $name,
            scene: Scene::$scene,
            origin: Origin::$origin,
            attackers: $attackers,
            act: |it| Box::pin($act(it)),
        }),*];
    };
}

attacks! {
    // Heads and connections.
    Plain One 1500 tables::silent, "silent connections",
    Plain Many 400 tables::silent, "silent connections of many addresses",
    Plain One 200 tables::connects_again, "connections, again and again",
    Plain One 300 tables::half_closed, "half-closed connections",
    Plain One 300 tables::slow_head, "slow heads",
    Plain One 300 tables::large_head, "large heads",
    Plain One 100 tables::foreign_authority, "heads with a foreign authority",
    Plain One 100 tables::garbage, "garbage",
    Plain One 100 calls::cut_off, "requests that are cut off",
    // Handshakes and sessions.
    Plain One 1 tables::handshakes, "handshakes on one connection",
    Plain One 100 tables::handshakes, "handshakes on many connections",
    Plain Many 200 tables::handshakes, "handshakes of many addresses",
    Plain One 50 tables::ended_sessions, "sessions, opened and ended",
    Plain One 800 tables::session_streams, "sessions with streams",
    Plain Many 300 tables::session_streams, "sessions with streams of many addresses",
    Plain One 100 tables::resumes, "streams, resumed again and again",
    Plain One 50 tables::wrong_resumptions, "streams, resumed at wrong places",
    Plain One 50 tables::streams_again, "streams of a session, opened again and again",
    Plain One 50 calls::ended_in_call, "sessions, ended during calls",
    Plain One 50 calls::cancelled, "calls, cancelled at any time",
    Plain One 50 calls::unasked_answers, "answers to no question",
    Plain One 32 tables::sound_sessions, "sound sessions and calls",
    // Streams and subscriptions.
    Plain One 800 tables::listens, "subscription streams",
    Plain Many 300 tables::listens, "subscription streams of many addresses",
    Plain One 200 tables::listens_again, "subscription streams, again and again",
    Plain One 100 tables::subscribes, "resource subscriptions",
    // Bodies and answers.
    Plain One 300 calls::half_body, "half-sent bodies",
    Plain Many 300 calls::half_body, "half-sent bodies of many addresses",
    Plain One 300 calls::slow_body, "slow bodies",
    Plain One 50 calls::too_large, "bodies that are too large",
    Plain One 50 calls::deep_json, "deep and huge JSON",
    Plain One 50 calls::forged_state, "forged request states",
    Plain One 150 calls::unread_answer, "unread answers",
    Plain Many 150 calls::unread_answer, "unread answers of many addresses",
    Plain One 150 calls::unread_in_session, "unread answers in sessions",
    Plain One 50 calls::unread_pipeline, "unread answers to many requests at once",
    Plain One 150 calls::slow_reader, "answers, read slowly",
    Plain One 150 calls::unread_stream, "unread streams",
    Plain One 150 calls::unread_stream_in_session, "unread streams in sessions",
    Plain One 200 calls::left_behind, "calls left behind",
    Plain One 200 calls::small_left_behind, "small calls left behind",
    Plain One 640 calls::replay_log, "replay logs",
    Plain One 200 calls::questions, "questions that nobody answers",
    Plain One 100 calls::vanishes, "callers who vanish",
    Plain One 50 calls::full_speed, "calls at full speed",
    Plain One 300 every_attack, "everything at once",
    Plain Many 300 every_attack, "everything at once, of many addresses",
    // HTTP+SSE.
    Plain One 400 sse::connections, "http+sse: connections",
    Plain Many 150 sse::connections, "http+sse: connections of many addresses",
    Plain One 200 sse::connects_again, "http+sse: connections, again and again",
    Plain One 100 sse::unread, "http+sse: unread answers",
    Plain One 90 sse::half_messages, "http+sse: half-sent messages",
    Plain One 90 sse::vanishes, "http+sse: callers who vanish",
    // TLS.
    Tls One 1500 tls::silent, "tls: silent connections",
    Tls Many 400 tls::silent, "tls: silent connections of many addresses",
    Tls One 300 tls::slow_handshake, "tls: slow handshakes",
    Tls One 50 tls::half_handshake, "tls: half-open handshakes, again and again",
    Tls One 50 tls::handshakes, "tls: handshakes, again and again",
    Tls One 300 tables::slow_head, "tls: slow heads",
    Tls One 100 calls::half_body, "tls: half-sent bodies",
    Tls One 150 calls::unread_answer, "tls: unread answers",
    // HTTP/2.
    Http2 One 50 http2::streams, "http/2: many requests of a connection",
    Http2 One 300 http2::streams, "http/2: many requests of many connections",
    Http2 One 1500 http2::unread_streams, "http/2: small answers behind closed windows",
    Http2 One 20 http2::resets, "http/2: requests that are reset",
    Http2 One 20 http2::closed_windows, "http/2: closed windows",
    Http2 Many 20 http2::closed_windows, "http/2: closed windows of many addresses",
    Http2 One 300 http2::half_bodies, "http/2: half-sent bodies",
    Http2 One 20 http2::endless_headers, "http/2: headers without an end",
    Http2 One 20 http2::pings, "http/2: pings and settings",
    Http2 One 300 tables::silent, "http/2: silent connections",
    Http2 One 1500 http2::silent, "http/2: connections without a request",
    Http2 One 230 http2::waiting_calls, "http/2: small calls that wait, of one address",
    // HTTP/2 over TLS, by ALPN.
    Http2Tls One 1500 http2::silent, "http/2 over tls: connections without a request",
    Http2Tls One 300 http2::streams, "http/2 over tls: many requests of many connections",
    Http2Tls One 1500 http2::unread_streams, "http/2 over tls: small answers behind closed windows",
    Http2Tls Many 20 http2::closed_windows, "http/2 over tls: closed windows of many addresses",
    Http2Tls One 300 http2::half_bodies, "http/2 over tls: half-sent bodies",
    // Principals.
    Tokens One 100 tables::handshakes, "tokens: handshakes of one principal",
    Tokens Many 200 tables::handshakes, "tokens: handshakes of many principals",
    Tokens One 300 tables::session_streams, "tokens: sessions with streams of one principal",
    Tokens One 300 tables::listens, "tokens: subscription streams of one principal",
    Tokens One 150 sse::connections, "tokens: http+sse connections of one principal",
    Tokens One 300 calls::half_body, "tokens: half-sent bodies of one principal",
    Tokens Many 300 calls::half_body, "tokens: half-sent bodies of many principals",
    Tokens One 150 calls::unread_answer, "tokens: unread answers of one principal",
    Tokens Many 150 calls::unread_answer, "tokens: unread answers of many principals",
    Tokens One 200 calls::left_behind, "tokens: calls left behind by one principal",
    Tokens One 640 calls::replay_log, "tokens: replay logs of one principal",
    Tokens One 50 calls::full_speed, "tokens: calls of one principal at full speed",
    Tokens One 100 tables::wrong_token, "tokens: requests with a wrong token",
}

/// Acts as the attackers of one attack after the other on the same server, each for a moment.
async fn every_attack(it: Attacker) -> Result {
    let mut random = Random::new(it.number as u64);
    let attacks: Vec<_> = ATTACKS
        .iter()
        .filter(|attack| attack.scene == Scene::Plain && !attack.name.starts_with("everything"))
        .collect();
    loop {
        let attack = attacks[random.below(attacks.len() as u64) as usize];
        let acting = (attack.act)(it.clone());
        tokio::select! {
            _ = acting => pause(20).await,
            () = pause(50 + random.below(2000)) => {}
        }
    }
}

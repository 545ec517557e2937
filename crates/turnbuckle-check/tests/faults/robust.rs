//! Faults under strain.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use turnbuckle_check::Bind;
use turnbuckle_check::script::Sound;
use turnbuckle_wire::revision::Revision;

use crate::harness::{Row, row};

/// Returns a server that leaves the next message unanswered once the flag is set.
fn forgetter() -> (Sound, Arc<AtomicBool>) {
    let flag = Arc::new(AtomicBool::new(false));
    let has_to_miss = Arc::clone(&flag);
    let sound = Sound::new().on_message(move |message| {
        let is_long = message["method"]
            .as_str()
            .is_some_and(|it| it.len() > 100_000);
        match is_long {
            true => None,
            false => has_to_miss.swap(false, Ordering::Relaxed).then(Vec::new),
        }
    });
    (sound, flag)
}

pub(crate) fn rows() -> Vec<Row> {
    let (last, run) = (AtomicI64::new(0), AtomicUsize::new(0));
    let few_at_once = Sound::new().on_message(move |message| {
        let id = message["id"].as_i64()?;
        let is_next = message["method"] == "ping" && last.swap(id, Ordering::Relaxed) + 1 == id;
        match is_next {
            true => run.fetch_add(1, Ordering::Relaxed),
            false => run.swap(0, Ordering::Relaxed),
        };
        (run.load(Ordering::Relaxed) == 20).then(Vec::new)
    });
    let (sound, flag) = forgetter();
    let nesting = sound.on_read_line(move |line| {
        if line
            .windows(100)
            .any(|window| window.iter().all(|byte| *byte == b'['))
        {
            flag.store(true, Ordering::Relaxed);
        }
    });
    let (sound, flag) = forgetter();
    let long = sound.on_read_line(move |line| {
        if line.len() > 1 << 20 && !line.windows(11).any(|it| it == b"example.com") {
            flag.store(true, Ordering::Relaxed);
        }
    });
    let (sound, flag) = forgetter();
    let headers = sound.on_request(move |request| {
        if request.headers().len() > 150 {
            flag.store(true, Ordering::Relaxed);
        }
    });
    let rounding = Sound::new().on_reply(|_, messages| {
        for message in messages {
            if message["id"] == (1_i64 << 53) - 1 {
                message["id"] = (1_i64 << 53).into();
            }
        }
    });
    let open_hearted = Sound::new().on_reply(|_, messages| {
        for message in messages {
            if message["error"]["code"] == -32601 {
                let trace = "Error: no such method\n    at Server.handle (/srv/server.js:7:11)";
                message["error"]["message"] = trace.into();
            }
        }
    });
    vec![
        row("robust.requests-at-once", few_at_once).alone(Revision::NEWEST_LEGACY, Bind::Stream),
        row("robust.nesting", nesting).alone(Revision::NEWEST, Bind::Stream),
        row("robust.long-strings", long).alone(Revision::NEWEST, Bind::Stream),
        row("robust.many-headers", headers).alone(Revision::NEWEST, Bind::Http),
        row("robust.number-limits", rounding),
        row("robust.error-without-stack", open_hearted),
    ]
}

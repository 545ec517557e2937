//! Faults of lines.

use serde_json::Value;
use turnbuckle_check::Bind;
use turnbuckle_check::script::Sound;
use turnbuckle_wire::revision::Revision;

use crate::harness::{Row, row};

/// Returns a server that never answers the request with that id.
fn silent(id: &'static str) -> Sound {
    Sound::new().on_message(move |message| (message["id"] == id).then(Vec::<Value>::new))
}

pub(crate) fn rows() -> Vec<Row> {
    // At no other time is a ping answered with that id: the rest of the run is not disturbed.
    let chatty = Sound::new().on_line(|line| {
        let message: Value = serde_json::from_slice(line).unwrap_or_default();
        if message["id"] == 1
            && message["result"]
                .as_object()
                .is_some_and(|it| it.is_empty())
        {
            line.splice(0..0, *b"working\n");
        }
    });
    let short_lines = Sound::new().on_read_line(|line| {
        if line.len() > 1 << 20 {
            line.clear();
        }
    });
    vec![
        row("frame.stdout-is-messages", chatty).alone(Revision::NEWEST_LEGACY, Bind::Stream),
        row("frame.split-writes", silent("check-ü")),
        row("frame.garbage-line-survived", silent("check-after")),
        row("frame.megabyte-line", short_lines),
    ]
}

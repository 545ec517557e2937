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

fn printing(sound: Sound) -> Row {
    row("frame.stdout-is-messages", sound).alone(Revision::NEWEST_LEGACY, Bind::Stream)
}

/// Returns servers that print at other times.
pub(crate) fn printing_rows() -> Vec<Row> {
    let banner = Sound::new().on_line(|line| {
        let message: Value = serde_json::from_slice(line).unwrap_or_default();
        if message["result"].get("serverInfo").is_some() {
            line.splice(0..0, *b"listening\n");
        }
    });
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
    vec![printing(banner), printing(chatty)]
}

pub(crate) fn rows() -> Vec<Row> {
    let short_lines = Sound::new().on_read_line(|line| {
        if line.len() > 1 << 20 {
            line.clear();
        }
    });
    let print_in_a_tool = Sound::new().on_line(|line| {
        let message: Value = serde_json::from_slice(line).unwrap_or_default();
        if message["result"].get("content").is_some() {
            line.splice(0..0, *b"adding\n");
        }
    });
    vec![
        printing(print_in_a_tool),
        row("frame.split-writes", silent("check-ü")),
        row("frame.garbage-line-survived", silent("check-after")),
        row("frame.megabyte-line", short_lines),
    ]
}

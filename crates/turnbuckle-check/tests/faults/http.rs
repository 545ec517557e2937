//! Faults of Streamable HTTP.

use turnbuckle_check::script::Sound;

use crate::harness::{Row, row};

/// Returns a server that does not look at a header.
fn blind(header: &'static str) -> Sound {
    Sound::new().on_request(move |request| {
        request.headers_mut().remove(header);
    })
}

pub(crate) fn rows() -> Vec<Row> {
    vec![row("http.origin-403", blind("origin"))]
}

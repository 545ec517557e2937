//! The stdio floors: a loop over lines.

use std::io::{BufRead, Write};

use super::answer::{Answer, answer_of};
use crate::process::Ended;

/// Answers, for `floor-stdio [ANSWER]`, line by line until stdin ends.
pub(crate) fn serve(words: &[String]) -> Ended {
    answer_lines(answer_of(words)?)
}

/// Answers any handshake, for `floor-start`.
pub(crate) fn serve_start(_: &[String]) -> Ended {
    answer_lines(|_, out| {
        out.extend_from_slice(INITIALIZED);
        Ok(())
    })
}

const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"floor","version":"1"}}}"#;

fn answer_lines(answer: Answer) -> Ended {
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    let mut line = Vec::new();
    let mut bytes = Vec::new();
    while input.read_until(b'\n', &mut line)? != 0 {
        answer(&line, &mut bytes)?;
        bytes.push(b'\n');
        output.write_all(&bytes)?;
        output.flush()?;
        line.clear();
        bytes.clear();
    }
    Ok(())
}

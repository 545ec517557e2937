//! The lines of the audit log.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::SystemTime;

use serde::Serialize;

use crate::event::Event;

/// One line, in the order of its members.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    /// The name or URI that the client named.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<&'a str>,
    /// The name or URI at the upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<String>,
    argument_bytes: usize,
    outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    micros: u64,
}

/// A line about lines that could not be written.
#[derive(Serialize)]
struct LostLines {
    time: String,
    lost: u64,
}

/// Returns the line of an event, with a line break.
pub(super) fn format(event: &Event<'_>, time: SystemTime) -> Vec<u8> {
    let record = event.record;
    let principal = record.principal;
    to_line(&Line {
        time: format_time(time),
        issuer: principal.map(|it| &*it.issuer),
        principal: principal.map(|it| &*it.subject),
        client: principal.and_then(|it| it.client.as_deref()),
        address: record.client_address,
        method: record.method,
        name: record.target,
        upstream: event.target.as_ref().map(|it| &*it.upstream),
        item: event.target.as_ref().map(|it| &*it.item),
        arguments: record.argument_digest.map(|digest| {
            digest.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
        }),
        argument_bytes: record.argument_bytes,
        outcome: event.outcome,
        detail: event.detail.as_deref(),
        micros: record.micros,
    })
}

/// Returns the line about `lost` lines.
pub(super) fn format_lost(lost: u64, time: SystemTime) -> Vec<u8> {
    let time = format_time(time);
    to_line(&LostLines { time, lost })
}

fn format_time(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

fn to_line(line: &impl Serialize) -> Vec<u8> {
    // Texts, numbers and addresses always have a JSON form.
    let mut bytes = serde_json::to_vec(line).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

//! The trace file of `--trace`: one JSON object for each message, HTTP exchange and line of standard error,
//! readable by the user only.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use serde_json::{Value, json};
use turnbuckle::session::transport::{Frame, LinkError, OutboundMessage};
use turnbuckle_inspector::HttpExchange;
use turnbuckle_inspector::values::Document;
use turnbuckle_types::base::secrets::url_without_query;

use super::KnownSecrets;
use super::redact::{redact_json, redact_line};
use crate::error::CliError;
use crate::output::one_line;

/// Writes each message with its direction and time, without secrets unless the user wants them.
pub(crate) struct Trace {
    file: Mutex<TraceFile>,
    has_secrets: bool,
    /// Values that are redacted in any text.
    secrets: KnownSecrets,
}

/// The file, with what may still be written to it.
struct TraceFile {
    file: File,
    remaining_bytes: usize,
    is_full: bool,
}

impl TraceFile {
    /// Writes a line. The first one that does not fit is replaced by one that says so, and nothing
    /// follows it. A line that cannot be written is lost: the trace stops no command.
    fn write_line(&mut self, line: &str, now: &str) {
        if self.is_full {
            return;
        }
        if let Some(remaining) = self.remaining_bytes.checked_sub(line.len()) {
            self.remaining_bytes = remaining;
            let _ = self.file.write_all(line.as_bytes());
            return;
        }
        self.is_full = true;
        let reason = "further messages are left out (--max-trace-bytes)";
        let end = json!({ "time": now, "direction": "close", "reason": reason });
        let _ = writeln!(self.file, "{end}");
    }
}

impl Trace {
    /// Creates the file with permissions for its owner only. It holds `max_bytes` at most, and one line
    /// more that says that messages are left out.
    pub(crate) fn create(
        path: &Path,
        max_bytes: usize,
        has_secrets: bool,
        secrets: KnownSecrets,
    ) -> Result<Self, CliError> {
        let failed = |error| CliError::new(format!("cannot write {}: {error}", path.display()));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(failed)?;
        // `mode` applies to new files only.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            if file.metadata().map_err(failed)?.is_file() {
                file.set_permissions(std::fs::Permissions::from_mode(0o600))
                    .map_err(failed)?;
            }
        }
        Ok(Self {
            file: Mutex::new(TraceFile {
                file,
                remaining_bytes: max_bytes,
                is_full: false,
            }),
            has_secrets,
            secrets,
        })
    }

    pub(super) fn on_opened(&self, address: &str) {
        self.write_text("open", "server", address);
    }

    pub(super) fn on_sent(&self, parcel: &OutboundMessage) {
        let headers: serde_json::Map<String, Value> = parcel
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), Value::from(&**value)))
            .collect();
        let headers = (!headers.is_empty()).then(|| Value::Object(headers).to_string());
        self.write_message("send", &parcel.frame, headers);
    }

    pub(super) fn on_received(&self, frame: &Frame) {
        match frame {
            Frame::Message(text) => self.write_message("receive", text, None),
            Frame::TooLong { limit } => {
                self.write_text("receive", "skipped", &format!("over {limit} bytes"));
            }
        }
    }

    pub(super) fn on_lost(&self, why: &LinkError) {
        self.write_text("close", "reason", &why.to_string());
    }

    /// Writes a line that the server's program printed on its standard error.
    pub(crate) fn on_stderr(&self, line: &str) {
        self.write_text("stderr", "text", line);
    }

    /// Writes an HTTP exchange, without the query of its address.
    pub(crate) fn on_exchange(&self, exchange: &HttpExchange) {
        let headers = |pairs: &[(String, String)]| {
            let mut headers: BTreeMap<&str, String> = BTreeMap::new();
            for (name, value) in pairs {
                let known = headers.entry(name).or_default();
                let comma = if known.is_empty() { "" } else { ", " };
                *known += &format!("{comma}{value}");
            }
            json!(headers)
        };
        let mut facts = json!({
            "method": exchange.method,
            "path": url_without_query(&exchange.path),
            "microseconds": exchange.duration_us,
            "request": headers(&exchange.request),
        });
        match &exchange.error {
            Some(error) => facts["error"] = json!(error),
            None => {
                facts["status"] = json!(exchange.status);
                facts["response"] = headers(&exchange.response);
            }
        }
        let facts = Document::new(facts.to_string().into());
        self.write("http", "exchange", facts, None);
    }

    /// Writes a message as it was sent or received, except for its secrets.
    fn write_message(&self, direction: &str, text: &[u8], headers: Option<String>) {
        let message = Document::new(Bytes::copy_from_slice(text));
        match message.fault() {
            None => self.write(direction, "message", message, headers),
            Some(_) => {
                let noise = Value::from(String::from_utf8_lossy(text)).to_string();
                self.write(direction, "noise", Document::new(noise.into()), headers);
            }
        }
    }

    fn write_text(&self, direction: &str, name: &str, text: &str) {
        let text = Value::from(text).to_string();
        self.write(direction, name, Document::new(text.into()), None);
    }

    fn write(&self, direction: &str, name: &str, value: Document, headers: Option<String>) {
        if self.lock().is_full {
            return;
        }
        let secrets = self.secrets.search();
        let shown = |value: Document| {
            let redacted = match self.has_secrets {
                true => None,
                false => redact_json(&value, &secrets),
            };
            let raw = value.root().map(|root| root.raw()).unwrap_or_default();
            String::from_utf8_lossy(redacted.as_deref().unwrap_or(raw)).into_owned()
        };
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now = format!("{}.{:06}", now.as_secs(), now.subsec_micros());
        let mut line = format!(r#"{{"time":"{now}","direction":"{direction}","{name}":"#);
        line += &shown(value);
        if let Some(headers) = headers {
            line += r#","headers":"#;
            line += &shown(Document::new(headers.into()));
        }
        line.push('}');
        let mut text = one_line(&line);
        // A last check of the whole line, member names included.
        if let (false, Some(hidden)) = (self.has_secrets, redact_line(&text, &secrets)) {
            text = hidden;
        }
        text.push('\n');
        self.lock().write_line(&text, &now);
    }

    fn lock(&self) -> MutexGuard<'_, TraceFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

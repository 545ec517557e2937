//! The trace file of `--trace`: one JSON object per message, readable by the user only.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use turnbuckle::session::transport::{Frame, LinkError, OutboundMessage};

use super::KnownSecrets;
use super::redact::{redact, redact_line};
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
        self.write("open", "server", Value::from(address), None);
    }

    pub(super) fn on_sent(&self, parcel: &OutboundMessage) {
        let headers: serde_json::Map<String, Value> = parcel
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), Value::from(&**value)))
            .collect();
        let headers = (!headers.is_empty()).then_some(headers);
        self.message("send", &parcel.frame, headers);
    }

    pub(super) fn on_received(&self, frame: &Frame) {
        match frame {
            Frame::Message(text) => self.message("receive", text, None),
            Frame::TooLong { limit } => {
                self.write(
                    "receive",
                    "skipped",
                    json!(format!("over {limit} bytes")),
                    None,
                );
            }
        }
    }

    pub(super) fn on_lost(&self, why: &LinkError) {
        self.write("close", "reason", Value::from(why.to_string()), None);
    }

    fn message(
        &self,
        direction: &str,
        text: &[u8],
        headers: Option<serde_json::Map<String, Value>>,
    ) {
        match serde_json::from_slice(text) {
            Ok(message) => self.write(direction, "message", message, headers),
            Err(_) => {
                let noise = Value::from(String::from_utf8_lossy(text));
                self.write(direction, "noise", noise, headers);
            }
        }
    }

    fn write(
        &self,
        direction: &str,
        what: &str,
        mut value: Value,
        headers: Option<serde_json::Map<String, Value>>,
    ) {
        if self.lock().is_full {
            return;
        }
        let secrets = self.secrets.search();
        if !self.has_secrets {
            redact(&mut value, &secrets);
        }
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now = format!("{}.{:06}", now.as_secs(), now.subsec_micros());
        let mut line = json!({
            "time": now,
            "direction": direction,
            what: value,
        });
        if let Some(headers) = headers {
            let mut headers = Value::Object(headers);
            if !self.has_secrets {
                redact(&mut headers, &secrets);
            }
            line["headers"] = headers;
        }
        let mut text = one_line(&line.to_string());
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

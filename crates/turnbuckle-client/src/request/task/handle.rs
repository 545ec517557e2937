//! The text form of a task, with which another process goes on.

use std::fmt;
use std::str::FromStr;

use turnbuckle_wire::revision::Revision;

/// The most bytes of a task's id. HTTP headers mirror ids.
pub(crate) const MAX_ID_BYTES: usize = 4096;
/// The most bytes of the text of a handle.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// A task of a server, as data: its id, the tool that was called, and the revision in which it was
/// called.
///
/// The text form is `<revision>/<tool>/<id>`, with `%` escapes, so that a handle can be written to a file
/// and [waited for](crate::Client::task) by another process. It holds no secret but the id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TaskHandle {
    pub(crate) revision: Revision,
    pub(crate) tool: String,
    pub(crate) id: String,
}

/// A text that is no [`TaskHandle`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no handle of a task (<revision>/<tool>/<id>): {0}")]
pub struct InvalidTaskHandle(&'static str);

impl TaskHandle {
    /// Creates the handle of a task whose id is known, for instance from a list. Without the name of the tool
    /// (`""`), the result is not checked against an output schema.
    ///
    /// # Errors
    /// Returns an error if the id is empty or has more than 4,096 bytes.
    pub fn new(
        revision: Revision,
        tool: impl Into<String>,
        id: impl Into<String>,
    ) -> Result<Self, InvalidTaskHandle> {
        let (tool, id) = (tool.into(), id.into());
        match id.len() {
            1..=MAX_ID_BYTES => Ok(Self { revision, tool, id }),
            _ => Err(InvalidTaskHandle("its id is empty or too long")),
        }
    }

    /// Returns the id that the server gave to the task.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the name of the tool that was called.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the revision in which the tool was called.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }
}

impl fmt::Display for TaskHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.revision.as_str())?;
        for part in [&self.tool, &self.id] {
            f.write_str("/")?;
            for byte in part.bytes() {
                match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                        write!(f, "{}", char::from(byte))?;
                    }
                    _ => write!(f, "%{byte:02X}")?,
                }
            }
        }
        Ok(())
    }
}

impl FromStr for TaskHandle {
    type Err = InvalidTaskHandle;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim_ascii();
        if text.len() > MAX_TEXT_BYTES {
            return Err(InvalidTaskHandle("it is too long"));
        }
        let mut parts = text.split('/');
        let (Some(revision), Some(tool), Some(id), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(InvalidTaskHandle("it has not three parts"));
        };
        let revision =
            Revision::parse(revision).ok_or(InvalidTaskHandle("its revision is unknown"))?;
        let decoded = |part| unescape(part).ok_or(InvalidTaskHandle("an escape is malformed"));
        Self::new(revision, decoded(tool)?, decoded(id)?)
    }
}

/// Replaces `%` escapes with their bytes; `None` if one is malformed or the bytes are no text.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        bytes.push(match byte {
            b'%' => {
                let (digits, after) = rest.split_at_checked(2)?;
                rest = after;
                let digits = std::str::from_utf8(digits).ok()?;
                u8::from_str_radix(digits, 16)
                    .ok()
                    .filter(|_| !digits.starts_with('+'))?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle(tool: &str, id: &str) -> TaskHandle {
        TaskHandle {
            revision: Revision::NEWEST,
            tool: tool.into(),
            id: id.into(),
        }
    }

    #[test]
    fn a_handle_is_one_word_of_text_and_comes_back() {
        let plain = handle("render", "786512e2-9e0d").to_string();
        assert_eq!(plain, "2026-07-28/render/786512e2-9e0d");
        for (tool, id) in [("render", "1"), ("a/b c", "é\n\"%2F"), ("", "x/y")] {
            let text = handle(tool, id).to_string();
            assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{text}");
            assert_eq!(text.parse(), Ok(handle(tool, id)));
            assert_eq!(format!(" {text}\n").parse(), Ok(handle(tool, id)));
        }
    }

    #[test]
    fn a_text_that_is_no_handle_is_refused() {
        let (long, longer) = ("x".repeat(MAX_ID_BYTES), "x".repeat(MAX_TEXT_BYTES));
        assert!(handle("t", &long).to_string().parse::<TaskHandle>().is_ok());
        for text in [
            "",
            "render",
            "2026-07-28/render",
            "2026-07-28/render/",
            "2026-07-28/render/1/2",
            "2020-01-01/render/1",
            "2026-07-28/render/%2",
            "2026-07-28/render/%+1",
            "2026-07-28/render/%FF",
            &format!("2026-07-28/render/{long}x"),
            &format!("2026-07-28/render/{longer}"),
        ] {
            assert!(text.parse::<TaskHandle>().is_err(), "{text:.40}");
        }
    }
}

//! A writer of log lines without hidden characters.

use std::io::{self, Write};

use turnbuckle_types::base::text::Foreign;

/// Writes each log line with its hidden characters escaped, line breaks inside of it included. Lines
/// quote peers, also those of other libraries: nobody else's text begins a line or moves a cursor.
pub(super) struct EscapedLines<W>(pub(super) W);

impl<W: Write> Write for EscapedLines<W> {
    /// Writes one line, which the format of the log passes as a whole.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        self.0
            .write_all(format!("{}\n", Foreign::new(text)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, PoisonError};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            lines.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn fields_and_messages_of_any_library_begin_no_line() {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || EscapedLines(writer.clone()))
            .finish();
        let text = "a\nb\r\u{1b}[2J\u{202e}";
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(field = %text, "{text}");
            tracing::warn!("second");
        });
        let written = lines.0.lock().unwrap_or_else(PoisonError::into_inner);
        let written = String::from_utf8_lossy(&written);
        assert_eq!(written.lines().count(), 2, "{written}");
        let hidden = |char: char| char != '\n' && turnbuckle_types::base::text::is_hidden(char);
        assert!(!written.contains(hidden), "{written}");
        assert!(written.contains("a\\nb"), "{written}");
    }
}

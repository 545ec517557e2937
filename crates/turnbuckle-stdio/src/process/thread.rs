//! Threads that read and write standard streams which cannot be polled.
//!
//! Each thread is connected to the server by a bounded in-memory pipe. The threads are never joined:
//! one that is blocked in a call ends with the process.

use std::io::{self, Read, Write};
use std::thread::Builder;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use turnbuckle_types::base::text::Escaped;

/// The bytes that a thread reads or writes at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Starts a thread that reads `source` to its end, and returns the stream of what it reads.
pub(super) fn spawn_reader(mut source: impl Read + Send + 'static) -> io::Result<DuplexStream> {
    let (ours, mut theirs) = duplex(CHUNK_BYTES);
    let runtime = Handle::current();
    Builder::new().name("stdin".into()).spawn(move || {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let read = match source.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => chunk.get(..count).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    tracing::debug!(error = %Escaped(&error), "the input ended with an error");
                    break;
                }
            };
            if runtime.block_on(theirs.write_all(read)).is_err() {
                break;
            }
        }
    })?;
    Ok(ours)
}

/// Starts a thread that writes to `sink` what is written to the returned stream. The receiver gets
/// the outcome once the stream was dropped or writing has failed.
pub(super) fn spawn_writer(
    mut sink: impl Write + Send + 'static,
) -> io::Result<(DuplexStream, oneshot::Receiver<io::Result<()>>)> {
    let (ours, mut theirs) = duplex(CHUNK_BYTES);
    let (done, written) = oneshot::channel();
    let runtime = Handle::current();
    Builder::new().name("stdout".into()).spawn(move || {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut outcome = Ok(());
        while outcome.is_ok()
            && let Ok(count @ 1..) = runtime.block_on(theirs.read(&mut chunk))
        {
            let moved = chunk.get(..count).unwrap_or_default();
            outcome = sink.write_all(moved).and_then(|()| sink.flush());
        }
        // The receiver is gone if the server was dropped.
        let _ = done.send(outcome);
    })?;
    Ok((ours, written))
}

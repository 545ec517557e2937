//! Streams that cannot be polled, read and written by a thread each.
//!
//! The threads are never joined: one that is stuck in a call ends with the process. Each is tied
//! to the server by an in-memory pipe, which bounds what it can hold.

use std::io::{self, Read, Write};
use std::thread::Builder;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Bytes that a thread moves at once.
const CHUNK: usize = 64 << 10;

/// Reads `source` to its end.
pub(super) fn reader(mut source: impl Read + Send + 'static) -> io::Result<DuplexStream> {
    let (ours, mut theirs) = duplex(CHUNK);
    let runtime = Handle::current();
    Builder::new().name("stdin".into()).spawn(move || {
        let mut chunk = vec![0; CHUNK];
        loop {
            let read = match source.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => chunk.get(..count).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    tracing::debug!(%error, "the input ended with an error");
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

/// Writes to `sink`. The receiver tells how that went, once the stream was dropped or broke.
pub(super) fn writer(
    mut sink: impl Write + Send + 'static,
) -> io::Result<(DuplexStream, oneshot::Receiver<io::Result<()>>)> {
    let (ours, mut theirs) = duplex(CHUNK);
    let (done, written) = oneshot::channel();
    let runtime = Handle::current();
    Builder::new().name("stdout".into()).spawn(move || {
        let mut chunk = vec![0; CHUNK];
        let mut outcome = Ok(());
        while outcome.is_ok()
            && let Ok(count @ 1..) = runtime.block_on(theirs.read(&mut chunk))
        {
            let moved = chunk.get(..count).unwrap_or_default();
            outcome = sink.write_all(moved).and_then(|()| sink.flush());
        }
        // Nobody waits if the server was dropped.
        let _ = done.send(outcome);
    })?;
    Ok((ours, written))
}

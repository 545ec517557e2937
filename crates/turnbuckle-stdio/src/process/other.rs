//! Standard streams where only blocking calls are known to work.

use std::io;

use super::{Opened, thread};

/// The standard streams. They stay where they are.
pub(super) struct Streams;

impl Streams {
    pub(super) fn take() -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) fn open(&self) -> io::Result<Opened> {
        let (output, written) = thread::writer(io::stdout())?;
        Ok(Opened {
            input: Box::new(thread::reader(io::stdin())?),
            output: Box::new(output),
            written: Some(written),
        })
    }
}

/// What asks the process to end.
pub(super) struct Endings;

impl Endings {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}

//! The standard streams of a process on other systems than Unix, used by blocking calls.

use std::io;

use super::executor::Executor;
use super::{OpenStreams, thread};

/// The standard streams, which are used where they are.
pub(super) struct StandardStreams;

impl StandardStreams {
    pub(super) fn take() -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) fn open(&self, _: &mut impl Executor) -> io::Result<OpenStreams> {
        let (output, written) = thread::spawn_writer(io::stdout())?;
        Ok(OpenStreams {
            input: Box::new(thread::spawn_reader(io::stdin())?),
            output: Box::new(output),
            written: Some(written),
        })
    }
}

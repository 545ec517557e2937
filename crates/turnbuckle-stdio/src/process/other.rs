//! Standard streams where only blocking calls are known to work.

use std::io;

use tokio::task::JoinSet;
use turnbuckle_session::Signal;

use super::{Opened, thread};

/// The standard streams. They stay where they are.
pub(super) struct Streams;

impl Streams {
    pub(super) fn take() -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) fn open(&self, _: &mut Driver) -> io::Result<Opened> {
        let (output, written) = thread::writer(io::stdout())?;
        Ok(Opened {
            input: Box::new(thread::reader(io::stdin())?),
            output: Box::new(output),
            written: Some(written),
        })
    }
}

/// Starts a server on the runtime.
pub(super) struct Driver;

impl Driver {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Runs `future` as a task of the runtime that this is called in.
    pub(super) fn start<F>(self, future: F) -> io::Result<Running<F::Output>>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let mut task = JoinSet::new();
        task.spawn(future);
        Ok(Running(task))
    }
}

/// What runs. Dropping it gives that up.
pub(super) struct Running<T>(JoinSet<T>);

impl<T: 'static> Running<T> {
    /// Waits for it to end.
    ///
    /// # Errors
    /// When it panicked.
    pub(super) async fn ended(&mut self) -> io::Result<T> {
        match self.0.join_next().await {
            Some(ended) => ended.map_err(io::Error::other),
            None => Err(io::Error::other("the server has ended already")),
        }
    }
}

/// What asks the process to end. Dropping it leaves that to others.
pub(super) struct Endings(#[expect(dead_code, reason = "held")] JoinSet<()>);

impl Endings {
    /// From now on that cancels `stop`.
    pub(super) fn new(_: &mut Driver, stop: &Signal) -> io::Result<Self> {
        let (mut waiting, stop) = (JoinSet::new(), stop.clone());
        waiting.spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                stop.cancel();
            }
        });
        Ok(Self(waiting))
    }
}

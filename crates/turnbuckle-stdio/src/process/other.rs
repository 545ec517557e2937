//! The standard streams of a process on other systems than Unix, used by blocking calls.

use std::io;

use tokio::task::JoinSet;
use turnbuckle_session::handler::Signal;
use turnbuckle_session::internal::ShutdownSignals;

use super::{OpenStreams, thread};

/// The standard streams, which are used where they are.
pub(super) struct StandardStreams;

impl StandardStreams {
    pub(super) fn take() -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) fn open(&self, _: &mut Driver) -> io::Result<OpenStreams> {
        let (output, written) = thread::spawn_writer(io::stdout())?;
        Ok(OpenStreams {
            input: Box::new(thread::spawn_reader(io::stdin())?),
            output: Box::new(output),
            written: Some(written),
        })
    }
}

/// Runs a server as a task of the runtime.
pub(super) struct Driver;

impl Driver {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Starts `future` as a task of the current runtime.
    pub(super) fn start<F>(self, future: F) -> io::Result<RunningServer<F::Output>>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let mut task = JoinSet::new();
        task.spawn(future);
        Ok(RunningServer(task))
    }
}

/// The running server. Dropping it stops the server.
pub(super) struct RunningServer<T>(JoinSet<T>);

impl<T: 'static> RunningServer<T> {
    /// Waits for the server to end, and returns its output.
    ///
    /// # Errors
    /// When the server panicked.
    pub(super) async fn wait_for_end(&mut self) -> io::Result<T> {
        match self.0.join_next().await {
            Some(ended) => ended.map_err(io::Error::other),
            None => Err(io::Error::other("the server has ended already")),
        }
    }
}

/// Catches Ctrl-C, which cancels `stop`, until the returned value is dropped.
pub(super) fn catch_signals(_: &mut Driver, stop: &Signal) -> io::Result<JoinSet<()>> {
    let (mut waiting, stop) = (JoinSet::new(), stop.clone());
    let mut signals = ShutdownSignals::new()?;
    waiting.spawn(async move {
        signals.recv().await;
        stop.cancel();
    });
    Ok(waiting)
}

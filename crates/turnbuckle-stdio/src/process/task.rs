//! The current runtime as the executor of a server.

#[cfg(unix)]
use std::fs::File;
use std::io;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

#[cfg(unix)]
use rustix::fs::{FileType, fstat};
#[cfg(unix)]
use tokio::io::{AsyncRead, AsyncWrite};
#[cfg(unix)]
use tokio::net::{UnixStream, unix::pipe};
use tokio::task::JoinSet;
use turnbuckle_session::handler::Signal;
use turnbuckle_session::internal::ShutdownSignals;

use super::executor::Executor;

/// An executor that runs the server as a task of the current runtime.
pub(super) struct Runtime;

impl Executor for Runtime {
    type Signals = JoinSet<()>;
    type Running<T: Send + 'static> = RunningTask<T>;

    #[cfg(unix)]
    fn input(&mut self, file: File) -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
        Ok(match is_pipe(&file)? {
            true => Box::new(pipe::Receiver::from_file(file)?),
            false => Box::new(socket(file)?),
        })
    }

    #[cfg(unix)]
    fn output(&mut self, file: File) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
        Ok(match is_pipe(&file)? {
            true => Box::new(pipe::Sender::from_file(file)?),
            false => Box::new(socket(file)?),
        })
    }

    fn catch_signals(&mut self, stop: &Signal) -> io::Result<JoinSet<()>> {
        let (mut waiting, stop) = (JoinSet::new(), stop.clone());
        let mut signals = ShutdownSignals::new()?;
        waiting.spawn(async move {
            signals.recv().await;
            stop.cancel();
        });
        Ok(waiting)
    }

    fn start<F>(self, future: F) -> io::Result<RunningTask<F::Output>>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let mut task = JoinSet::new();
        task.spawn(future);
        Ok(RunningTask(task))
    }
}

#[cfg(unix)]
fn is_pipe(file: &File) -> io::Result<bool> {
    Ok(FileType::from_raw_mode(fstat(file)?.st_mode) == FileType::Fifo)
}

/// Returns the stream of a socket, of whatever family.
#[cfg(unix)]
fn socket(file: File) -> io::Result<UnixStream> {
    UnixStream::from_std(OwnedFd::from(file).into())
}

/// The running server. Dropping it stops the server.
pub(super) struct RunningTask<T>(JoinSet<T>);

impl<T: Send + 'static> Future for RunningTask<T> {
    type Output = io::Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        Poll::Ready(match ready!(self.0.poll_join_next(cx)) {
            Some(ended) => ended.map_err(io::Error::other),
            None => Err(io::Error::other("the server has ended already")),
        })
    }
}

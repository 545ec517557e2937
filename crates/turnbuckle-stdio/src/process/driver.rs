//! The thread that runs a server on standard streams that can be polled.
//!
//! A client on standard streams mostly sends one request at a time and waits for its response. The
//! thread that reads the request also answers it, so that no other thread has to be woken. It waits
//! for input, for room in the output and for wake-ups in one call of `poll(2)`. Tasks, timers and
//! handlers that take longer run on the runtime.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Builder;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use turnbuckle_session::handler::Signal;
use turnbuckle_session::internal::SignalHandlers;

use super::executor::Executor;

/// The bytes that are read at once. After a read that filled the buffer more is asked for.
const READ_BYTES: usize = 8 << 10;

/// The bytes that are read at once after a full read: as many as a pipe holds.
const MAX_READ_BYTES: usize = 64 << 10;

/// A thread of its own as the executor of a server.
pub(super) struct Driver {
    wake_pipe: Arc<WakePipe>,
    wake_receiver: UnixStream,
    streams: Vec<Arc<PollableFd>>,
    /// A flag that signal handlers set, and the signal that the thread then cancels.
    stop_request: Option<(Arc<AtomicBool>, Signal)>,
}

impl Driver {
    pub(super) fn new() -> io::Result<Self> {
        let (wake_sender, wake_receiver) = UnixStream::pair()?;
        wake_sender.set_nonblocking(true)?;
        wake_receiver.set_nonblocking(true)?;
        let wake_pipe = WakePipe {
            state: AtomicU8::new(AWAKE),
            is_dropped: AtomicBool::new(false),
            wake_sender,
        };
        Ok(Self {
            wake_pipe: Arc::new(wake_pipe),
            wake_receiver,
            streams: Vec::with_capacity(2),
            stop_request: None,
        })
    }

    fn stream(&mut self, file: File, flags: PollFlags) -> PolledStream {
        let fd = Arc::new(PollableFd {
            file,
            flags,
            waited_for: AtomicBool::new(false),
            ready: AtomicBool::new(true),
        });
        self.streams.push(fd.clone());
        PolledStream {
            fd,
            read_size: READ_BYTES,
            chunk: Vec::new(),
        }
    }

    /// Runs `future` until it is ready or the server was dropped.
    fn drive<F: Future>(self, future: F) -> Option<F::Output> {
        let waker = Waker::from(self.wake_pipe.clone());
        let mut cx = Context::from_waker(&waker);
        let mut poll_fds = Vec::with_capacity(1 + self.streams.len());
        let mut future = pin!(future);
        while !self.wake_pipe.is_dropped.load(Ordering::Acquire) {
            if let Some((requested, stop)) = &self.stop_request
                && requested.swap(false, Ordering::AcqRel)
            {
                stop.cancel();
            }
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return Some(output);
            }
            if self.wake_pipe.may_sleep() {
                self.poll_streams(&mut poll_fds, None);
            } else if self.streams.iter().any(|fd| fd.is_blocked_output()) {
                // A server that is always busy with input must still see room in its output.
                self.poll_streams(&mut poll_fds, Some(&Timespec::default()));
            }
            self.wake_pipe.set_awake();
        }
        None
    }

    /// Waits until a stream that is waited for is ready, the thread is woken or the timeout is over.
    /// May return early.
    fn poll_streams<'fd>(&'fd self, poll_fds: &mut Vec<PollFd<'fd>>, timeout: Option<&Timespec>) {
        poll_fds.clear();
        poll_fds.push(PollFd::new(&self.wake_receiver, PollFlags::IN));
        let waited_for = || self.streams.iter().filter(|fd| fd.is_waited_for());
        poll_fds.extend(waited_for().map(|fd| PollFd::new(&fd.file, fd.flags)));
        if poll(poll_fds, timeout).is_err() {
            return;
        }
        let mut ready = poll_fds.iter().map(|fd| !fd.revents().is_empty());
        if ready.next() == Some(true) {
            // One byte for every wake-up: all of them are handled now.
            let _ = (&self.wake_receiver).read(&mut [0; 64]);
        }
        for (fd, _) in waited_for().zip(ready).filter(|(_, is_ready)| *is_ready) {
            fd.set_ready();
        }
    }
}

impl Executor for Driver {
    type Signals = SignalHandlers;
    type Running<T: Send + 'static> = RunningServer<T>;

    fn input(&mut self, file: File) -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
        Ok(Box::new(self.stream(file, PollFlags::IN)))
    }

    fn output(&mut self, file: File) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
        Ok(Box::new(self.stream(file, PollFlags::OUT)))
    }

    /// Has signal handlers set a flag and write a byte to the wake pipe; the thread cancels `stop`.
    fn catch_signals(&mut self, stop: &Signal) -> io::Result<SignalHandlers> {
        let (requested, _) = self.stop_request.insert((Arc::default(), stop.clone()));
        SignalHandlers::register(&self.wake_pipe.wake_sender, Some(requested))
    }

    /// Starts the thread, which runs `future` inside the current runtime.
    fn start<F>(self, future: F) -> io::Result<RunningServer<F::Output>>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let (done, output) = oneshot::channel();
        let wake_pipe = self.wake_pipe.clone();
        let runtime = Handle::current();
        Builder::new().name("stdio".into()).spawn(move || {
            let _entered = runtime.enter();
            if let Some(output) = self.drive(future) {
                // The receiver is gone if the server was dropped.
                let _ = done.send(output);
            }
        })?;
        Ok(RunningServer { output, wake_pipe })
    }
}

/// The server that runs on the thread. Dropping it stops the server.
pub(super) struct RunningServer<T> {
    output: oneshot::Receiver<T>,
    wake_pipe: Arc<WakePipe>,
}

impl<T> Future for RunningServer<T> {
    type Output = io::Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let panicked = |_| io::Error::other("the thread of the standard streams panicked");
        Pin::new(&mut self.output).poll(cx).map_err(panicked)
    }
}

impl<T> Drop for RunningServer<T> {
    fn drop(&mut self) {
        self.wake_pipe.is_dropped.store(true, Ordering::Release);
        self.wake_pipe.wake_thread();
    }
}

/// The state of a thread that runs the server and was not woken meanwhile.
const AWAKE: u8 = 0;
/// The state of a thread that waits in `poll(2)`, or is about to.
const ASLEEP: u8 = 1;
/// The state of a thread that was woken.
const NOTIFIED: u8 = 2;

/// The waker of the thread: a state, and a pipe that is written to only if the thread sleeps.
struct WakePipe {
    /// One of [`AWAKE`], [`ASLEEP`] and [`NOTIFIED`].
    state: AtomicU8,
    /// True once the server was dropped, so that the thread ends.
    is_dropped: AtomicBool,
    wake_sender: UnixStream,
}

impl WakePipe {
    fn wake_thread(&self) {
        if self.state.swap(NOTIFIED, Ordering::AcqRel) == ASLEEP {
            // The pipe has room: one byte is written for each time that the thread sleeps.
            let _ = (&self.wake_sender).write(&[1]);
        }
    }

    /// Marks the thread as asleep, and returns whether it may sleep: not if it was woken meanwhile.
    fn may_sleep(&self) -> bool {
        let exchange =
            self.state
                .compare_exchange(AWAKE, ASLEEP, Ordering::AcqRel, Ordering::Acquire);
        exchange.is_ok()
    }

    fn set_awake(&self) {
        self.state.swap(AWAKE, Ordering::AcqRel);
    }
}

impl Wake for WakePipe {
    fn wake(self: Arc<Self>) {
        self.wake_thread();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_thread();
    }
}

/// A file descriptor with its readiness. Only the thread uses it.
struct PollableFd {
    file: File,
    /// The direction: input or output.
    flags: PollFlags,
    /// True while the server waits for the stream, so that it is polled.
    waited_for: AtomicBool,
    /// False once an attempt would have blocked, until `poll(2)` reports the stream again.
    ready: AtomicBool,
}

impl PollableFd {
    fn is_waited_for(&self) -> bool {
        self.waited_for.load(Ordering::Relaxed)
    }

    fn is_blocked_output(&self) -> bool {
        self.flags == PollFlags::OUT && self.is_waited_for()
    }

    fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    fn set_ready(&self) {
        self.waited_for.store(false, Ordering::Relaxed);
        self.ready.store(true, Ordering::Relaxed);
    }

    fn clear_ready(&self) {
        self.ready.store(false, Ordering::Relaxed);
    }

    /// Calls `action` unless the stream is known not to be ready. Returns pending if it would block;
    /// then the thread waits for the stream.
    fn attempt<T>(&self, mut action: impl FnMut(&File) -> io::Result<T>) -> Poll<io::Result<T>> {
        while self.is_ready() {
            match action(&self.file) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.clear_ready(),
                done => return Poll::Ready(done),
            }
        }
        self.waited_for.store(true, Ordering::Relaxed);
        Poll::Pending
    }
}

/// A standard stream that is polled by the thread.
struct PolledStream {
    fd: Arc<PollableFd>,
    /// The bytes that the next read asks for.
    read_size: usize,
    /// The buffer for reads, which is zeroed once. The unused part of a caller's buffer would have to
    /// be zeroed for every read.
    chunk: Vec<u8>,
}

impl AsyncRead for PolledStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self {
            fd,
            read_size,
            chunk,
        } = &mut *self;
        let most = buffer.remaining().min(*read_size);
        if chunk.len() < most {
            chunk.resize(most, 0);
        }
        let space = chunk.get_mut(..most).unwrap_or_default();
        let attempt = fd.attempt(|mut file| file.read(space));
        attempt.map_ok(|read| {
            buffer.put_slice(chunk.get(..read).unwrap_or_default());
            if read < most {
                // The stream is empty: another read would only return that it would block.
                fd.clear_ready();
                *read_size = READ_BYTES;
            } else {
                *read_size = MAX_READ_BYTES;
            }
        })
    }
}

impl AsyncWrite for PolledStream {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.fd.attempt(|mut file| file.write(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn};
    use std::io::{PipeReader, PipeWriter, pipe};
    use std::os::fd::OwnedFd;
    use std::time::{Duration, Instant};

    use rustix::fs::{OFlags, fcntl_setfl};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn file(end: impl Into<OwnedFd>) -> File {
        let end = end.into();
        fcntl_setfl(&end, OFlags::NONBLOCK).unwrap();
        File::from(end)
    }

    fn reader() -> (Driver, PolledStream, PipeWriter) {
        let (reader, writer) = pipe().unwrap();
        let mut driver = Driver::new().unwrap();
        let input = driver.stream(file(reader), PollFlags::IN);
        (driver, input, writer)
    }

    fn writer() -> (Driver, PolledStream, PipeReader) {
        let (reader, writer) = pipe().unwrap();
        let mut driver = Driver::new().unwrap();
        let output = driver.stream(file(writer), PollFlags::OUT);
        (driver, output, reader)
    }

    #[tokio::test]
    async fn input_and_its_end_wake_the_thread() {
        let (driver, mut input, mut writer) = reader();
        let running = driver
            .start(async move {
                let mut first = [0; 2];
                input.read_exact(&mut first).await.unwrap();
                let mut rest = Vec::new();
                input.read_to_end(&mut rest).await.unwrap();
                (first, rest)
            })
            .unwrap();
        let long = vec![b'x'; 3 * MAX_READ_BYTES];
        writer.write_all(b"ab").unwrap();
        writer.write_all(&long).unwrap();
        drop(writer);
        assert_eq!(running.await.unwrap(), (*b"ab", long));
    }

    #[tokio::test]
    async fn room_in_the_output_wakes_the_thread() {
        let (driver, mut output, mut reader) = writer();
        let long: Vec<u8> = (0..=u8::MAX).cycle().take(5 * MAX_READ_BYTES + 7).collect();
        let sent = long.clone();
        let running = driver
            .start(async move { output.write_all(&sent).await.is_ok() })
            .unwrap();
        let mut came = Vec::new();
        reader.read_to_end(&mut came).unwrap();
        assert!(running.await.unwrap());
        assert!(came == long, "{} of {} bytes", came.len(), long.len());
    }

    #[tokio::test]
    async fn a_future_that_is_always_woken_sees_room_in_the_output() {
        let (driver, mut output, mut reader) = writer();
        let long = vec![b'x'; 5 * MAX_READ_BYTES];
        let (sent, until) = (long.clone(), Instant::now() + Duration::from_secs(10));
        let running = driver
            .start(async move {
                let mut written = pin!(output.write_all(&sent));
                poll_fn(|cx| {
                    cx.waker().wake_by_ref();
                    match written.as_mut().poll(cx) {
                        Poll::Pending if Instant::now() > until => Poll::Ready(false),
                        polled => polled.map(|written| written.is_ok()),
                    }
                })
                .await
            })
            .unwrap();
        let mut came = Vec::new();
        reader.read_to_end(&mut came).unwrap();
        assert!(running.await.unwrap());
        assert!(came == long, "{} of {} bytes", came.len(), long.len());
    }

    #[tokio::test]
    async fn wake_ups_by_tasks_are_not_lost() {
        let (driver, mut input, mut writer) = reader();
        let (sender, mut receiver) = tokio::sync::mpsc::channel::<u32>(1);
        let running = driver
            .start(async move {
                let mut sum = 0;
                while let Some(number) = receiver.recv().await {
                    sum += number;
                }
                (sum, input.read_u8().await.unwrap())
            })
            .unwrap();
        for number in 0..1_000 {
            sender.send(number).await.unwrap();
        }
        drop(sender);
        writer.write_all(b"!").unwrap();
        assert_eq!(running.await.unwrap(), (499_500, b'!'));
    }

    #[tokio::test]
    async fn a_dropped_server_is_stopped() {
        let (held, mut dropped) = oneshot::channel::<()>();
        let running = Driver::new().unwrap().start(async move {
            let _held = held;
            pending::<()>().await;
        });
        assert!(dropped.try_recv().is_err());
        drop(running.unwrap());
        assert!(dropped.await.is_err());
    }

    #[tokio::test]
    async fn a_panic_is_an_error() {
        let running = Driver::new()
            .unwrap()
            .start(async { std::panic::resume_unwind(Box::new("quietly")) })
            .unwrap();
        assert!(running.await.is_err());
    }
}

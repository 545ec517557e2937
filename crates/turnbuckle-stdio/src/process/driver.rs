//! A thread of its own for a server whose streams can be polled.
//!
//! A client on standard streams mostly asks one thing at a time and waits. The thread that reads
//! the question also answers it, and nobody else is woken for it: the input, room in the output and
//! everything that a server waits for otherwise are one call of poll(2). Tasks, timers and handlers
//! that take longer run on the runtime.

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
use turnbuckle_session::Signal;

/// Bytes that are read at once. More is asked for after a read that was full.
const USUAL: usize = 8 << 10;

/// Bytes that are read at once where there was more than usual. A pipe holds so many.
const MOST: usize = 64 << 10;

/// A thread that is still to be started.
pub(super) struct Driver {
    bell: Arc<Bell>,
    rung: UnixStream,
    gates: Vec<Arc<Gate>>,
    /// Whether the process was asked to end, and what is cancelled then.
    ending: Option<(Arc<AtomicBool>, Signal)>,
}

impl Driver {
    pub(super) fn new() -> io::Result<Self> {
        let (rope, rung) = UnixStream::pair()?;
        rope.set_nonblocking(true)?;
        rung.set_nonblocking(true)?;
        let bell = Bell {
            state: AtomicU8::new(AWAKE),
            given_up: AtomicBool::new(false),
            rope,
        };
        Ok(Self {
            bell: Arc::new(bell),
            rung,
            gates: Vec::with_capacity(2),
            ending: None,
        })
    }

    /// What is set, before the rope is pulled, for the thread to cancel `stop`.
    pub(super) fn stops(&mut self, stop: Signal) -> Arc<AtomicBool> {
        let (asked, _) = self.ending.insert((Arc::default(), stop));
        asked.clone()
    }

    /// Where a byte rings the bell.
    pub(super) fn rope(&self) -> io::Result<UnixStream> {
        self.bell.rope.try_clone()
    }

    /// `file`, which does not block, to be read by what the thread runs.
    pub(super) fn input(&mut self, file: File) -> Polled {
        self.stream(file, PollFlags::IN)
    }

    /// `file`, which does not block, to be written by what the thread runs.
    pub(super) fn output(&mut self, file: File) -> Polled {
        self.stream(file, PollFlags::OUT)
    }

    fn stream(&mut self, file: File, flags: PollFlags) -> Polled {
        let gate = Arc::new(Gate {
            file,
            flags,
            wanted: AtomicBool::new(false),
            ready: AtomicBool::new(true),
        });
        self.gates.push(gate.clone());
        Polled {
            gate,
            room: USUAL,
            piece: Vec::new(),
        }
    }

    /// Runs `future` on the thread, in the runtime that this is called in.
    pub(super) fn start<F>(self, future: F) -> io::Result<Running<F::Output>>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let (done, output) = oneshot::channel();
        let bell = self.bell.clone();
        let runtime = Handle::current();
        Builder::new().name("stdio".into()).spawn(move || {
            let _entered = runtime.enter();
            if let Some(output) = self.drive(future) {
                // Nobody waits if it was given up.
                let _ = done.send(output);
            }
        })?;
        Ok(Running { output, bell })
    }

    fn drive<F: Future>(self, future: F) -> Option<F::Output> {
        let waker = Waker::from(self.bell.clone());
        let mut cx = Context::from_waker(&waker);
        let mut watched = Vec::with_capacity(1 + self.gates.len());
        let mut future = pin!(future);
        while !self.bell.given_up.load(Ordering::Acquire) {
            if let Some((asked, stop)) = &self.ending
                && asked.swap(false, Ordering::AcqRel)
            {
                stop.cancel();
            }
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return Some(output);
            }
            if self.bell.may_sleep() {
                self.look(&mut watched, None);
            } else if self.gates.iter().any(|gate| gate.is_blocked_output()) {
                // Input without end must not hide that there is room again.
                self.look(&mut watched, Some(&Timespec::default()));
            }
            self.bell.awake();
        }
        None
    }

    /// Returns when a stream that is wanted is ready, when the bell is rung or the time is over, and
    /// sometimes early.
    fn look<'fd>(&'fd self, watched: &mut Vec<PollFd<'fd>>, time: Option<&Timespec>) {
        watched.clear();
        watched.push(PollFd::new(&self.rung, PollFlags::IN));
        let wanted = || self.gates.iter().filter(|gate| gate.is_wanted());
        watched.extend(wanted().map(|gate| PollFd::new(&gate.file, gate.flags)));
        if poll(watched, time).is_err() {
            return;
        }
        let mut happened = watched.iter().map(|fd| !fd.revents().is_empty());
        if happened.next() == Some(true) {
            // One ring or more: it was heard.
            let _ = (&self.rung).read(&mut [0; 64]);
        }
        for (gate, _) in wanted().zip(happened).filter(|(_, happened)| *happened) {
            gate.open();
        }
    }
}

/// What runs on the thread. Dropping it gives that up.
pub(super) struct Running<T> {
    output: oneshot::Receiver<T>,
    bell: Arc<Bell>,
}

impl<T> Running<T> {
    /// Waits for it to end.
    ///
    /// # Errors
    /// When it panicked.
    pub(super) async fn ended(&mut self) -> io::Result<T> {
        let output = (&mut self.output).await;
        output.map_err(|_| io::Error::other("the thread of the standard streams panicked"))
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        self.bell.given_up.store(true, Ordering::Release);
        self.bell.ring();
    }
}

/// The thread runs what it has to run; nobody called meanwhile.
const AWAKE: u8 = 0;
/// It waits, or is about to.
const ASLEEP: u8 = 1;
/// Somebody called.
const CALLED: u8 = 2;

/// Wakes the thread.
struct Bell {
    state: AtomicU8,
    given_up: AtomicBool,
    rope: UnixStream,
}

impl Bell {
    fn ring(&self) {
        if self.state.swap(CALLED, Ordering::AcqRel) == ASLEEP {
            // It cannot be full of rings that nobody heard.
            let _ = (&self.rope).write(&[1]);
        }
    }

    fn may_sleep(&self) -> bool {
        let exchange =
            self.state
                .compare_exchange(AWAKE, ASLEEP, Ordering::AcqRel, Ordering::Acquire);
        exchange.is_ok()
    }

    fn awake(&self) {
        self.state.swap(AWAKE, Ordering::AcqRel);
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

/// A stream, and what its user and the thread tell each other about it. Both are the same thread.
struct Gate {
    file: File,
    flags: PollFlags,
    wanted: AtomicBool,
    ready: AtomicBool,
}

impl Gate {
    fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    fn is_blocked_output(&self) -> bool {
        self.flags == PollFlags::OUT && self.is_wanted()
    }

    fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    fn open(&self) {
        self.wanted.store(false, Ordering::Relaxed);
        self.ready.store(true, Ordering::Relaxed);
    }

    fn close(&self) {
        self.ready.store(false, Ordering::Relaxed);
    }

    /// Tries until that worked or would block; then it is tried again when the stream is ready.
    fn attempt<T>(&self, mut action: impl FnMut(&File) -> io::Result<T>) -> Poll<io::Result<T>> {
        while self.is_ready() {
            match action(&self.file) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.close(),
                done => return Poll::Ready(done),
            }
        }
        self.wanted.store(true, Ordering::Relaxed);
        Poll::Pending
    }
}

/// One of the standard streams.
pub(super) struct Polled {
    gate: Arc<Gate>,
    /// Bytes that are asked for next.
    room: usize,
    /// Where they are read to: a buffer that is given would have to be cleared for every read, as
    /// far as it may be filled.
    piece: Vec<u8>,
}

impl AsyncRead for Polled {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { gate, room, piece } = &mut *self;
        let most = buffer.remaining().min(*room);
        if piece.len() < most {
            piece.resize(most, 0);
        }
        let space = piece.get_mut(..most).unwrap_or_default();
        let attempt = gate.attempt(|mut file| file.read(space));
        attempt.map_ok(|read| {
            buffer.put_slice(piece.get(..read).unwrap_or_default());
            if read < most {
                // That was all: the next read would only say so.
                gate.close();
                *room = USUAL;
            } else {
                *room = MOST;
            }
        })
    }
}

impl AsyncWrite for Polled {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.gate.attempt(|mut file| file.write(bytes))
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

    fn reading() -> (Driver, Polled, PipeWriter) {
        let (reader, writer) = pipe().unwrap();
        let mut driver = Driver::new().unwrap();
        let input = driver.input(file(reader));
        (driver, input, writer)
    }

    fn writing() -> (Driver, Polled, PipeReader) {
        let (reader, writer) = pipe().unwrap();
        let mut driver = Driver::new().unwrap();
        let output = driver.output(file(writer));
        (driver, output, reader)
    }

    #[tokio::test]
    async fn it_is_woken_by_what_comes_in_and_by_its_end() {
        let (driver, mut input, mut writer) = reading();
        let mut running = driver
            .start(async move {
                let mut first = [0; 2];
                input.read_exact(&mut first).await.unwrap();
                let mut rest = Vec::new();
                input.read_to_end(&mut rest).await.unwrap();
                (first, rest)
            })
            .unwrap();
        let long = vec![b'x'; 3 * MOST];
        writer.write_all(b"ab").unwrap();
        writer.write_all(&long).unwrap();
        drop(writer);
        assert_eq!(running.ended().await.unwrap(), (*b"ab", long));
    }

    #[tokio::test]
    async fn it_is_woken_by_room_in_the_output() {
        let (driver, mut output, mut reader) = writing();
        let long: Vec<u8> = (0..=u8::MAX).cycle().take(5 * MOST + 7).collect();
        let sent = long.clone();
        let mut running = driver
            .start(async move { output.write_all(&sent).await.is_ok() })
            .unwrap();
        let mut came = Vec::new();
        reader.read_to_end(&mut came).unwrap();
        assert!(running.ended().await.unwrap());
        assert!(came == long, "{} of {} bytes", came.len(), long.len());
    }

    #[tokio::test]
    async fn who_never_rests_sees_room_in_the_output() {
        let (driver, mut output, mut reader) = writing();
        let long = vec![b'x'; 5 * MOST];
        let (sent, until) = (long.clone(), Instant::now() + Duration::from_secs(10));
        let mut running = driver
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
        assert!(running.ended().await.unwrap());
        assert!(came == long, "{} of {} bytes", came.len(), long.len());
    }

    #[tokio::test]
    async fn it_is_woken_by_tasks_as_often_as_they_call() {
        let (driver, mut input, mut writer) = reading();
        let (ask, mut asked) = tokio::sync::mpsc::channel::<u32>(1);
        let mut running = driver
            .start(async move {
                let mut sum = 0;
                while let Some(number) = asked.recv().await {
                    sum += number;
                }
                (sum, input.read_u8().await.unwrap())
            })
            .unwrap();
        for number in 0..1_000 {
            ask.send(number).await.unwrap();
        }
        drop(ask);
        writer.write_all(b"!").unwrap();
        assert_eq!(running.ended().await.unwrap(), (499_500, b'!'));
    }

    #[tokio::test]
    async fn what_is_given_up_is_dropped() {
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
        let mut running = Driver::new()
            .unwrap()
            .start(async { std::panic::resume_unwind(Box::new("quietly")) })
            .unwrap();
        assert!(running.ended().await.is_err());
    }
}

//! The standard streams of a Unix process, and the signals that end it.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, OFlags, Stat, fcntl_getfl, fcntl_setfl, fstat};
use rustix::stdio::{dup2_stdin, dup2_stdout};

use super::executor::Executor;
use super::{OpenStreams, thread};

/// The standard streams of the process, taken over. Dropping it puts them back.
pub(super) struct StandardStreams {
    input: StandardStream,
    output: StandardStream,
}

impl StandardStreams {
    /// Takes over the streams: other code of the process reads nothing from standard input, and
    /// what it prints to standard output goes to standard error.
    pub(super) fn take() -> io::Result<Self> {
        let stderr = fstat(io::stderr()).ok();
        let streams = Self {
            input: StandardStream::duplicate(io::stdin().as_fd(), stderr.as_ref())?,
            output: StandardStream::duplicate(io::stdout().as_fd(), stderr.as_ref())?,
        };
        let nothing = File::options().read(true).write(true).open("/dev/null")?;
        if streams.output.is_stderr && !streams.output.is_device {
            dup2_stdout(&nothing)?;
        } else {
            dup2_stdout(io::stderr())?;
        }
        dup2_stdin(&nothing)?;
        Ok(streams)
    }

    /// Opens both streams for a server, each in the way that its kind allows.
    pub(super) fn open(&self, executor: &mut impl Executor) -> io::Result<OpenStreams> {
        let mut written = None;
        Ok(OpenStreams {
            input: match self.input.kind {
                StreamKind::Polled => executor.input(self.input.open_non_blocking()?)?,
                StreamKind::Other => Box::new(thread::spawn_reader(self.input.open_blocking()?)?),
            },
            output: match self.output.kind {
                StreamKind::Polled => executor.output(self.output.open_non_blocking()?)?,
                StreamKind::Other => {
                    let (output, done) = thread::spawn_writer(self.output.open_blocking()?)?;
                    written = Some(done);
                    Box::new(output)
                }
            },
            written,
        })
    }
}

impl Drop for StandardStreams {
    fn drop(&mut self) {
        // Text that a handler has printed without a newline must not reach the client later.
        let _ = io::stdout().flush();
        let _ = dup2_stdin(&self.input.fd);
        let _ = dup2_stdout(&self.output.fd);
        self.input.restore();
        self.output.restore();
    }
}

/// The way in which a standard stream can be used.
enum StreamKind {
    /// Non-blocking calls and polling: pipes and sockets.
    Polled,
    /// Blocking calls only: files and terminals, and what is shared with standard error, where a log
    /// line must not fail because it would block.
    Other,
}

/// A duplicate of a standard stream that child processes do not inherit.
struct StandardStream {
    fd: OwnedFd,
    kind: StreamKind,
    is_device: bool,
    is_stderr: bool,
    /// The status flags before the stream was used. Everybody who has the file open shares them, so
    /// they are read before either stream is opened.
    flags: OFlags,
}

impl StandardStream {
    fn duplicate(original: BorrowedFd<'_>, stderr: Option<&Stat>) -> io::Result<Self> {
        let fd = original.try_clone_to_owned()?;
        let stat = fstat(&fd)?;
        let file_type = FileType::from_raw_mode(stat.st_mode);
        let is_stderr =
            stderr.is_some_and(|other| (stat.st_dev, stat.st_ino) == (other.st_dev, other.st_ino));
        let kind = match file_type {
            FileType::Fifo | FileType::Socket if !is_stderr => StreamKind::Polled,
            _ => StreamKind::Other,
        };
        let is_device = file_type == FileType::CharacterDevice;
        let flags = fcntl_getfl(&fd)?;
        Ok(Self {
            fd,
            kind,
            is_device,
            is_stderr,
            flags,
        })
    }

    /// Returns another duplicate, and makes the file non-blocking.
    fn open_non_blocking(&self) -> io::Result<File> {
        fcntl_setfl(&self.fd, self.flags.union(OFlags::NONBLOCK))?;
        self.fd.try_clone().map(File::from)
    }

    /// Returns another duplicate, and makes the file blocking.
    fn open_blocking(&self) -> io::Result<File> {
        if self.flags.contains(OFlags::NONBLOCK) {
            fcntl_setfl(&self.fd, self.flags.difference(OFlags::NONBLOCK))?;
        }
        self.fd.try_clone().map(File::from)
    }

    fn restore(&self) {
        let _ = fcntl_setfl(&self.fd, self.flags);
    }
}

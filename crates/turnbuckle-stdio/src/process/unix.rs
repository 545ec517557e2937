//! Standard streams as file descriptors.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, OFlags, Stat, fcntl_getfl, fcntl_setfl, fstat};
use rustix::stdio::{dup2_stdin, dup2_stdout};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level};
use turnbuckle_session::Signal;

pub(super) use super::driver::Driver;
use super::{Opened, thread};

/// The standard streams. Dropping it puts them back.
pub(super) struct Streams {
    input: Stream,
    output: Stream,
}

impl Streams {
    /// Moves the streams out of the reach of everything else in the process.
    pub(super) fn take() -> io::Result<Self> {
        let stderr = fstat(io::stderr()).ok();
        let streams = Self {
            input: Stream::duplicate(io::stdin().as_fd(), stderr.as_ref())?,
            output: Stream::duplicate(io::stdout().as_fd(), stderr.as_ref())?,
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

    /// Opens them, each in the way that its kind allows.
    pub(super) fn open(&self, driver: &mut Driver) -> io::Result<Opened> {
        let mut written = None;
        Ok(Opened {
            input: match self.input.kind {
                Kind::Polled => Box::new(driver.input(self.input.polled()?)),
                Kind::Other => Box::new(thread::reader(self.input.blocking()?)?),
            },
            output: match self.output.kind {
                Kind::Polled => Box::new(driver.output(self.output.polled()?)),
                Kind::Other => {
                    let (output, done) = thread::writer(self.output.blocking()?)?;
                    written = Some(done);
                    Box::new(output)
                }
            },
            written,
        })
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        // What a handler began to print must not come out later, when this is the wire again.
        let _ = io::stdout().flush();
        let _ = dup2_stdin(&self.input.fd);
        let _ = dup2_stdout(&self.output.fd);
        self.input.restore();
        self.output.restore();
    }
}

/// How a stream can be used.
enum Kind {
    /// Without blocking: pipes and sockets.
    Polled,
    /// By blocking calls only: files and terminals, and whatever standard error shares, since a
    /// log line must not fail for want of room.
    Other,
}

/// A duplicate of a standard stream, which no child process inherits.
struct Stream {
    fd: OwnedFd,
    kind: Kind,
    is_device: bool,
    is_stderr: bool,
    /// Its mode before it was used. All who have the file open share it, so this is read before
    /// either stream is opened.
    flags: OFlags,
}

impl Stream {
    fn duplicate(original: BorrowedFd<'_>, stderr: Option<&Stat>) -> io::Result<Self> {
        let fd = original.try_clone_to_owned()?;
        let stat = fstat(&fd)?;
        let file_type = FileType::from_raw_mode(stat.st_mode);
        let is_stderr =
            stderr.is_some_and(|other| (stat.st_dev, stat.st_ino) == (other.st_dev, other.st_ino));
        let kind = match file_type {
            FileType::Fifo | FileType::Socket if !is_stderr => Kind::Polled,
            _ => Kind::Other,
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

    /// Another duplicate, which does not block.
    fn polled(&self) -> io::Result<File> {
        fcntl_setfl(&self.fd, self.flags.union(OFlags::NONBLOCK))?;
        self.fd.try_clone().map(File::from)
    }

    /// Another duplicate, to be used by blocking calls, whatever its mode was.
    fn blocking(&self) -> io::Result<File> {
        if self.flags.contains(OFlags::NONBLOCK) {
            fcntl_setfl(&self.fd, self.flags.difference(OFlags::NONBLOCK))?;
        }
        self.fd.try_clone().map(File::from)
    }

    fn restore(&self) {
        let _ = fcntl_setfl(&self.fd, self.flags);
    }
}

/// What asks the process to end: SIGTERM and SIGINT. They stay caught when it is dropped.
pub(super) struct Endings(Vec<SigId>);

impl Endings {
    /// From now on either of them cancels `stop`, which is what the driver's thread does then.
    pub(super) fn new(driver: &mut Driver, stop: &Signal) -> io::Result<Self> {
        let mut caught = Self(Vec::with_capacity(4));
        let asked = driver.stops(stop.clone());
        for signal in [SIGTERM, SIGINT] {
            caught.0.push(flag::register(signal, asked.clone())?);
            // In this order: whoever hears the bell sees that it was asked.
            let pulled = low_level::pipe::register(signal, driver.rope()?)?;
            caught.0.push(pulled);
        }
        Ok(caught)
    }
}

impl Drop for Endings {
    fn drop(&mut self) {
        for id in self.0.drain(..) {
            low_level::unregister(id);
        }
    }
}

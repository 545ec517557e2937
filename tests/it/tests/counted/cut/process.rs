//! The server's process: it serves on its standard streams until one of them is cut.

use std::fs::File;
use std::io::{Read, Write, stdin, stdout};
use std::time::Duration;
use std::{env, fmt, process, thread};

use rustix::stdio::{dup2_stdin, dup2_stdout};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
use tokio::runtime::Builder;
use tokio::time::sleep;
use turnbuckle_it::wires::Toward;
use turnbuckle_server::{HandlerContext, Server, Tool};
use turnbuckle_stdio::{Command, StdioOptions, serve_stream};

/// The variable by which this executable knows that it is the server, and how its streams end.
const CUT: &str = "TURNBUCKLE_CUT";

/// The status with which it exits of its own accord.
pub(super) const STATUS: i32 = 3;

/// End of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The stream is closed, and the process keeps running.
    Closed,
    /// The stream stays open, but carries nothing any more.
    Stuck,
    /// The process exits.
    Exit,
}

pub(super) const ENDS: [End; 3] = [End::Closed, End::Stuck, End::Exit];

/// Cut of a stream: the stream, its end, and the number of bytes before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) toward: Toward,
    pub(super) end: End,
    pub(super) at: usize,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?} {}", self.toward, self.end, self.at)
    }
}

impl Cut {
    fn read(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let mut word = || words.next();
        let toward = word()?;
        let end = word()?;
        let named = |it: &dyn fmt::Debug, name| format!("{it:?}") == name;
        Some(Self {
            toward: [Toward::Server, Toward::Client]
                .into_iter()
                .find(|it| named(it, toward))?,
            end: ENDS.into_iter().find(|it| named(it, end))?,
            at: word()?.parse().ok()?,
        })
    }

    /// Returns a command that runs this executable as the server's process, with [`the_process`] as
    /// its only test.
    pub(super) fn process(self) -> Command {
        Command::new(env::current_exe().expect("a path of its own"))
            .args(["cut::process::the_process", "--exact", "--ignored"])
            .args(["--quiet", "--nocapture"])
            .env(CUT, self.to_string())
    }

    /// Hands bytes on in that direction, until they end or are cut. What is cut stays so.
    fn relay(
        self,
        toward: Toward,
        mut read: impl FnMut(&mut [u8]) -> usize,
        mut write: impl FnMut(&[u8]) -> bool,
    ) {
        let mut left = if self.toward == toward {
            self.at
        } else {
            usize::MAX
        };
        let mut piece = [0; 4096];
        loop {
            if left == 0 {
                self.befall();
            }
            let room = piece.len().min(left);
            let count = read(&mut piece[..room]);
            if count == 0 || !write(&piece[..count]) {
                return;
            }
            left -= count;
        }
    }

    fn befall(self) -> ! {
        let nowhere = File::options().read(true).write(true).open("/dev/null");
        let nowhere = nowhere.expect("there is a /dev/null");
        match (self.end, self.toward) {
            (End::Exit, _) => process::exit(STATUS),
            (End::Stuck, _) => {}
            (End::Closed, Toward::Server) => dup2_stdin(&nowhere).expect("an input"),
            (End::Closed, Toward::Client) => dup2_stdout(&nowhere).expect("an output"),
        }
        loop {
            thread::park();
        }
    }
}

/// Creates a server with a tool that answers at once and one that takes a moment.
pub(super) fn server() -> Server {
    let later = async |(): (), _: HandlerContext| {
        sleep(Duration::from_millis(20)).await;
        "later"
    };
    Server::new("cut", "1.0.0")
        .tool(Tool::builder("now").handler(async |(): (), _: HandlerContext| "now"))
        .tool(Tool::builder("later").handler(later))
        .build()
        .expect("a server")
}

/// Serves until its input ends. The test harness has written some lines before that are no
/// messages, which clients pass over.
#[test]
#[ignore = "it is the server's process that the other test starts"]
fn the_process() {
    if let Ok(cut) = env::var(CUT) {
        serve(Cut::read(&cut).expect("a cut"));
    }
}

fn serve(cut: Cut) {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let (own, other) = duplex(64 << 10);
    let (reader, writer) = split(own);
    let (mut said, mut heard) = split(other);
    let there = runtime.handle().clone();
    thread::spawn(move || {
        let mut input = stdin().lock();
        cut.relay(
            Toward::Server,
            |piece| input.read(piece).unwrap_or_default(),
            |piece| there.block_on(heard.write_all(piece)).is_ok(),
        );
        let _ = there.block_on(heard.shutdown());
    });
    let back = runtime.handle().clone();
    let output = thread::spawn(move || {
        let mut output = stdout().lock();
        cut.relay(
            Toward::Client,
            |piece| back.block_on(said.read(piece)).unwrap_or_default(),
            |piece| {
                output
                    .write_all(piece)
                    .and_then(|()| output.flush())
                    .is_ok()
            },
        );
    });
    let options = StdioOptions::new();
    runtime.block_on(serve_stream(server(), reader, writer, options));
    output.join().expect("no panic");
}

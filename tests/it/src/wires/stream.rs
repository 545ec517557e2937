//! Bytes on their way.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex, split};

use super::connections::Wires;
use super::{Harm, Rng, Toward};

/// For how long a direction makes others wait, all in all.
const PATIENCE: Duration = Duration::from_secs(4);

/// Kind of data that a stream carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carries {
    /// A message per line.
    Lines,
    /// Anything.
    Bytes,
}

/// A connection was cut off.
struct Cut;

impl Wires {
    /// Creates a stream: the client's end, the server's end, and its number.
    pub(super) fn stream(&self, carries: Carries) -> (DuplexStream, DuplexStream, usize) {
        let wire = self.trace.open();
        let (client, near) = duplex(self.script.window);
        let (far, server) = duplex(self.script.window);
        let (from_client, to_client) = split(near);
        let (from_server, to_server) = split(far);
        let there = Lane::new(self, wire, Toward::Server, carries);
        let back = Lane::new(self, wire, Toward::Client, carries);
        tokio::spawn(async move {
            // What is cut is cut both ways.
            let _ = tokio::try_join!(
                there.run(from_client, to_server),
                back.run(from_server, to_client)
            );
        });
        (client, server, wire)
    }
}

/// Positions and lengths of the pauses in a direction.
pub(super) struct Stalls {
    rng: Rng,
    left: Duration,
}

impl Stalls {
    pub(super) fn new(wires: &Wires, wire: usize, toward: Toward) -> Self {
        Self {
            rng: Rng::new(wires.script.seed, &format!("{wire} {toward:?}")),
            left: PATIENCE,
        }
    }

    /// Waits, now and then.
    pub(super) async fn pass(&mut self, wires: &Wires) {
        let script = &wires.script;
        if script.stall == 0 || self.left.is_zero() || self.rng.below(script.stall) != 0 {
            return;
        }
        let longest = u64::try_from(script.delay.as_millis()).unwrap_or_default();
        let time = Duration::from_millis(self.rng.below(longest + 1)).min(self.left);
        self.left -= time;
        tokio::time::sleep(time).await;
    }
}

/// One direction of a stream.
struct Lane {
    wires: Wires,
    wire: usize,
    toward: Toward,
    carries: Carries,
    stalls: Stalls,
    /// Bytes that arrived, and lines that were sent.
    arrived: usize,
    line: usize,
    /// The line that comes twice.
    kept: Vec<u8>,
}

impl Lane {
    fn new(wires: &Wires, wire: usize, toward: Toward, carries: Carries) -> Self {
        Self {
            stalls: Stalls::new(wires, wire, toward),
            wires: wires.clone(),
            wire,
            toward,
            carries,
            arrived: 0,
            line: 0,
            kept: Vec::new(),
        }
    }

    async fn run(
        mut self,
        mut from: ReadHalf<DuplexStream>,
        mut to: WriteHalf<DuplexStream>,
    ) -> Result<(), Cut> {
        let mut piece = vec![0; self.wires.script.piece];
        let end = self.end();
        let mut has_reader = true;
        loop {
            let wires = self.wires.clone();
            self.stalls.pass(&wires).await;
            let read = from.read(&mut piece).await.unwrap_or_default();
            let sent = piece.get(..read).unwrap_or_default();
            if sent.is_empty() {
                let _ = to.shutdown().await;
                return Ok(());
            }
            wires.trace.pass(self.wire, self.toward, sent);
            let mut arriving = match self.carries {
                Carries::Lines => self.lines(sent),
                Carries::Bytes => sent.to_vec(),
            };
            arriving.truncate(end.saturating_sub(self.arrived));
            self.arrived += arriving.len();
            // Whoever left hears no more, and what is sent is still taken.
            has_reader = has_reader && to.write_all(&arriving).await.is_ok();
            if self.arrived >= end {
                return Err(Cut);
            }
        }
    }

    /// Returns the number of bytes after which the stream is cut.
    fn end(&self) -> usize {
        let cuts = self
            .wires
            .script
            .harms
            .iter()
            .filter_map(|harm| match harm {
                Harm::Cut(wire, toward, at) if (*wire, *toward) == (self.wire, self.toward) => {
                    Some(*at)
                }
                _ => None,
            });
        cuts.min().unwrap_or(usize::MAX)
    }

    /// Returns the bytes that arrive of those sent, where lines are lost or arrive twice.
    fn lines(&mut self, sent: &[u8]) -> Vec<u8> {
        let mut arriving = Vec::with_capacity(sent.len());
        for byte in sent {
            let at = (self.wire, self.toward, self.line);
            let (lost, twice) = self.wires.script.of_frame(at);
            if !lost {
                arriving.push(*byte);
            }
            if twice {
                self.kept.push(*byte);
            }
            if *byte == b'\n' {
                self.line += 1;
                arriving.append(&mut self.kept);
            }
        }
        arriving
    }
}

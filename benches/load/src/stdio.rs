//! Calls over the server's pipes: one at a time, or always so many in flight; and starts.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use memchr::{memchr_iter, memmem};

use crate::message::{Call, ECHOED, INITIALIZE, INITIALIZED, MOST_CALLS};
use crate::plan::{Dialect, Plan, Report, Slice, Time};
use crate::server::{Server, nanos};

/// Calls in flight at most: they and their answers fit into two pipes, so that neither side waits for
/// the other to read.
const MOST_IN_FLIGHT: usize = 64;

/// Returns a slice for each number of calls in flight, all against one server.
pub(crate) fn run(plan: &Plan, in_flight: &[usize], time: Time) -> io::Result<Report> {
    let (server, input, output) = Server::start(plan)?;
    let mut pipes = Pipes::new(input, output);
    if plan.dialect == Dialect::Session {
        pipes.initialize()?;
        let initialized = format!("{INITIALIZED}\n");
        pipes.input.write_all(initialized.as_bytes())?;
    }
    let mut call = Call::line(plan.dialect);
    pipes.exchange(&mut call)?;
    let idle_kb = Some(server.resident_kb()?);
    let slices = in_flight
        .iter()
        .map(|&width| slice(&server, &mut pipes, &mut call, width, time));
    Ok(Report {
        slices: slices.collect::<io::Result<_>>()?,
        idle_kb,
        ..Report::default()
    })
}

/// Starts a server so many times, each until its first answer: to the handshake where the dialect has one,
/// or to a call.
pub(crate) fn start(plan: &Plan, times: usize) -> io::Result<Report> {
    let starts = (0..times).map(|_| {
        let began = Instant::now();
        let (_server, input, output) = Server::start(plan)?;
        let mut pipes = Pipes::new(input, output);
        match plan.dialect {
            Dialect::Session => pipes.initialize()?,
            dialect => pipes.exchange(&mut Call::line(dialect))?,
        }
        Ok(began.elapsed().as_secs_f64() * 1e3)
    });
    Ok(Report {
        starts_ms: starts.collect::<io::Result<_>>()?,
        ..Report::default()
    })
}

fn slice(
    server: &Server,
    pipes: &mut Pipes,
    call: &mut Call,
    width: usize,
    time: Time,
) -> io::Result<Slice> {
    if width > MOST_IN_FLIGHT {
        return Err(io::Error::other("at most 64 calls can be in flight"));
    }
    if width > 1 {
        pipes.send(call, width)?;
    }
    let mut latencies = Vec::new();
    let mut step = |latencies: &mut Vec<u32>| {
        if width > 1 {
            let answered = pipes.read_answers()?;
            pipes.send(call, answered)?;
            return io::Result::Ok(answered);
        }
        let began = Instant::now();
        pipes.exchange(call)?;
        latencies.push(nanos(began.elapsed()));
        Ok(1)
    };
    let warm = Instant::now() + Duration::from_millis(time.warm_ms);
    while Instant::now() < warm {
        step(&mut latencies)?;
    }
    latencies.clear();
    let mut calls = 0;
    let measurement = server.measure()?;
    let until = measurement.began + Duration::from_millis(time.measured_ms);
    while Instant::now() < until && calls < MOST_CALLS {
        calls += step(&mut latencies)?;
    }
    let slice = measurement.end()?.slice(width, calls, latencies);
    let mut left = if width > 1 { width } else { 0 };
    while left > 0 {
        left = left.saturating_sub(pipes.read_answers()?);
    }
    Ok(slice)
}

/// A server's stdin and stdout.
struct Pipes {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    piece: Vec<u8>,
    calls: Vec<u8>,
}

impl Pipes {
    fn new(input: ChildStdin, output: ChildStdout) -> Self {
        Self {
            input,
            output: BufReader::with_capacity(16 << 10, output),
            line: Vec::new(),
            piece: vec![0; 64 << 10],
            calls: Vec::new(),
        }
    }

    fn initialize(&mut self) -> io::Result<()> {
        self.input.write_all(format!("{INITIALIZE}\n").as_bytes())?;
        self.expect(b"protocolVersion")
    }

    fn exchange(&mut self, call: &mut Call) -> io::Result<()> {
        self.input.write_all(call.next())?;
        self.expect(ECHOED)
    }

    /// Reads a line, which has to be a result with `wanted` in it.
    fn expect(&mut self, wanted: &[u8]) -> io::Result<()> {
        self.line.clear();
        let read = self.output.read_until(b'\n', &mut self.line)?;
        check(
            read > 0 && memmem::find(&self.line, wanted).is_some(),
            &self.line,
        )
    }

    /// Sends so many calls in one write.
    fn send(&mut self, call: &mut Call, calls: usize) -> io::Result<()> {
        self.calls.clear();
        for _ in 0..calls {
            self.calls.extend_from_slice(call.next());
        }
        self.input.write_all(&self.calls)
    }

    /// Returns the number of answers that end in the bytes that can be read. None may be an error.
    fn read_answers(&mut self) -> io::Result<usize> {
        let read = self.output.read(&mut self.piece)?;
        let piece = &self.piece[..read];
        check(
            read > 0 && memmem::find(piece, b"\"error\"").is_none(),
            piece,
        )?;
        Ok(memchr_iter(b'\n', piece).count())
    }
}

/// Returns the error of an answer that is not an echo. An empty one is the end of the server.
fn check(is_good: bool, answer: &[u8]) -> io::Result<()> {
    if is_good {
        return Ok(());
    }
    let answer = String::from_utf8_lossy(answer);
    Err(io::Error::other(format!("no echo: {answer:.400?}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Task;

    fn report(script: &str, dialect: Dialect) -> io::Result<Report> {
        let time = Time {
            warm_ms: 1,
            measured_ms: 5,
        };
        let in_flight = vec![1, 64];
        let plan = Plan {
            command: ["sh", "-c", script].map(str::to_owned).to_vec(),
            dialect,
            task: Task::Stdio { in_flight, time },
            limit: 60,
        };
        run(&plan, &[1, 64], time)
    }

    #[test]
    fn a_server_is_measured_both_ways_and_an_error_or_an_end_is_reported() {
        let measured = report("exec cat", Dialect::Modern).unwrap();
        let [alone, many] = &measured.slices[..] else {
            panic!("{measured:?}");
        };
        assert_eq!((alone.width, many.width), (1, 64));
        assert!(alone.calls_per_second > 0.0 && many.calls_per_second > 0.0);
        assert!(alone.latency.is_some() && many.latency.is_none());
        for (script, dialect) in [
            ("read x; echo '{\"error\":1}'; cat", Dialect::Bare),
            ("read x; echo '{\"result\":1}'; cat", Dialect::Session),
            ("read x", Dialect::Bare),
        ] {
            let error = report(script, dialect).unwrap_err().to_string();
            assert!(error.contains("no echo"), "{script}: {error}");
        }
    }
}

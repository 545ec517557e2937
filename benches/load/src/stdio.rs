//! Calls over the server's pipes: one at a time, or always so many in flight.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use memchr::{memchr_iter, memmem};

use crate::message::{Call, ECHOED, INITIALIZE, INITIALIZED};
use crate::plan::{Dialect, Plan, Report, Slice, Time};
use crate::server::Server;
use crate::tally::{self, MOST_CALLS};

/// Calls in flight at most: they and their answers fit into two pipes, so that nobody waits for the
/// other to read.
const MOST_IN_FLIGHT: usize = 64;

/// Returns a slice for each number of calls in flight, all against one server.
pub(crate) fn run(plan: &Plan, in_flight: &[usize], time: Time) -> io::Result<Report> {
    let (server, input, output) = Server::start(plan)?;
    server.limit(plan.limit);
    let mut pipes = Pipes::new(input, output);
    pipes.open(plan.dialect)?;
    let mut call = Call::line(plan.dialect);
    pipes.exchange(&mut call)?;
    let idle_kb = Some(server.resident_kb()?);
    let slices = in_flight.iter().map(|&width| match width {
        1 => one_at_a_time(&server, &mut pipes, &mut call, time),
        2..=MOST_IN_FLIGHT => call_in_pipeline(&server, &mut pipes, &mut call, width, time),
        _ => Err(io::Error::other("1 to 64 calls can be in flight")),
    });
    Ok(Report {
        slices: slices.collect::<io::Result<_>>()?,
        idle_kb,
        ..Report::default()
    })
}

fn one_at_a_time(
    server: &Server,
    pipes: &mut Pipes,
    call: &mut Call,
    time: Time,
) -> io::Result<Slice> {
    let warm = Instant::now() + Duration::from_millis(time.warm_ms);
    while Instant::now() < warm {
        pipes.exchange(call)?;
    }
    let mut latencies = Vec::new();
    let before = server.used()?;
    let from = Instant::now();
    let until = from + Duration::from_millis(time.measured_ms);
    let mut began = from;
    while began < until && latencies.len() < MOST_CALLS {
        pipes.exchange(call)?;
        let now = Instant::now();
        latencies.push(tally::nanos(now - began));
        began = now;
    }
    let after = server.used()?;
    Ok(tally::slice(
        1,
        latencies.len(),
        began - from,
        [before, after],
        latencies,
    ))
}

fn call_in_pipeline(
    server: &Server,
    pipes: &mut Pipes,
    call: &mut Call,
    width: usize,
    time: Time,
) -> io::Result<Slice> {
    pipes.send(call, width)?;
    let warm = Instant::now() + Duration::from_millis(time.warm_ms);
    while Instant::now() < warm {
        let answered = pipes.read_answers()?;
        pipes.send(call, answered)?;
    }
    let mut calls = 0;
    let before = server.used()?;
    let from = Instant::now();
    let until = from + Duration::from_millis(time.measured_ms);
    while Instant::now() < until && calls < MOST_CALLS {
        let answered = pipes.read_answers()?;
        calls += answered;
        pipes.send(call, answered)?;
    }
    let time = from.elapsed();
    let after = server.used()?;
    let mut left = width;
    while left > 0 {
        left = left.saturating_sub(pipes.read_answers()?);
    }
    Ok(tally::slice(
        width,
        calls,
        time,
        [before, after],
        Vec::new(),
    ))
}

/// A server's stdin and stdout.
pub(crate) struct Pipes {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    piece: Vec<u8>,
    calls: Vec<u8>,
}

impl Pipes {
    pub(crate) fn new(input: ChildStdin, output: ChildStdout) -> Self {
        Self {
            input,
            output: BufReader::with_capacity(16 << 10, output),
            line: Vec::new(),
            piece: vec![0; 64 << 10],
            calls: Vec::new(),
        }
    }

    /// Makes the first exchange of a start: the handshake's where the dialect has one, else a call.
    pub(crate) fn first(&mut self, dialect: Dialect) -> io::Result<()> {
        match dialect {
            Dialect::Session => self.greet(),
            Dialect::Bare | Dialect::Modern => self.exchange(&mut Call::line(dialect)),
        }
    }

    fn open(&mut self, dialect: Dialect) -> io::Result<()> {
        if dialect == Dialect::Session {
            self.greet()?;
            self.input
                .write_all(format!("{INITIALIZED}\n").as_bytes())?;
        }
        Ok(())
    }

    fn greet(&mut self) -> io::Result<()> {
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
        if self.output.read_until(b'\n', &mut self.line)? == 0 {
            return Err(hung_up());
        }
        match memmem::find(&self.line, wanted) {
            Some(_) => Ok(()),
            None => Err(unexpected_answer(&self.line)),
        }
    }

    /// Sends so many calls in one write.
    fn send(&mut self, call: &mut Call, calls: usize) -> io::Result<()> {
        self.calls.clear();
        for _ in 0..calls {
            self.calls.extend_from_slice(call.next());
        }
        self.input.write_all(&self.calls)
    }

    /// Returns how many answers end in what is there to be read, at least one byte; none may be an error.
    fn read_answers(&mut self) -> io::Result<usize> {
        let read = self.output.read(&mut self.piece)?;
        let piece = &self.piece[..read];
        if piece.is_empty() {
            return Err(hung_up());
        }
        if memmem::find(piece, b"\"error\"").is_some() {
            return Err(unexpected_answer(piece));
        }
        Ok(memchr_iter(b'\n', piece).count())
    }
}

fn hung_up() -> io::Error {
    io::Error::other("the server hung up")
}

fn unexpected_answer(answer: &[u8]) -> io::Error {
    let shown = String::from_utf8_lossy(&answer[..answer.len().min(400)]);
    io::Error::other(format!("no echo: {shown}"))
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
    fn a_server_that_echoes_lines_is_measured_both_ways() {
        let report = report("exec cat", Dialect::Modern).unwrap();
        let [alone, many] = &report.slices[..] else {
            panic!("{report:?}");
        };
        assert_eq!((alone.width, many.width), (1, 64));
        assert!(alone.calls_per_second > 0.0 && many.calls_per_second > 0.0);
        assert!(alone.latency.is_some() && many.latency.is_none());
        assert!(report.idle_kb.is_some());
    }

    #[test]
    fn an_error_and_an_end_are_told() {
        let told = report("read x; echo '{\"error\":1}'; cat", Dialect::Bare);
        assert!(told.unwrap_err().to_string().contains("no echo"));
        let told = report("read x; echo '{\"result\":1}'; cat", Dialect::Session);
        assert!(told.unwrap_err().to_string().contains("no echo"));
        let told = report("read x", Dialect::Bare);
        assert!(told.unwrap_err().to_string().contains("hung up"));
    }
}

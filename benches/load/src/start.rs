//! From before a program is started to its first answer.

use std::io;
use std::time::Instant;

use crate::plan::{Plan, Report};
use crate::server::{Limit, Server};
use crate::stdio::Pipes;

/// Starts a server so many times, one after the other.
pub(crate) fn run(plan: &Plan, times: usize) -> io::Result<Report> {
    // Before the clock runs: a thread takes time to start, too.
    let limit = Limit::new(plan.limit);
    let starts = (0..times).map(|_| start(plan, &limit));
    Ok(Report {
        starts_ms: starts.collect::<io::Result<_>>()?,
        ..Report::default()
    })
}

fn start(plan: &Plan, limit: &Limit) -> io::Result<f64> {
    let began = Instant::now();
    let (server, input, output) = Server::start(plan)?;
    limit.holds(&server);
    Pipes::new(input, output).first(plan.dialect)?;
    Ok(began.elapsed().as_secs_f64() * 1e3)
}

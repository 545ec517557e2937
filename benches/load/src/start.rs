//! From before a program is started to its first answer.

use std::io;
use std::time::Instant;

use crate::plan::{Plan, Report};
use crate::server::Server;
use crate::stdio::Pipes;

/// So many starts, one after the other.
pub(crate) fn run(plan: &Plan, times: usize) -> io::Result<Report> {
    let starts = (0..times).map(|_| start(plan));
    Ok(Report {
        starts_ms: starts.collect::<io::Result<_>>()?,
        ..Report::default()
    })
}

fn start(plan: &Plan) -> io::Result<f64> {
    let began = Instant::now();
    let (server, input, output) = Server::start(plan)?;
    server.limit(plan.limit);
    Pipes::new(input, output).first(plan.dialect)?;
    Ok(began.elapsed().as_secs_f64() * 1e3)
}

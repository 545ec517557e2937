//! The cost of an idle session.

use std::io;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::http::{Connection, runtime};
use crate::plan::{Plan, Report};
use crate::server::{self, Server};

/// Connections that open sessions at the same time.
const WIDTH: usize = 16;

/// The time that a server has to put things away when all its clients are gone.
const REST: Duration = Duration::from_millis(500);

/// Opens sessions and leaves them, a few first, so that what grows once has grown.
pub(crate) fn run(plan: &Plan, count: usize) -> io::Result<Report> {
    let (server, _input, output) = Server::start(plan)?;
    server.limit(plan.limit);
    let port = server::port(output)?;
    runtime()?.block_on(async {
        open(port, count / 10).await?;
        let before = server.resident_kb()?;
        open(port, count).await?;
        let after = server.resident_kb()?;
        let grown = after.saturating_sub(before) * 1024;
        Ok(Report {
            session_bytes: Some(grown as f64 / count as f64),
            ..Report::default()
        })
    })
}

async fn open(port: u16, count: usize) -> io::Result<()> {
    let mut connections = JoinSet::new();
    for index in 0..WIDTH {
        let share = count / WIDTH + usize::from(index < count % WIDTH);
        connections.spawn(async move {
            let mut connection = Connection::open(port).await?;
            for _ in 0..share {
                connection.session().await?;
            }
            io::Result::Ok(())
        });
    }
    while let Some(opened) = connections.join_next().await {
        opened.map_err(io::Error::other)??;
    }
    tokio::time::sleep(REST).await;
    Ok(())
}

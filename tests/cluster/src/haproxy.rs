//! HAProxy in front of the instances: round robin, without a stick table.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};
use turnbuckle_engines::{ReservedPort, Running, find_program};

use crate::problem::Problem;

/// The time in which HAProxy must listen.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// An HAProxy that runs until it is dropped.
pub(crate) struct Haproxy {
    port: ReservedPort,
    _running: Running,
}

impl Haproxy {
    /// Starts HAProxy in front of the servers at these ports.
    pub(crate) async fn start(folder: &Path, servers: &[u16]) -> Result<Self, Problem> {
        let port = ReservedPort::new()?;
        let file = folder.join(format!("haproxy-{}.cfg", port.number()));
        fs::write(&file, configuration(port.number(), servers)?)?;
        let mut command = std::process::Command::new(find_program("haproxy"));
        command.arg("-f").arg(&file).stdin(Stdio::null());
        let running = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        let limit = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(("127.0.0.1", port.number()))
            .await
            .is_err()
        {
            if Instant::now() > limit {
                return Err("HAProxy does not listen".into());
            }
            sleep(Duration::from_millis(20)).await;
        }
        // The first checks of the servers are done then.
        sleep(Duration::from_millis(500)).await;
        Ok(Self {
            port,
            _running: running,
        })
    }

    /// Returns the address.
    pub(crate) fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port.number()).into()
    }

    /// Returns the URL of the endpoint behind it.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port.number())
    }
}

/// The header in which HAProxy names the server of a response.
pub(crate) const SERVER_HEADER: &str = "x-server";

/// Returns the configuration, as the guide shows it.
fn configuration(port: u16, servers: &[u16]) -> Result<String, Problem> {
    let mut text = format!(
        "defaults\n  mode http\n  option redispatch\n  retries 3\n  timeout connect 1s\n  timeout check 5s\n  \
         timeout client 1h\n  timeout server 1h\n\nfrontend mcp\n  bind 127.0.0.1:{port}\n  default_backend instances\n\n\
         backend instances\n  balance roundrobin\n  http-response set-header {SERVER_HEADER} %s\n  \
         default-server check inter 200ms fall 1 rise 1\n  option httpchk GET /readyz\n"
    );
    for (number, port) in servers.iter().enumerate() {
        writeln!(text, "  server instance{number} 127.0.0.1:{port}")?;
    }
    Ok(text)
}

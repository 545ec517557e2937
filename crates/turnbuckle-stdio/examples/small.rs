//! The tests' server as a process of its own.

#[path = "../tests/support/mod.rs"]
mod support;

use turnbuckle_stdio::{StdioOptions, run};

fn main() -> std::io::Result<()> {
    let runtime = match std::env::args().nth(1).as_deref() {
        Some("threads") => tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?,
        _ => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?,
    };
    runtime.block_on(run(support::TestServer::dispatch(), StdioOptions::new()))
}

//! The tests' server as a process of its own.

#[path = "../tests/support/mod.rs"]
mod support;

use tokio::runtime::Builder;
use turnbuckle_stdio::{StdioOptions, run, run_on_runtime};

fn main() -> std::io::Result<()> {
    let place = std::env::args().nth(1).unwrap_or_default();
    let (runtime, place) = place.split_once('-').unwrap_or((&place, "thread"));
    let mut runtime = match runtime {
        "threads" => Builder::new_multi_thread(),
        _ => Builder::new_current_thread(),
    };
    let runtime = runtime.enable_all().build()?;
    let (server, options) = (support::TestServer::dispatch(), StdioOptions::new());
    match place {
        "task" => runtime.block_on(run_on_runtime(server, options)),
        _ => runtime.block_on(run(server, options)),
    }
}

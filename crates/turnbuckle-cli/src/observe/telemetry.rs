//! The log, traces and metrics of a command, as `RUST_LOG` and `OTEL_*` ask for them.

use std::io::{self, Write as _};

use turnbuckle::otel::{self, Exporters};
use turnbuckle_types::base::error_chain::ErrorChain;

use crate::output::sanitize_line;

/// The most characters of a warning, which may quote the answer of a collector.
const MAX_CHARS: usize = 1000;

/// The traces and metrics of a command. Dropping this exports those that are left.
pub(crate) struct Telemetry(Option<Exporters>);

/// Starts what the environment asks for. A command does without what cannot be had, and says so on
/// standard error.
pub(crate) fn start_telemetry() -> Telemetry {
    let exporters = otel::init("turnbuckle");
    Telemetry(exporters.inspect_err(print_warning).ok())
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.0.take().map(Exporters::shutdown) {
            print_warning(&error);
        }
    }
}

/// Prints an error and its causes.
fn print_warning(error: &turnbuckle::Error) {
    let text = ErrorChain(error).to_string();
    // `eprintln!` would panic if standard error is closed or full.
    let _ = writeln!(io::stderr(), "warning: {}", sanitize_line(&text, MAX_CHARS));
}

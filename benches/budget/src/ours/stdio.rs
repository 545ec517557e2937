//! The process's own stdin and stdout.

use turnbuckle::stdio::StdioOptions;

use super::offers::server;
use crate::process::{Ended, on_one_thread, word};

/// Serves on stdin and stdout, for `stdio OFFER`.
pub(crate) fn serve(words: &[String]) -> Ended {
    let server = server(word(words, 0)?)?;
    let served = turnbuckle::stdio::run(server, StdioOptions::default());
    Ok(on_one_thread(served)??)
}

//! The process's own stdin and stdout.

use turnbuckle::stdio::StdioOptions;

use super::offers::server;
use crate::{Ended, on_one_thread, word};

/// `stdio OFFER`
pub(crate) fn serve(words: &[String]) -> Ended {
    let server = server(word(words, 0)?)?;
    let served = turnbuckle::stdio::run(server, StdioOptions::default());
    Ok(on_one_thread(served)??)
}

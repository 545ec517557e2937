//! The pieces that the processes share.

use std::error::Error;
use std::future::Future;
use std::io::{Read, Write};
use std::thread;

/// The end of a process.
pub(crate) type Ended = Result<(), Box<dyn Error>>;

/// Returns the word at `index`.
pub(crate) fn word(words: &[String], index: usize) -> Result<&str, Box<dyn Error>> {
    let word = words.get(index).map(String::as_str);
    word.ok_or_else(|| "a word is missing on the command line".into())
}

/// Prints the port on which this process listens.
pub(crate) fn tell_port(port: u16) -> std::io::Result<()> {
    let mut output = std::io::stdout();
    writeln!(output, "{port}")?;
    output.flush()
}

/// Runs `then` when the process's input has ended.
pub(crate) fn at_end_of_input(then: impl FnOnce() + Send + 'static) {
    thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        then();
    });
}

pub(crate) fn on_one_thread<F: Future>(future: F) -> std::io::Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(future))
}

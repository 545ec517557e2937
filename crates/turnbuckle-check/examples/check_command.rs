//! Checks the server that a command starts, over standard input and output, and prints the report: as JSON if
//! the first word is `--json`.
//!
//! ```sh
//! cargo run --example check_command -- PROGRAM ARGUMENT…
//! ```

use std::io;

use turnbuckle_check::report::{json, terminal};
use turnbuckle_check::{Checker, Command, Target};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1).peekable();
    let is_json = words.next_if_eq("--json").is_some();
    let program = words.next().ok_or("name a program")?;
    let command = Command::new(program).args(words);
    let target = Target::new("-- …").command(command);
    let report = Checker::new(target).run().await?;
    match is_json {
        true => json::write(&report, &mut io::stdout())?,
        false => terminal::write(&report, &terminal::Options::plain(), &mut io::stdout())?,
    }
    Ok(())
}

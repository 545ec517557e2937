//! Checks the server that a command starts, over standard input and output, and prints the report.
//!
//! ```sh
//! cargo run --example check_command -- PROGRAM ARGUMENT…
//! ```

use turnbuckle_check::report::terminal;
use turnbuckle_check::{Checker, Command, Target};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let program = words.next().ok_or("name a program")?;
    let command = Command::new(program).args(words);
    let target = Target::new("-- …").command(command);
    let report = Checker::new(target).run().await?;
    terminal::write(&report, &terminal::Options::plain(), &mut std::io::stdout())?;
    Ok(())
}

//! Checks the client that a command is, and prints the report.
//!
//! ```sh
//! cargo run --example check_client -- PROGRAM ARGUMENT… {url}
//! cargo run --example check_client -- PROGRAM ARGUMENT… -- {command}
//! ```

use std::io;

use turnbuckle_check::report::terminal;
use turnbuckle_check::{ClientChecker, relay};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1).peekable();
    if words.next_if_eq("--relay").is_some() {
        let place = words.next().ok_or("name a place")?;
        relay(
            &place,
            tokio::io::stdin(),
            tokio::io::stdout(),
            tokio::io::stderr(),
        )
        .await?;
        return Ok(());
    }
    let own = std::env::current_exe()?.display().to_string();
    let checker = ClientChecker::new(words).relay_command([own, "--relay".into()]);
    let report = checker.run().await?;
    terminal::write(&report, &terminal::Options::plain(), &mut io::stdout())?;
    Ok(())
}

//! The official Rust SDK with extensions: servers on their standard streams, and clients of a server that a command
//! starts.
//!
//! `rmcp-extensions serve DIR` serves a folder of skills. `rmcp-extensions read COMMAND...` prints a JSON object: the
//! digest of each file that was verified, by skill and URI, the children of each skill's directory, and the code of the
//! error for an unknown skill.
//!
//! `rmcp-extensions serve-tasks` serves tools whose calls are tasks. `rmcp-extensions call-tasks COMMAND...` calls them,
//! and prints what came of each as a JSON object.

mod skills;
mod tasks;

use std::error::Error;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", folder] => skills::serve(folder.as_ref()).await,
        ["read", program, ref arguments @ ..] => skills::read(program, arguments).await,
        ["serve-tasks"] => tasks::serve().await,
        ["call-tasks", program, ref arguments @ ..] => tasks::call(program, arguments).await,
        _ => Err("usage: rmcp-extensions serve DIR | read COMMAND... | serve-tasks | call-tasks COMMAND...".into()),
    }
}

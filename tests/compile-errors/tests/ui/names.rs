// Answer: a name is 1 to 128 of the characters

use turnbuckle::{server, tool};

#[tool(name = "add numbers")]
fn add() {}

#[tool(name = "")]
fn empty() {}

#[tool]
fn größe() {}

struct App;

#[server]
impl App {
    #[tool]
    fn stop(&self) {}

    #[tool(name = "stop")]
    fn halt(&self) {}

    #[prompt]
    fn stop_it(&self) -> String {
        String::new()
    }

    #[resource("app://stop", name = "one")]
    fn one(&self) -> String {
        String::new()
    }

    #[resource("app://stop", name = "two")]
    fn two(&self) -> String {
        String::new()
    }
}

fn main() {}

// Answer: take `&self`

use turnbuckle::{server, tool};

struct App;

#[server]
impl App {
    #[tool]
    fn consume(self) {}

    #[tool]
    fn change(&mut self) {}

    #[tool]
    #[prompt]
    fn both(&self) {}
}

#[server]
impl Clone for App {
    fn clone(&self) -> Self {
        App
    }
}

impl App {
    #[tool]
    fn alone(&self) {}
}

fn main() {}

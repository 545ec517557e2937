// Answer: did you mean `read_only`?

use turnbuckle::prelude::*;

struct App;

#[server(blocks(search))]
impl App {
    #[tool(readonly)]
    fn show(&self, #[schema(mim = 1)] article: u8) -> u8 {
        article
    }
}

#[server(block = search)]
impl App {
    #[tool(titel = "Find")]
    fn find(&self) {}
}

struct Notes;

#[server(name = "notes")]
impl Notes {
    #[tool]
    fn add(&self) {}
}

fn main() {
    let _ = Server::new("s", "1.0.0").group(App).group(Notes);
}

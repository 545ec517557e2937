use turnbuckle::{Server, item, prompt, resources, tool, tools};

fn plain(a: i64) -> i64 {
    a
}

#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[prompt]
fn review() -> &'static str {
    "Review this."
}

mod notes {
    #[turnbuckle::resource("notes://{id}")]
    pub fn note(id: String) -> String {
        id
    }

    pub fn other() {}
}

fn main() {
    let _ = Server::new("calc", "1.0.0").tools(tools![add, plain]);
    let _ = Server::new("calc", "1.0.0").tools(tools![review, add]);
    let _ = Server::new("calc", "1.0.0").resources(resources![notes::note, notes::other]);
    let _ = Server::new("calc", "1.0.0").tool(item!(notes::other));
    let _ = Server::new("calc", "1.0.0").tool(item!(review));
}

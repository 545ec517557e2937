// Answer: put the attribute on the function

use turnbuckle::{Server, resources};

mod notes {
    #[turnbuckle::resource("notes://{id}")]
    pub fn note(id: String) -> String {
        id
    }

    pub fn other() {}
}

fn main() {
    let _ = Server::new("calc", "1.0.0").resources(resources![notes::note, notes::other]);
}

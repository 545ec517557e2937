// Answer: there are: crate, rename_all, derive

use turnbuckle::prelude::*;

#[data(colour = "red")]
struct Article {
    #[schema(mim = 1)]
    count: u8,
}

#[tool(readonly)]
fn order(#[schema(mim = 1)] article: Article) -> Article {
    article
}

fn main() {
    let server = Server::new("s", "1.0.0").tools(tools![order]);
    let _ = server.tool(item!(order).title("Order"));
}

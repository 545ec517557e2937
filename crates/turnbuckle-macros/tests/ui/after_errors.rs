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

struct App;

#[server]
impl App {
    #[tool(readonly)]
    fn show(&self, #[schema(mim = 1)] article: Article) -> Article {
        article
    }
}

fn main() {
    let server = Server::new("s", "1.0.0").tools(tools![order]).group(App);
    let _ = server.tool(item!(order).title("Order"));
}

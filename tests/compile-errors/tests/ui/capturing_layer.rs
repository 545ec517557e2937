// Answer: because it captures state from its environment

use turnbuckle::Server;
use turnbuckle::middleware::from_fn;

fn main() {
    let prefix = String::from("audit");
    let _ = Server::new("s", "1.0.0").layer(from_fn(async move |call, next| {
        println!("{prefix}");
        next.run(call).await
    }));
}

//! On stdin and stdout.

use turnbuckle::stdio::StdioOptions;

#[tokio::main]
async fn main() -> turnbuckle::Result {
    let options = StdioOptions::new().limits(turnbuckle_echo::limits());
    Ok(turnbuckle::stdio::run(turnbuckle_echo::server()?, options).await?)
}

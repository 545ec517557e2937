//! A bridge and gateways of ours, for `cargo xtask budget` to run under valgrind: they serve the tools of a server
//! of `benches/budget`, their child, on stdin and stdout.
//!
//! A program of its own: what they need is not to be found in the servers and clients that are measured.

use std::error::Error;

use turnbuckle::Server;
use turnbuckle::client::EraPreference;
use turnbuckle::servers::Servers;
use turnbuckle::stdio::{Command, StdioOptions, run_on_runtime};
use turnbuckle_gateway::{Gateway, GatewayFile};

type Ended = Result<(), Box<dyn Error>>;

/// The server behind the bridge. It answers when this process sleeps.
const SERVER: &str = "server";

/// Runs `bridge ERA PROGRAM`, or `gateway AUDIT PROGRAM`.
fn main() -> Ended {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [kind, setting, server] = &words[..] else {
        return Err("three words: bridge or gateway, its setting, the server".into());
    };
    let server = Command::new(server).args(["paced-stdio", "echo"]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    match kind.as_str() {
        "bridge" => {
            let era = match setting.as_str() {
                "modern" => EraPreference::Modern,
                "legacy" => EraPreference::Legacy,
                _ => return Err("there are two eras: modern, legacy".into()),
            };
            runtime.block_on(bridge(server, era))
        }
        "gateway" => runtime.block_on(gateway(server, setting)),
        _ => Err("the first word is bridge or gateway".into()),
    }
}

async fn bridge(server: Command, era: EraPreference) -> Ended {
    let proxy = Servers::builder("budget", "1")
        .server(SERVER, server)
        .prefix(SERVER, "")
        .clients(move |client| client.era(era))
        .proxy(Server::new("budget", "1"))
        .await?;
    run_on_runtime(proxy.server().clone(), StdioOptions::default()).await?;
    proxy.servers().close().await;
    Ok(())
}

async fn gateway(server: Command, audit: &str) -> Ended {
    let file = format!(
        "audit = {audit:?}\n[upstream.{SERVER}]\nallow = [\"e*\"]\nrename = {{ echo = \"echo\" }}"
    );
    let gateway = Gateway::builder(GatewayFile::parse_toml(&file)?)
        .connector(SERVER, server)
        .connect()
        .await?;
    run_on_runtime(gateway.server().clone(), StdioOptions::default()).await?;
    gateway.close().await;
    Ok(())
}

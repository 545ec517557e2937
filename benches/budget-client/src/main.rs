//! Clients of ours, as their users write them, for `cargo xtask budget` to run under valgrind: they
//! connect, call the tool `echo` so many times, one at a time, and leave.
//!
//! A program of its own: what a client needs is not to be found in the servers that are measured.
//! The servers that it calls are those of `benches/budget`.

use std::error::Error;

use serde::{Deserialize, Serialize};
use turnbuckle::Client;
use turnbuckle::auth::client::store::{CredentialStore as _, MemoryStore};
use turnbuckle::auth::{OAuth, Secret};
use turnbuckle::client::EraPreference;
use turnbuckle::http::HttpConnector;
use turnbuckle::session::transport::Connector;
use turnbuckle::stdio::Command;

type Ended = Result<(), Box<dyn Error>>;

#[derive(Serialize)]
struct Echo {
    message: &'static str,
}

#[derive(Deserialize)]
struct Echoed {
    message: String,
}

/// The credentials of a client that has logged in.
const CREDENTIALS: &str = r#"{
    "format": 1, "issuer": "http://127.0.0.1", "resource": "http://127.0.0.1", "server": {},
    "access_token": "TOKEN", "token_type": "Bearer", "obtained_at": 0, "requested_scopes": []
}"#;

/// Runs `http ERA PORT N`, `http-auth ERA PORT N`, or `stdio ERA PROGRAM N`.
fn main() -> Ended {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [binding, era, server, times] = &words[..] else {
        return Err("four words: http or stdio, the era, the server, how many calls".into());
    };
    let era = match era.as_str() {
        "modern" => EraPreference::Modern,
        "legacy" => EraPreference::Legacy,
        _ => return Err("there are two eras: modern, legacy".into()),
    };
    let times = times.parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    match binding.as_str() {
        "http" => {
            let url = format!("http://127.0.0.1:{server}/mcp");
            runtime.block_on(call(HttpConnector::new(&url)?, era, times))
        }
        "http-auth" => {
            let url = format!("http://127.0.0.1:{server}/mcp");
            let connector = HttpConnector::new(&url)?;
            runtime.block_on(async {
                let store = MemoryStore::new();
                let credentials = CREDENTIALS.replace("TOKEN", &"t".repeat(600));
                let key = format!("credentials:{url}");
                store.save(&key, &Secret::new(credentials)).await?;
                let oauth = OAuth::builder(&url, store).build()?;
                if oauth.access_token().await.is_none() {
                    return Err("the credentials are not in the form that is stored".into());
                }
                call(connector.layer(oauth), era, times).await
            })
        }
        "stdio" => {
            let server = Command::new(server).args(["paced-stdio", "echo"]);
            runtime.block_on(call(server, era, times))
        }
        _ => Err("the first word is http, http-auth or stdio".into()),
    }
}

async fn call(server: impl Connector, era: EraPreference, times: u64) -> Ended {
    let client = Client::builder("budget", "1").era(era);
    let client = client.connect(server).await?;
    let echo = Echo { message: "hello" };
    for _ in 0..times {
        let echoed: Echoed = client.call_tool("echo", &echo).structured_content().await?;
        if echoed.message != echo.message {
            return Err("not an echo".into());
        }
    }
    client.close().await;
    Ok(())
}

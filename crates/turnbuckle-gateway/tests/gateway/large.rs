//! Results that are larger than the file permits.

use turnbuckle_gateway::{Gateway, GatewayFile};

use crate::support::client;

/// A server on a pipe whose tool `large` answers with `$SIZE` bytes.
const SCRIPT: &str = include_str!("../../../turnbuckle-servers/tests/large_answers.sh");

#[tokio::test]
async fn the_bound_of_results_bounds_the_messages_of_a_command_too() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("large.sh"), SCRIPT).unwrap();
    for (bound, mebibytes, refusal) in [
        ("1 MiB", 2, Some("max_result_bytes")),
        // Such a message is not read into memory.
        ("1 MiB", 5, Some("sent a message of more than")),
        ("20 MiB", 18, None),
    ] {
        let text = format!(
            "[upstream.up]\ncommand = ['sh', '{folder}/large.sh']\nenv = {{ SIZE = '{size}' }}\n\
             limits = {{ result_bytes = '{bound}' }}",
            folder = folder.path().display(),
            size = mebibytes << 20,
        );
        let file = GatewayFile::parse_toml(&text).unwrap();
        let gateway = Gateway::builder(file).connect().await.unwrap();
        let client = client(&gateway, None).await;
        let called = client.call_tool("up__large", &()).await;
        let text = match called {
            Ok(result) => result.text().to_string(),
            Err(error) => error.to_string(),
        };
        match refusal {
            Some(setting) => assert!(text.contains(setting), "{bound}: {text:.300}"),
            None => assert_eq!(text.len(), mebibytes << 20, "{bound}: {text:.300}"),
        }
        gateway.close().await;
    }
}

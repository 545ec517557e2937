//! Servers of a configuration.

use crate::config::ConfigFile;
use crate::{ServerState, Servers};

#[tokio::test(start_paused = true)]
async fn an_entry_that_cannot_be_used_is_a_failed_server_and_the_others_are_tried() {
    let dialects = [
        r#"{"mcpServers": {
            "odd": {},
            "unset": {"command": "x", "args": ["${SURELY_NOT_SET}"]},
            "clear": {"url": "http://example.com/mcp", "headers": {"Authorization": "Bearer t"}},
            "missing": {"command": "/none/such-program"}, // the last
        }}"#,
        r#"{"servers": {
            "odd": {"type": "stdio"},
            "unset": {"type": "http", "url": "https://x/${env:SURELY_NOT_SET}"},
            "clear": {"type": "sse", "url": "http://example.com/mcp", "headers": {"X": "y"}},
            "missing": {"type": "stdio", "command": "/none/such-program"},
        }}"#,
    ];
    for text in dialects {
        let config = ConfigFile::parse(text).unwrap();
        let servers = Servers::builder("host", "1")
            .config(config, "/p")
            .connect()
            .await
            .unwrap();
        let status = servers.status();
        for (name, why) in [
            ("odd", "command"),
            (
                "unset",
                "the environment variable SURELY_NOT_SET is not set",
            ),
            ("clear", "without encryption"),
        ] {
            let status = status
                .iter()
                .find(|status| *status.server == *name)
                .unwrap();
            assert_eq!(status.state, ServerState::Failed, "{status}");
            assert!(
                status.last_error.as_ref().unwrap().contains(why),
                "{status}"
            );
        }
        let missing = status
            .iter()
            .find(|status| &*status.server == "missing")
            .unwrap();
        assert!(
            matches!(missing.state, ServerState::Waiting(_)),
            "{missing}"
        );
        servers.close().await;
    }
}

#[test]
fn secrets_of_a_configuration_are_not_in_its_debug_form() {
    let text = r#"{"servers": {"a": {"command": "x", "args": ["--key=s3cret"],
        "env": {"KEY": "s3cret"}, "headers": {"Authorization": "s3cret"}}}}"#;
    let config = ConfigFile::parse(text).unwrap();
    let variables = crate::config::Variables::new("/p", |_| None);
    let resolved = config.servers["a"].resolve(&variables).unwrap();
    let shown = format!("{config:?} {resolved:?}");
    assert!(
        shown.contains("KEY") && !shown.contains("s3cret"),
        "{shown}"
    );
}

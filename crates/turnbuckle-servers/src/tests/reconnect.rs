//! Sick servers, and servers that are lost and come back.

use std::time::Duration;

use turnbuckle_server::{Server, Tool};

use super::support::{ERAS, Machine, named_server, speak, state, tool_names, until};
use crate::{ChangeKind, Error, ItemKind, ServerChange, ServerState, Servers};

#[tokio::test(start_paused = true)]
async fn one_sick_server_hides_nothing_of_the_others() {
    let sick = Machine::new(named_server("sick", &["x"]));
    sick.stop();
    let servers = Servers::builder("host", "1")
        .server("sick", sick.clone())
        .server("well", Machine::new(named_server("well", &["x"])))
        .connect()
        .await
        .unwrap();
    assert_eq!(tool_names(&servers), ["well__x"]);
    assert!(servers.call_tool("well__x", &()).await.is_ok());
    let [status, _] = &servers.status()[..] else {
        panic!()
    };
    assert_eq!(status.state, ServerState::Waiting(Duration::from_secs(1)));
    assert_eq!(status.attempts, 1);
    assert!(
        status
            .last_error
            .as_ref()
            .unwrap()
            .contains("the machine is off"),
        "{status}"
    );
    let shown = status.to_string();
    assert!(
        shown.starts_with("sick: not connected, next attempt after 1s: "),
        "{shown}"
    );
    let error = servers.client("sick").unwrap_err();
    assert!(matches!(&error, Error::NotReady { .. }));
    assert!(error.to_string().contains("the machine is off"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn attempts_follow_after_growing_delays_until_the_server_is_back() {
    let machine = Machine::new(named_server("s", &["x"]));
    machine.stop();
    let servers = Servers::builder("host", "1")
        .server("s", machine.clone())
        .connect()
        .await
        .unwrap();
    // 1 + 2 + 4 + 8 + 16 + 32 + 60 + 60 seconds.
    tokio::time::sleep(Duration::from_secs(184)).await;
    assert_eq!(machine.open_count(), 9);
    assert_eq!(
        state(&servers, "s"),
        ServerState::Waiting(Duration::from_secs(60))
    );
    assert_eq!(servers.status()[0].attempts, 9);
    machine.start();
    until(&servers, |servers| {
        state(servers, "s") == ServerState::Ready
    })
    .await;
    assert_eq!(tool_names(&servers), ["s__x"]);
    assert_eq!(servers.status()[0].attempts, 0);
}

#[tokio::test(start_paused = true)]
async fn a_lost_server_is_connected_again_and_its_items_come_back() {
    for era in ERAS {
        let machine = Machine::new(named_server("s", &["x"]));
        let servers = Servers::builder("host", "1")
            .server("s", machine.clone())
            .clients(speak(era))
            .connect()
            .await
            .unwrap();
        let mut changes = servers.changes();
        machine.stop();
        until(&servers, |servers| servers.tools().is_empty()).await;
        assert!(servers.status()[0].last_error.is_some());
        machine.start();
        until(&servers, |servers| !servers.tools().is_empty()).await;
        assert_eq!(tool_names(&servers), ["s__x"]);
        assert!(servers.call_tool("s__x", &()).await.is_ok());
        let kinds = [changes.next().await.unwrap(), changes.next().await.unwrap()];
        assert_eq!(
            kinds.map(|change| change.change),
            [ChangeKind::Status, ChangeKind::Items(ItemKind::Tool)]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_loss_hides_nothing() {
    let machine = Machine::new(named_server("s", &["x"]));
    let servers = Servers::builder("host", "1")
        .server("s", machine.clone())
        .connect()
        .await
        .unwrap();
    machine.restart();
    for _ in 0..100 {
        assert_eq!(tool_names(&servers), ["s__x"]);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(machine.open_count(), 2);
    assert!(servers.call_tool("s__x", &()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn changes_of_one_server_are_merged_and_reported_with_its_name() {
    for era in ERAS {
        let server = named_server("s", &["x"]);
        let servers = Servers::builder("host", "1")
            .server("still", Machine::new(named_server("still", &["y"])))
            .server("s", Machine::new(server.clone()))
            .clients(speak(era))
            .connect()
            .await
            .unwrap();
        let mut changes = servers.changes();
        server
            .add_tool(Tool::builder("new").handler(|| "new"))
            .unwrap();
        let change = changes.next().await.unwrap();
        let expected = ServerChange {
            server: "s".into(),
            change: ChangeKind::Items(ItemKind::Tool),
        };
        assert_eq!(change, expected);
        assert_eq!(tool_names(&servers), ["still__y", "s__x", "s__new"]);
        assert!(servers.call_tool("s__new", &()).await.is_ok());
        servers.close().await;
        assert_eq!(changes.next().await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_asked_for_a_sign_of_life_and_otherwise_connected_anew() {
    let machine = Machine::new(Server::new("s", "1").build().unwrap());
    let servers = Servers::builder("host", "1")
        .server("s", machine.clone())
        .connect()
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(200)).await;
    // A server that answers stays connected.
    assert_eq!(machine.open_count(), 1);
    assert!(servers.status()[0].is_ready());
    machine.freeze();
    // 30 seconds until it is asked, 10 to answer, and one before the next attempt.
    tokio::time::sleep(Duration::from_secs(42)).await;
    assert_eq!(machine.open_count(), 2);
    assert!(servers.status()[0].is_ready());
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_cannot_be_opened_again_is_a_failed_server() {
    let (here, there) = turnbuckle_session::transport::memory_pair();
    drop(there);
    let servers = Servers::builder("host", "1")
        .server(
            "s",
            turnbuckle_session::transport::TransportConnector::new(here),
        )
        .connect()
        .await
        .unwrap();
    assert_eq!(state(&servers, "s"), ServerState::Failed);
    servers.close().await;
    assert_eq!(state(&servers, "s"), ServerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_announces_changes_without_end_is_read_at_intervals() {
    let server = named_server("s", &["x"]);
    let servers = Servers::builder("host", "1")
        .server("s", Machine::new(server.clone()))
        .connect()
        .await
        .unwrap();
    let mut changes = servers.changes();
    let announcing = tokio::spawn(async move {
        for round in 0..100 {
            let tool = Tool::builder(format!("tool{round}")).handler(|| "");
            server.add_tool(tool).unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let mut read = 0;
    while servers.tools().len() < 101 {
        changes.next().await.unwrap();
        read += 1;
    }
    announcing.await.unwrap();
    assert!((4..=6).contains(&read), "{read}");
}

/// Returns a legacy server in the shell, whose tool has the id of its process as description.
#[cfg(unix)]
fn shell_server() -> turnbuckle_stdio::Command {
    let script = format!(
        r#"answer() {{ echo '{{"jsonrpc":"2.0","id":'"$id"','"$1"'}}'; }}
        while read -r line; do
            id=${{line#*'"id":'}}; id=${{id%%[,\}}]*}}
            case $line in
            *'"method":"initialize"'*) answer '"result":{{"protocolVersion":"{}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"sh","version":"0"}}}}' ;;
            *'"method":"tools/list"'*) answer '"result":{{"tools":[{{"name":"t","description":"'$$'","inputSchema":{{"type":"object"}}}}]}}' ;;
            *'"id":'*) answer '"error":{{"code":-32601,"message":"no"}}' ;;
            esac
        done"#,
        turnbuckle_types::base::revision_dates::REVISION_DATES[3]
    );
    turnbuckle_stdio::Command::new("sh").args(["-c", &script])
}

#[cfg(unix)]
#[tokio::test]
async fn a_killed_server_is_a_change_at_once() {
    let servers = Servers::builder("host", "1")
        .server("s", shell_server())
        .clients(speak(ERAS[1]))
        .connect()
        .await
        .unwrap();
    let process = |servers: &Servers| servers.tools().first()?.item.description.clone();
    let first = process(&servers).unwrap();
    let mut changes = servers.changes();
    let mut kill = std::process::Command::new("kill");
    assert!(kill.args(["-9", &first]).status().unwrap().success());
    let change = tokio::time::timeout(Duration::from_secs(30), changes.next());
    let change = change.await.unwrap().unwrap();
    assert_eq!((&*change.server, change.change), ("s", ChangeKind::Status));
    // Another process takes its place.
    until(&servers, |servers| {
        state(servers, "s") == ServerState::Ready
            && process(servers).is_some_and(|process| process != first)
    })
    .await;
    servers.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_short_loss_is_a_change_of_the_status() {
    for era in ERAS {
        let machine = Machine::new(named_server("s", &["x"]));
        let servers = Servers::builder("host", "1")
            .server("s", machine.clone())
            .clients(speak(era))
            .connect()
            .await
            .unwrap();
        let mut changes = servers.changes();
        machine.restart();
        let change = changes.next().await.unwrap();
        assert_eq!(change.change, ChangeKind::Status);
        until(&servers, |servers| {
            state(servers, "s") == ServerState::Ready
        })
        .await;
        assert_eq!(servers.status()[0].last_error, None);
    }
}

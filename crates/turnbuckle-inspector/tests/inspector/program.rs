//! Programs that die, flood their error output, and start again.

use std::sync::Arc;

use turnbuckle_inspector::ClientSettings;
use turnbuckle_inspector::api::{ConnectionState, EntryStatus, ItemKind, Step, TransportKind};
use turnbuckle_stdio::{Command, StderrMode};
use turnbuckle_wire::revision::Revision;

use crate::scripted::only;
use crate::servers::{Bench, Connect};

/// A server of 2025-06-18 as a script of the shell. A call ends it, after many lines on stderr.
const SERVER: &str = r#"
while read -r line; do
  id=$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"initialize"'*)
      echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}' ;;
    *'"tools/list"'*)
      echo 'warming up'
      echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"die","inputSchema":{"type":"object"}}]}}' ;;
    *'"tools/call"'*)
      i=0; while [ $i -lt 2000 ]; do echo "line $i" >&2; i=$((i+1)); done
      exit 7 ;;
  esac
done
"#;

fn run(script: &'static str) -> Connect {
    Box::new(move |observer, _| {
        let observer = observer.clone();
        let stderr = StderrMode::lines(move |line| observer.add_stderr(line.as_bytes()));
        let command = Command::new("sh").args(["-c", script]).stderr(stderr);
        (Arc::new(command), TransportKind::Program)
    })
}

#[tokio::test]
async fn a_program_that_ends_by_itself_shows_its_status_and_last_lines_and_starts_again() {
    let bench = Bench::connect_with(run(SERVER), only(Revision::V2025_06_18)).await;
    assert_eq!(bench.names(ItemKind::Tools), ["die"]);
    assert_eq!(bench.texts("kind:noise"), ["warming up"]);
    let n = bench.call("die", "{}").await;
    bench
        .wait_for_entry(n, |entry| entry.status == EntryStatus::Error)
        .await;
    let has_last_line = |state: &ConnectionState| match state {
        ConnectionState::Ended { stderr, .. } => stderr.last().is_some_and(|it| it == "line 1999"),
        _ => false,
    };
    bench
        .wait(|state| has_last_line(&state.sessions[0].connection))
        .await;
    let ConnectionState::Ended {
        exit_code, stderr, ..
    } = bench.connection()
    else {
        panic!("{:?}", bench.connection());
    };
    assert_eq!((exit_code, stderr.len()), (Some(7), 20));
    assert_eq!(bench.inspector.query("kind:stderr", 0, 1).matching, 2_000);
    bench.inspector.restart(&bench.session).await.unwrap();
    bench.wait_for_lists().await;
    assert_eq!(bench.inspector.state().sessions[0].connections, 2);
    bench.inspector.close_all().await;
}

#[tokio::test]
async fn a_program_that_dies_at_its_start_fails_at_this_step() {
    let connect = run("echo 'no such option: --x' >&2; exit 3");
    let bench = Bench::open_with(connect, ClientSettings::default());
    let is_told = |state: &ConnectionState| match state {
        ConnectionState::Failed { stderr, .. } => {
            stderr.last().is_some_and(|it| it == "no such option: --x")
        }
        _ => false,
    };
    bench
        .wait(|state| is_told(&state.sessions[0].connection))
        .await;
    let ConnectionState::Failed { step, errors, .. } = bench.connection() else {
        panic!("{:?}", bench.connection());
    };
    assert_eq!(step, Step::Start, "{errors:?}");
    assert!(
        errors.iter().any(|error| error.contains("exit status: 3")),
        "{errors:?}"
    );
    assert_eq!(bench.inspector.query("status:open", 0, 9).matching, 0);
}

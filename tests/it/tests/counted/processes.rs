//! Servers that are processes, and go wrong as processes do. Their time is the world's.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use turnbuckle_client::{Client, EraPreference, Error, ReconnectPolicy};
use turnbuckle_it::peer::{children, open_files, shell};
use turnbuckle_session::transport::LinkError;
use turnbuckle_stdio::{Command, ShutdownTimeouts};

use super::{Clock, alone, leaves_nothing, tasks, text_of};

/// Long enough for a process, and short enough for a test.
const SOON: Duration = Duration::from_secs(10);

async fn connect(command: Command) -> Client {
    let reconnects = ReconnectPolicy::new().initial_backoff(Duration::from_millis(1));
    let times = ShutdownTimeouts::new()
        .close_timeout(Duration::from_millis(100))
        .term_timeout(Duration::from_millis(300));
    Client::builder("c", "1")
        .era(EraPreference::Legacy)
        .reconnect_policy(reconnects)
        .connect(command.shutdown(times).max_message_bytes(1 << 20))
        .await
        .unwrap()
}

/// Makes one call of a server with that fault, and holds that no process is left of it.
async fn fault(fault: &str, patience: Duration) -> Error {
    let client = connect(shell(fault)).await;
    let call = client.call_tool("t", &()).idle_timeout(patience);
    let error = timeout(SOON, call.send()).await.unwrap().unwrap_err();
    assert_eq!(client.in_flight(), Default::default(), "{error}");
    timeout(SOON, client.close()).await.unwrap();
    assert_eq!(children(), 0, "{error}");
    error
}

#[test]
fn an_exit_is_told_with_its_status_and_last_words() {
    alone(Clock::Real, async {
        let error = fault("echo 'out of luck' >&2; exit 7", SOON).await;
        let Error::ConnectionLost {
            sent: true,
            reason: LinkError::ProcessExited { status, stderr, .. },
        } = &error
        else {
            panic!("{error:?}")
        };
        assert!(
            status.contains('7') && stderr.contains("out of luck"),
            "{error}"
        );
        let text = error.to_string();
        assert!(
            text.starts_with("the server's process ended (exit status: 7); it said: out of luck")
        );
        assert!(
            text.ends_with("the server may have acted upon the request"),
            "{text}"
        );
        let error = fault("kill -9 $$", SOON).await;
        assert!(error.to_string().contains("signal: 9"), "{error}");
    });
}

#[test]
fn half_a_line_and_an_exit_is_an_exit() {
    alone(Clock::Real, async {
        let error = fault(
            r#"printf '{"jsonrpc":"2.0","id":%s,"res' "$id"; exit 0"#,
            SOON,
        )
        .await;
        assert!(
            matches!(
                &error,
                Error::ConnectionLost {
                    sent: true,
                    reason: LinkError::ProcessExited { .. }
                }
            ),
            "{error:?}"
        );
    });
}

#[test]
fn silence_ends_at_the_deadline_and_a_server_that_will_not_go_is_killed() {
    alone(Clock::Real, async {
        let patience = Duration::from_millis(300);
        let error = fault("trap '' TERM; sleep 60 & wait; sleep 60", patience).await;
        assert!(error.is_timeout(), "{error:?}");
        assert!(
            error
                .to_string()
                .starts_with("no answer within 300ms of silence"),
            "{error}"
        );
    });
}

#[test]
fn an_output_that_is_closed_by_a_process_that_stays_is_told() {
    alone(Clock::Real, async {
        let error = fault("exec 1>&-; sleep 60", SOON).await;
        assert!(
            matches!(
                &error,
                Error::ConnectionLost {
                    sent: true,
                    reason: LinkError::ConnectionLost { .. }
                }
            ),
            "{error:?}"
        );
    });
}

#[test]
fn a_line_of_100_mb_is_refused_by_name_and_the_next_call_is_answered() {
    alone(Clock::Real, async {
        let client = connect(shell(
        "case $line in *long*) head -c 100000000 /dev/zero | tr '\\0' x; echo ;; *) answer ;; esac",
    ))
    .await;
        // It may take a while to write.
        let call = client.call_tool("long", &()).idle_timeout(SOON);
        let error = timeout(SOON, call.send()).await.unwrap().unwrap_err();
        assert!(
            matches!(&error, Error::ConnectionLost { reason: LinkError::MessageTooLarge { limit }, .. } if *limit == 1 << 20),
            "{error:?}"
        );
        // The rest of the line is still to come.
        let call = client.call_tool("short", &()).idle_timeout(SOON);
        timeout(SOON, call.send()).await.unwrap().unwrap();
        client.close().await;
        assert_eq!(children(), 0);
    });
}

#[test]
fn a_flood_of_notifications_and_noise_is_passed_over() {
    alone(Clock::Real, async {
        let client = connect(shell(
        r#"yes '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}' | head -n 100000
        yes 'Server running' | head -n 1000
        answer; answer"#,
    ))
    .await;
        let call = client.call_tool("t", &()).idle_timeout(SOON);
        timeout(SOON, call.send()).await.unwrap().unwrap();
        client.close().await;
        assert_eq!(children(), 0);
    });
}

#[test]
fn a_server_that_dies_again_and_again_is_given_up() {
    alone(Clock::Real, async {
        let client = connect(shell("exit 1")).await;
        for _ in 0..6 {
            let error = timeout(SOON, text_of(&client, "t"))
                .await
                .unwrap()
                .unwrap_err();
            assert!(
                matches!(
                    &error,
                    Error::ConnectionLost {
                        reason: LinkError::ProcessExited { .. },
                        ..
                    }
                ),
                "{error:?}"
            );
        }
        let error = text_of(&client, "t").await.unwrap_err();
        assert!(
            matches!(&error, Error::ReconnectsExhausted { attempts: 5, .. }),
            "{error:?}"
        );
        assert!(
            error
                .to_string()
                .contains("the server's process ended (exit status: 1)"),
            "{error}"
        );
        client.close().await;
        assert_eq!(children(), 0);
    });
}

#[test]
fn an_error_names_the_command_that_is_not_a_server() {
    alone(Clock::Real, async {
        for (command, what) in [
            (Command::new("/no/such/program"), "/no/such/program"),
            (Command::new("true"), "ended"),
            (
                Command::new("sh")
                    .arg("-c")
                    .arg("echo usage: sh >&2; exit 2"),
                "usage: sh",
            ),
        ] {
            let began = Instant::now();
            let connected = Client::builder("c", "1").connect(command).await;
            let error = connected.unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
            assert!(began.elapsed() < SOON);
            assert_eq!(children(), 0);
        }
    });
}

const ROUNDS: usize = 1000;
const AT_ONCE: usize = 50;

#[test]
fn a_thousand_rounds_leave_neither_process_nor_pipe() {
    alone(Clock::Real, async {
        // What the runtime opens for itself with its first process stays.
        connect(shell("answer")).await.close().await;
        let before = (tasks(), open_files());
        let mut rounds = JoinSet::new();
        for first in 0..AT_ONCE {
            rounds.spawn(async move {
                for number in (first..ROUNDS).step_by(AT_ONCE) {
                    round(number).await;
                }
            });
        }
        while let Some(done) = rounds.join_next().await {
            done.unwrap();
        }
        leaves_nothing(before).await;
    });
}

async fn round(number: usize) {
    let (script, patience) = match number % 6 {
        0 => ("answer", SOON),
        1 => ("exit 3", SOON),
        2 => ("sleep 60 & exit 0", SOON),
        3 => ("sleep 60", Duration::from_millis(30)),
        4 => ("printf '{'; exit 0", SOON),
        _ => ("exec 1>&-; sleep 60", Duration::from_millis(30)),
    };
    let client = connect(shell(script)).await;
    let call = client.call_tool("t", &()).idle_timeout(patience);
    let outcome = timeout(SOON, call.send()).await.unwrap();
    assert_eq!(
        outcome.is_ok(),
        number.is_multiple_of(6),
        "{number} {outcome:?}"
    );
    assert_eq!(client.in_flight(), Default::default());
    // Every other one is just dropped.
    if number % 4 < 2 {
        timeout(SOON, client.close()).await.unwrap();
    }
}

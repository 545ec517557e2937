//! Limits on the progress notifications of a request.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_server::{Args, HandlerContext, Server, Tool};
use turnbuckle_session::handler::{Limits, Rate};

use crate::servers::Seconds;
use crate::support::result;

/// Creates a server whose tool reports five steps at once, then one that falls back, and then takes
/// a while.
fn hasty() -> Server {
    let steps = async |Args(nap): Args<Seconds>, context: HandlerContext| {
        // The last falls back and says nothing new.
        for step in [1, 2, 3, 4, 5, 4] {
            context.progress(step, None).await;
        }
        if nap.seconds > 0 {
            tokio::time::sleep(Duration::from_secs(nap.seconds)).await;
        }
        "done"
    };
    let server = Server::new("hasty", "1.0.0").tool(Tool::builder("steps").handler(steps));
    server.build().unwrap()
}

fn options(rate: Rate) -> ClientOptions {
    ClientOptions::new()
        .limits(Limits::new().progress_rate(rate))
        .progress_tokens()
}

fn steps(seconds: u64) -> Value {
    json!({"name": "steps", "arguments": {"seconds": seconds}})
}

/// Returns the steps that these messages report.
fn progress_steps(messages: &[Value]) -> Vec<u64> {
    let values = messages
        .iter()
        .map(|message| &message["params"]["progress"]);
    values.filter_map(Value::as_u64).collect()
}

// requirement: c4d3c9eeb766
#[tokio::test(start_paused = true)]
async fn the_newest_of_too_frequent_progress_reports_is_sent_later() {
    for case in Case::all() {
        let options = options(Rate::per_second(2).burst(2));
        let mut client = Client::connect_with(case, &hasty(), options).await;
        let call = client.start("tools/call", steps(50)).await;
        client.wait(Duration::from_millis(490)).await;
        assert_eq!(progress_steps(&client.messages().await), [1, 2], "{case}");
        client.wait(Duration::from_millis(20)).await;
        assert_eq!(progress_steps(&client.messages().await), [5], "{case}");
        result(&client.response(call).await);
        assert_eq!(progress_steps(&client.messages().await), [0; 0], "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_report_goes_before_the_answer() {
    for case in Case::all() {
        for seconds in [0, 1] {
            let options = options(Rate::per_second(0).burst(3));
            let mut client = Client::connect_with(case, &hasty(), options).await;
            let answer = client.request("tools/call", steps(seconds)).await;
            result(&answer);
            let reported = progress_steps(client.received_messages());
            assert_eq!(reported, [1, 2, 3, 5], "{case} {seconds}");
            let last = client.received_messages().last().expect("the answer");
            assert_eq!(last["id"], answer["id"], "{case} {seconds}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_task_waits_for_a_progress_report_after_the_end_of_its_request() {
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    for case in Case::all() {
        for rate in [Rate::per_second(0), Rate::per_second(1)] {
            let mut client = Client::connect_with(case, &hasty(), options(rate)).await;
            client.settle().await;
            let before = tasks();
            result(&client.request("tools/call", steps(0)).await);
            client.settle().await;
            assert!(tasks() <= before, "{case} {rate:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn all_reports_are_sent_that_come_slowly_enough() {
    for case in Case::all() {
        let mut client = Client::connect_with(case, &hasty(), options(Rate::per_second(5))).await;
        result(&client.request("tools/call", steps(0)).await);
        assert_eq!(
            progress_steps(client.received_messages()),
            [1, 2, 3, 4, 5],
            "{case}"
        );
    }
}

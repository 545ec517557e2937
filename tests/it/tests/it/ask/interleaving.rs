//! Any program of questions and things done once, with any client, in both eras.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{Ask, AskError, Failure};
use turnbuckle_types::SamplingMessageContentBlock;

use super::{Answer, accept, both, call, connect, server, tool};
use crate::support::{retry, text};

/// A part of a program.
#[derive(Debug, Clone)]
enum Part {
    /// Asks something; of several equal questions the order tells them apart.
    Form(u8),
    Sample(u8),
    /// Does something once, failing that many times before.
    Once(u8),
    /// Takes some time, another one in each run.
    Wait,
    /// At the same time.
    Join(Vec<Vec<Part>>),
}

fn any_program() -> impl Strategy<Value = Vec<Part>> {
    let leaf = prop_oneof![
        3 => (0u8..3).prop_map(Part::Form),
        1 => (0u8..2).prop_map(Part::Sample),
        2 => (0u8..2).prop_map(Part::Once),
        1 => Just(Part::Wait),
    ];
    let part = leaf.prop_recursive(2, 10, 3, |part| {
        let branch = prop::collection::vec(part, 1..3);
        prop::collection::vec(branch, 2..4).prop_map(Part::Join)
    });
    prop::collection::vec(part, 1..5)
}

/// Observations of the runs of a program.
#[derive(Debug, Default)]
struct Trace {
    /// A small generator, so that a failing case fails again.
    seed: u64,
    /// Answer received at each place.
    heard: HashMap<String, String>,
    /// Number of times that each body ran, and that it succeeded.
    bodies: HashMap<String, (u8, u8)>,
}

impl Trace {
    fn next(&mut self, below: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed % below
    }
}

type Shared = Arc<Mutex<Trace>>;
type Running = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;

/// Records an answer and asserts that every run gets the same one at the same place.
fn record_answer(trace: &Shared, place: &str, message: &str, answer: &str) {
    assert!(answer.starts_with(message), "{place}: {message} {answer}");
    let mut trace = trace.lock().unwrap();
    let before = trace
        .heard
        .entry(place.to_owned())
        .or_insert_with(|| answer.to_owned());
    assert_eq!(before, answer, "{place}");
}

fn run(ask: Ask, parts: Vec<Part>, place: String, nested: bool, trace: Shared) -> Running {
    Box::pin(async move {
        for (at, part) in parts.into_iter().enumerate() {
            let place = format!("{place}/{at}");
            // Questions that are asked at the same time differ.
            let message = |number: u8| match nested {
                true => format!("{place}:{number};"),
                false => format!("{number};"),
            };
            match part {
                Part::Form(number) => {
                    let message = message(number);
                    let said: Answer = ask.form(message.as_str()).await?;
                    record_answer(&trace, &place, &message, &said.said);
                }
                Part::Sample(number) => {
                    let message = message(number);
                    let question = ask.sample(message.as_str());
                    let said = question.key(format!("key {place}")).await?;
                    let SamplingMessageContentBlock::Text(said) = &said.content.as_slice()[0]
                    else {
                        panic!("no text");
                    };
                    record_answer(&trace, &place, &message, &said.text);
                }
                Part::Once(failures) => {
                    let body = async {
                        let wait = trace.lock().unwrap().next(3);
                        tokio::time::sleep(Duration::from_millis(wait)).await;
                        let mut trace = trace.lock().unwrap();
                        let serial = trace.next(1000);
                        let (runs, successes) = trace.bodies.entry(place.clone()).or_default();
                        *runs += 1;
                        if *runs <= failures {
                            return Err(Failure::new("not yet"));
                        }
                        *successes += 1;
                        Ok(serial.to_string())
                    };
                    match ask.once(&format!("once {place}"), body).await {
                        Ok(value) => record_answer(&trace, &place, "", &value),
                        Err(AskError::Failed(_)) => {}
                        Err(other) => return Err(other.into()),
                    }
                }
                Part::Wait => {
                    let wait = trace.lock().unwrap().next(4);
                    tokio::time::sleep(Duration::from_millis(wait)).await;
                }
                Part::Join(branches) => {
                    let branch = |(at, parts)| {
                        run(
                            ask.clone(),
                            parts,
                            format!("{place}.{at}"),
                            true,
                            trace.clone(),
                        )
                    };
                    let mut waiting: Vec<Running> =
                        branches.into_iter().enumerate().map(branch).collect();
                    // Another branch is first in each poll.
                    std::future::poll_fn(|cx| {
                        if !waiting.is_empty() {
                            let by = trace.lock().unwrap().next(waiting.len() as u64);
                            waiting.rotate_left(by as usize);
                        }
                        let mut failed = None;
                        waiting.retain_mut(|it| match it.as_mut().poll(cx) {
                            Poll::Pending => true,
                            Poll::Ready(Ok(())) => false,
                            Poll::Ready(Err(failure)) => {
                                failed = Some(failure);
                                false
                            }
                        });
                        match failed {
                            Some(failure) => Poll::Ready(Err(failure)),
                            None if waiting.is_empty() => Poll::Ready(Ok(())),
                            None => Poll::Pending,
                        }
                    })
                    .await?;
                }
            }
        }
        Ok(())
    })
}

/// Returns an answer that repeats the question and carries a serial number.
fn serial(method: &str, params: &Value, serial: u64) -> Value {
    match method {
        "elicitation/create" => {
            let said = format!("{}{serial}", params["message"].as_str().unwrap());
            accept(json!({"said": said}))
        }
        _ => {
            let asked = params["messages"][0]["content"]["text"].as_str().unwrap();
            let text = format!("{asked}{serial}");
            json!({"role": "assistant", "content": {"type": "text", "text": text}, "model": "m"})
        }
    }
}

/// Runs a modern client that answers a chosen part of the questions in each round.
async fn modern(client: &mut Client, trace: &Shared) -> Value {
    let (mut params, mut number) = (call(), 0);
    for _ in 0..200 {
        let response = client.request("tools/call", params).await;
        if response["result"]["resultType"] != "input_required" {
            return response;
        }
        params = retry(&call(), &response["result"], |it| {
            number += 1;
            serial(&it.method, &it.params, number)
        });
        if let Some(answers) = params["inputResponses"].as_object_mut() {
            answers.retain(|_, _| trace.lock().unwrap().next(3) > 0);
            answers.insert("unknown".to_owned(), json!({"action": "accept"}));
        }
    }
    panic!("asked without an end");
}

/// Runs a legacy client that answers in any order.
async fn legacy(client: &mut Client, trace: &Shared) -> Value {
    let id = client.start("tools/call", call()).await;
    let (mut open, mut number): (Vec<Value>, u64) = (Vec::new(), 0);
    for _ in 0..2000 {
        let messages = client.messages().await;
        open.extend(
            messages
                .into_iter()
                .filter(|it| !it["id"].is_null() && it["method"].is_string()),
        );
        if !open.is_empty() {
            let at = trace.lock().unwrap().next(open.len() as u64) as usize;
            let asked = open.swap_remove(at);
            number += 1;
            let method = asked["method"].as_str().unwrap();
            let answer = serial(method, &asked["params"], number);
            client.answer(&asked["id"], answer).await;
        } else {
            client.wait(Duration::from_millis(1)).await;
        }
        if client.is_answered(id).await {
            return client.response(id).await;
        }
    }
    panic!("no response: {open:?}");
}

async fn play(case: Case, program: Vec<Part>, seed: u64) {
    let trace = Arc::new(Mutex::new(Trace {
        seed: seed | 1,
        ..Trace::default()
    }));
    let server = server(tool({
        let (program, trace) = (program.clone(), trace.clone());
        move |ask: Ask| {
            let running = run(ask, program.clone(), String::new(), false, trace.clone());
            async move { running.await.map(|()| "done") }
        }
    }));
    let mut client = connect(case, &server).await;
    let answer = match case.is_modern() {
        true => modern(&mut client, &trace).await,
        false => legacy(&mut client, &trace).await,
    };
    assert_eq!(text(&answer), "done", "{program:?}");
    for (place, (_, successes)) in &trace.lock().unwrap().bodies {
        assert!(
            *successes <= 1,
            "{place} succeeded {successes} times: {program:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_interleaving_gives_the_same_answers_and_runs_once_blocks_once(
        program in any_program(),
        seed in any::<u64>(),
    ) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().unwrap();
        for case in both() {
            runtime.block_on(play(case, program.clone(), seed));
        }
    }
}

//! Limits on the rate and the number of questions that a server asks our client.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_client::{ClientBuilder, Error, Form, FormAnswer, QuestionContext};
use turnbuckle_it::coupled::Coupled;
use turnbuckle_it::harness::Case;
use turnbuckle_session::handler::Rate;
use turnbuckle_session::transport::ClientLimits;
use turnbuckle_types::{CreateMessageRequestParams, CreateMessageResult, Role};

use crate::asking;
use crate::client_support::{full_server, plain};

/// Returns a client that answers forms and asks its model.
fn able(limits: ClientLimits) -> ClientBuilder {
    plain()
        .limits(limits)
        .on_form(async |_: Form, _: QuestionContext| FormAnswer::accept([("name", "Ada")]))
        .on_sampling(async |_: CreateMessageRequestParams, _: QuestionContext| {
            Ok(CreateMessageResult::new(Role::Assistant, "yes", "m"))
        })
}

fn twice() -> Rate {
    Rate::per_second(1).burst(2)
}

/// Returns the refusal of the last question: the client's error in the modern era, in which a
/// question cannot be answered with one, and the error response in the legacy era.
fn refusal(client: &Coupled, case: Case, called: Result<Value, Error>) -> (Option<i64>, String) {
    if case.is_modern() {
        let error = called.expect_err("it is not answered");
        assert!(
            matches!(error, Error::InputUnanswered { .. }),
            "{case}: {error}"
        );
        return (None, error.to_string());
    }
    let answers = client.tap().answers();
    let error = &answers.last().expect("an answer")["error"];
    let message = error["message"].as_str().expect("an error").to_owned();
    (error["code"].as_i64(), message)
}

async fn ask(client: &Coupled, kind: &str) -> Result<Value, Error> {
    let called = client.call_tool("ask", &json!({"kinds": kind})).await?;
    Ok(serde_json::to_value(&called).expect("JSON"))
}

/// Returns whether a question was answered.
fn is_answered(called: &Result<Value, Error>) -> bool {
    called
        .as_ref()
        .is_ok_and(|result| result["isError"] != true)
}

// requirement: 8d15be1d8655
#[tokio::test(start_paused = true)]
async fn sampling_that_is_asked_for_too_fast_is_refused_with_the_pages_code() {
    for case in Case::all() {
        let limits = ClientLimits::new().sampling_rate(twice());
        let client = Coupled::connect(case, &asking::server(), able(limits)).await;
        for _ in 0..2 {
            let called = ask(&client, "sample").await;
            assert!(is_answered(&called), "{case}: {called:?}");
        }
        let refused = ask(&client, "sample").await;
        let (code, message) = refusal(&client, case, refused);
        assert!(code.is_none_or(|code| code == -1), "{case}: {code:?}");
        assert!(
            message.contains("(ClientLimits::sampling_rate)"),
            "{case}: {message}"
        );
        tokio::time::sleep(Duration::from_secs(1)).await;
        let called = ask(&client, "sample").await;
        assert!(is_answered(&called), "{case}: {called:?}");
    }
}

// requirement: 8d15be1d8655
#[tokio::test(start_paused = true)]
async fn questions_beyond_the_rate_are_not_shown_to_the_user() {
    let asks = Case::all()
        .into_iter()
        .filter(|case| case.revision.features().elicitation);
    for case in asks {
        let limits = ClientLimits::new()
            .elicitation_rate(twice())
            .sampling_rate(Rate::per_second(0));
        let client = Coupled::connect(case, &asking::server(), able(limits)).await;
        for _ in 0..2 {
            let called = ask(&client, "form").await;
            assert!(is_answered(&called), "{case}: {called:?}");
        }
        let refused = ask(&client, "form").await;
        let (code, message) = refusal(&client, case, refused);
        assert!(code.is_none_or(|code| code == -32603), "{case}: {code:?}");
        assert!(
            message.contains("(ClientLimits::elicitation_rate)"),
            "{case}: {message}"
        );
        tokio::time::sleep(Duration::from_secs(1)).await;
        let called = ask(&client, "form").await;
        assert!(is_answered(&called), "{case}: {called:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_concurrent_questions_are_limited() {
    for case in Case::modern() {
        for (most, passes) in [(2, true), (1, false)] {
            let limits = ClientLimits::new().max_input_requests(most);
            let client = Coupled::connect(case, &asking::server(), able(limits)).await;
            let called = ask(&client, "form,sample").await;
            assert_eq!(is_answered(&called), passes, "{case}: {called:?}");
            if let Err(error) = called {
                let text = error.to_string();
                assert!(
                    text.contains("(ClientLimits::max_input_requests)"),
                    "{case}: {text}"
                );
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_has_so_many_pages_and_items() {
    let server = full_server();
    for case in Case::all() {
        let client = Coupled::connect(case, &server, plain()).await;
        let items = client.list_tools().fetch_all().await.unwrap().len();
        // Its pages hold two items.
        let pages = items.div_ceil(2);
        for (limits, passes) in [
            (
                ClientLimits::new()
                    .max_list_pages(pages)
                    .max_list_items(items),
                true,
            ),
            (ClientLimits::new().max_list_pages(pages - 1), false),
            (ClientLimits::new().max_list_items(items - 1), false),
        ] {
            let client = Coupled::connect(case, &server, plain().limits(limits)).await;
            let listed = client.list_tools().fetch_all().await;
            assert_eq!(listed.is_ok(), passes, "{case}: {listed:?}");
            if let Err(error) = listed {
                let text = error.to_string();
                assert!(
                    text.contains("ClientLimits::max_list_pages"),
                    "{case}: {text}"
                );
            }
        }
    }
}

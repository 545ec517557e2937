//! Handlers that ask the client.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use super::{call_error_text, call_text, error_code};
use crate::cells::each;
use crate::readers::Unable;

/// Returns the expected answer if the revision has this kind of question.
fn if_asked(can: bool, answer: &str) -> &str {
    match can {
        true => answer,
        false => "unsupported",
    }
}

#[test]
fn a_form_is_filled_in_declined_or_closed() {
    each(|at| async move {
        for (message, outcome) in [
            ("hello", "HELLO"),
            ("decline", "declined"),
            ("cancel", "cancelled"),
        ] {
            let text = call_text(&at, "form", json!({ "message": message })).await;
            assert_eq!(text, if_asked(at.reader.forms, outcome));
        }
    });
}

#[test]
fn several_questions_are_asked_at_once() {
    each(|at| async move {
        let answer = |word| if_asked(at.reader.forms, word);
        let all = ["ONE", "TWO", "THREE"].map(answer).join(" ");
        assert_eq!(call_text(&at, "forms", json!({})).await, all);
    });
}

#[test]
fn a_once_block_runs_once_over_all_rounds() {
    each(|at| async move {
        let answer = |word| if_asked(at.reader.forms, word);
        let asked = ["REALLY", "PRINTED"].map(answer).join(" ");
        let text = call_text(&at, "charge", json!({})).await;
        assert_eq!(text, format!("{asked}: receipt 1 of 1"));
    });
}

#[test]
fn a_blocking_handler_asks_and_reports_progress() {
    each(|at| async move {
        if at.cell.wires.is_some() {
            // The paused clock, on which simulated connections delay messages, does not advance
            // while a thread blocks.
            return;
        }
        let reports = Arc::new(AtomicU32::new(0));
        let count = reports.clone();
        let call = at.call_tool("waits", &()).on_progress(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let answer = |word| if_asked(at.reader.forms, word);
        let asked = ["REALLY", "PRINTED"].map(answer).join(" ");
        assert_eq!(call.await.unwrap().text(), format!("{asked}: true"));
        assert!(reports.load(Ordering::Relaxed) > 0);
    });
}

#[test]
fn a_handler_that_does_not_block_cannot_wait() {
    each(|at| async move {
        let refused = at.call_tool("cannot_wait", &()).await;
        assert_eq!(error_code(refused), -32603);
    });
}

#[test]
fn prompts_and_resources_ask_too() {
    each(|at| async move {
        let answer = |word| if_asked(at.reader.forms, word);
        let letter = at.get_prompt("letter", [("", ""); 0]).await.unwrap();
        let letter = letter.messages[0].content.as_text();
        let expected = format!("Write to {}", answer("ADA"));
        assert_eq!(letter, Some(expected.as_str()));
        let secret = at.read_resource("secrets://one").await.unwrap();
        let secret = serde_json::to_value(secret.contents).unwrap();
        let expected = format!("The word is {}", answer("SESAME"));
        assert_eq!(secret[0]["text"], expected);
    });
}

#[test]
fn a_user_is_sent_to_a_url() {
    each(|at| async move {
        for (page, outcome) in [
            ("https://example.com/in", "visited"),
            ("https://example.org/in", "declined"),
        ] {
            let text = call_text(&at, "url", json!({ "page": page })).await;
            assert_eq!(text, if_asked(at.reader.urls, outcome));
        }
    });
}

#[test]
fn a_model_is_asked() {
    each(|at| async move {
        let question = json!({"question": "What is the capital of Sweden?"});
        let text = call_text(&at, "sample", question).await;
        assert_eq!(text, "Stockholm");
    });
}

#[test]
fn a_client_tells_its_roots() {
    each(|at| async move {
        assert_eq!(call_text(&at, "roots", json!({})).await, "file:///work");
    });
}

#[test]
fn an_error_names_the_capability_that_the_client_lacks() {
    each(|at| async move {
        let mute = at.mute().await;
        match at.reader.unable {
            Unable::Told => {
                let text = call_error_text(&mute, "must_ask", json!({})).await;
                assert!(text.contains("sampling"), "{text}");
            }
            Unable::Refused(code) => {
                let answer = mute.call_tool("must_ask", &()).await;
                let text = format!("{answer:?}");
                assert!(text.contains("sampling"), "{text}");
                assert_eq!(error_code(answer), code);
            }
        }
        let text = call_text(&mute, "form", json!({"message": "hello"})).await;
        assert_eq!(text, "unsupported");
    });
}

//! Timeouts and concurrency limits of calls.

use serde_json::json;

use super::{call_error_text, call_text};
use crate::cells::each;

#[test]
fn a_handler_has_a_deadline() {
    each(|at| async move {
        let error = call_error_text(&at, "endless", json!({})).await;
        assert_eq!(error, "the call took longer than 50ms");
    });
}

#[test]
fn the_running_calls_are_limited() {
    each(|at| async move {
        let call = || call_text(&at, "alone", json!({}));
        let (a, b, c, d) = tokio::join!(call(), call(), call(), call());
        assert_eq!([a, b, c, d], ["1"; 4]);
    });
}

//! How long calls take, and how many run at once.

use serde_json::json;

use super::{failed, said};
use crate::cells::each;

#[test]
fn a_handler_has_a_deadline() {
    each(|at| async move {
        let told = failed(&at, "endless", json!({})).await;
        assert_eq!(told, "the call took longer than 50ms (Group::timeout)");
    });
}

#[test]
fn so_many_calls_run_at_once() {
    each(|at| async move {
        let call = || said(&at, "alone", json!({}));
        let (a, b, c, d) = tokio::join!(call(), call(), call(), call());
        assert_eq!([a, b, c, d], ["1"; 4]);
    });
}

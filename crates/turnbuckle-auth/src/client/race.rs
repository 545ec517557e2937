//! Two futures, of which the first result counts.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Runs two futures side by side, and returns the result of the one that ends first.
///
/// If both can go on, the first is polled first.
pub(super) async fn race<T>(first: impl Future<Output = T>, second: impl Future<Output = T>) -> T {
    let mut first = pin!(first);
    let mut second = pin!(second);
    poll_fn(|context| match first.as_mut().poll(context) {
        Poll::Pending => second.as_mut().poll(context),
        ready => ready,
    })
    .await
}

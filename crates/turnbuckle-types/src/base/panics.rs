//! Panics of code that a program brings along: they end what they belong to, and nothing else.

use std::future::poll_fn;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

/// Runs a function of the program.
///
/// # Errors
/// Returns the message of the panic when the function panics, for this side's log.
pub fn catch<T>(function: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(function)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        text.unwrap_or("no message").to_owned()
    })
}

/// Runs a future of the program, which `start` creates.
///
/// # Errors
/// Returns the message of the panic when `start` or the future panics, for this side's log.
pub fn catch_future<F: Future + Unpin>(
    start: impl FnOnce() -> F,
) -> impl Future<Output = Result<F::Output, String>> {
    let mut future = catch(start);
    poll_fn(move |cx| match &mut future {
        Ok(future) => match catch(|| Pin::new(future).poll(cx)) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        },
        Err(panic) => Poll::Ready(Err(mem::take(panic))),
    })
}

#[cfg(test)]
mod tests {
    use std::future::{Ready, ready};
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn a_panic_is_its_message() {
        assert_eq!(catch(|| 1), Ok(1));
        assert_eq!(catch(|| panic!("one")), Err::<(), _>("one".to_owned()));
        assert_eq!(catch(|| panic!("{}", 2)), Err::<(), _>("2".to_owned()));
    }
    #[test]
    fn a_future_may_panic_when_it_is_made_and_when_it_is_polled() {
        let mut cx = Context::from_waker(Waker::noop());
        let mut waits = true;
        let mut polled = catch_future(|| {
            poll_fn(|_| match mem::take(&mut waits) {
                true => Poll::<u8>::Pending,
                false => panic!("polled"),
            })
        });
        assert_eq!(Pin::new(&mut polled).poll(&mut cx), Poll::Pending);
        let error = |text: &str| Poll::Ready(Err(text.to_owned()));
        assert_eq!(Pin::new(&mut polled).poll(&mut cx), error("polled"));
        let mut made = catch_future(|| -> Ready<u8> { panic!("made") });
        assert_eq!(Pin::new(&mut made).poll(&mut cx), error("made"));
        let mut good = catch_future(|| ready(1));
        assert_eq!(Pin::new(&mut good).poll(&mut cx), Poll::Ready(Ok(1)));
    }
}

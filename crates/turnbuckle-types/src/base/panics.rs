//! Panics of code that a program brings along: they end what they belong to, and nothing else.

use std::panic::{AssertUnwindSafe, catch_unwind};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_its_message() {
        assert_eq!(catch(|| 1), Ok(1));
        assert_eq!(catch(|| panic!("one")), Err::<(), _>("one".to_owned()));
        assert_eq!(catch(|| panic!("{}", 2)), Err::<(), _>("2".to_owned()));
    }
}

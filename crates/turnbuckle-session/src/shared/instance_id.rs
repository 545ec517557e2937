//! Ids of requests to clients that name the instance of the server that sent them.

use std::sync::atomic::{AtomicU64, Ordering};

use turnbuckle_types::RequestId;

/// The characters of the name of an instance.
const INSTANCE_CHARS: usize = 8;

/// The most digits of the number of a request.
const MAX_DIGITS: usize = 19;

/// The number of the last request of this process to a client of a shared session. A session that is
/// forgotten and restored must not use an id again, which a count of its own would do.
static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);

/// Returns the id of another request that an instance sends to a client of a shared session.
pub(crate) fn next_tagged_id(instance: &str) -> RequestId {
    let number = LAST_NUMBER.fetch_add(1, Ordering::Relaxed) + 1;
    RequestId::from(format!("{instance}.{number}"))
}

/// Returns the instance that sent the request with this id, if the id has the form of
/// [`next_tagged_id`].
pub(crate) fn instance_of(id: &RequestId) -> Option<&str> {
    let RequestId::Str(id) = id else {
        return None;
    };
    let (instance, number) = id.split_once('.')?;
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_instance = instance.len() == INSTANCE_CHARS && instance.bytes().all(is_name);
    let is_number = (1..=MAX_DIGITS).contains(&number.len())
        && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_instance && is_number).then_some(instance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_the_instance_that_sent_the_request() {
        let (id, next) = (next_tagged_id("k3f9x2aq"), next_tagged_id("k3f9x2aq"));
        assert_ne!(id, next);
        assert_eq!(instance_of(&id), Some("k3f9x2aq"));
        for other in [
            "17",
            "k3f9x2aq",
            "k3f9x2aq.",
            ".17",
            "k3f9x2a.17",
            "k3f9x2aqq.17",
            "K3f9x2aq.17",
            "k3f9x2a/.17",
            "k3f9x2aq.1a",
            "k3f9x2aq.-1",
            "k3f9x2aq.1.2",
            "k3f9x2aq.12345678901234567890",
        ] {
            assert_eq!(instance_of(&RequestId::from(other)), None, "{other}");
        }
        assert_eq!(instance_of(&RequestId::from(17)), None);
    }
}

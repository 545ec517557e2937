//! The queue of tokens that wait for introspection or a verifier, shared by clients in turn.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::net::IpAddr;
use std::time::Duration;

use tokio::time::timeout;
use turnbuckle_types::base::fair_permits::{FairPermits, Permit};
use turnbuckle_types::{ClientAddress, Principal};

use super::TokenRejection;
use super::recent_tokens::RecentTokens;

/// The places of requests that wait.
const MAX_WAITING: usize = 4_096;
/// The longest time that a request waits for others.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The time for which a token that was good has a share of its own.
const KNOWN_CALLER_SECONDS: u64 = 60 * 60;
const MAX_KNOWN_CALLERS: usize = 10_000;

/// The client that a check of a token counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum VerificationClient {
    /// A principal whose token was good lately: the keyed hash of its identity.
    Caller(u64),
    /// Everybody else at a network address. None if the address is not known.
    Network(Option<IpAddr>),
}

/// The checks of opaque tokens that run at a time. A client address has half of them at most, and so has
/// a principal whose token was good lately, wherever it comes from. Others wait in turn.
pub(crate) struct VerificationQueue {
    permits: FairPermits<VerificationClient>,
    callers: RecentTokens<u64>,
    hasher: RandomState,
}

impl VerificationQueue {
    pub(crate) fn new(max_concurrent: usize) -> Self {
        Self {
            permits: FairPermits::new(max_concurrent, MAX_WAITING),
            callers: RecentTokens::new(MAX_KNOWN_CALLERS, KNOWN_CALLER_SECONDS),
            hasher: RandomState::new(),
        }
    }

    /// Waits until the token of a client may be checked.
    ///
    /// # Errors
    /// When too many others are checked or wait.
    pub(crate) async fn enter(
        &self,
        token: &str,
        address: Option<ClientAddress>,
        now: u64,
    ) -> Result<Permit<VerificationClient>, TokenRejection> {
        let client = match self.callers.get(token, now) {
            Some(caller) => VerificationClient::Caller(caller),
            None => VerificationClient::Network(address.map(ClientAddress::network)),
        };
        let unavailable = |reason: String| {
            let reason = format!("too many tokens are checked at a time: {reason}");
            Err(TokenRejection::Unavailable(reason))
        };
        match timeout(MAX_WAIT, self.permits.acquire(client)).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(error)) => unavailable(error.to_string()),
            Err(_) => unavailable(format!("it waited for {} s", MAX_WAIT.as_secs())),
        }
    }

    /// Takes in the result of a check: the caller, if the token is good.
    pub(crate) fn update(&self, token: &str, caller: Option<&Principal>, now: u64) {
        match caller {
            Some(caller) => {
                let caller = self.hasher.hash_one(caller.identity());
                self.callers.insert(token, caller, now);
            }
            None => self.callers.remove(token),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const NOW: u64 = 1_000;

    fn address(text: &str) -> Option<ClientAddress> {
        Some(ClientAddress(text.parse().unwrap()))
    }

    /// Enters so many tokens from one address, which all are checked.
    async fn enter_all(
        queue: &VerificationQueue,
        count: usize,
        address: Option<ClientAddress>,
    ) -> Vec<Permit<VerificationClient>> {
        let mut permits = Vec::new();
        for number in 0..count {
            let token = format!("{address:?} {number}");
            permits.push(queue.enter(&token, address, NOW).await.unwrap());
        }
        permits
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_waits_for_others_for_five_seconds_at_most() {
        let queue = VerificationQueue::new(32);
        let start = Instant::now();
        let _open = enter_all(&queue, 16, address("192.0.2.1")).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        let rejection = queue.enter("opaque", address("192.0.2.1"), NOW).await;
        let rejection = rejection.unwrap_err().to_string();
        assert!(rejection.ends_with("too many tokens are checked at a time: it waited for 5 s"));
        assert_eq!(start.elapsed(), MAX_WAIT);
    }

    #[tokio::test(start_paused = true)]
    async fn the_addresses_of_one_network_share_half_of_the_checks() {
        let queue = VerificationQueue::new(4);
        let start = Instant::now();
        let _open = enter_all(&queue, 2, address("2001:db8::1")).await;
        assert!(queue.enter("a", address("2001:db8::2"), NOW).await.is_err());
        assert_eq!(start.elapsed(), MAX_WAIT);
        let _other = enter_all(&queue, 2, address("2001:db8:0:1::1")).await;
        assert_eq!(start.elapsed(), MAX_WAIT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_principal_has_one_share_for_all_its_tokens_while_the_last_result_was_good() {
        let queue = VerificationQueue::new(8);
        let ann = Principal::new("https://as", "ann");
        for token in ["one", "two", "revoked"] {
            queue.update(token, Some(&ann), NOW);
        }
        queue.update("revoked", None, NOW);
        let stranger = address("192.0.2.1");
        let mut open = Vec::new();
        for token in ["one", "two", "one", "two"] {
            open.push(queue.enter(token, stranger, NOW).await.unwrap());
        }
        assert!(queue.enter("one", stranger, NOW).await.is_err());
        // A token that was refused since, and one that was good long ago, count for their address.
        let later = NOW + KNOWN_CALLER_SECONDS;
        for (token, now) in [("revoked", NOW), ("one", later), ("new", NOW)] {
            open.push(queue.enter(token, stranger, now).await.unwrap());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_tokens_that_wait_are_bounded() {
        let queue = VerificationQueue::new(0);
        let mut waiting = Vec::new();
        for number in 0..MAX_WAITING / 2 {
            let mut entering = Box::pin(queue.enter("a", address("192.0.2.1"), NOW));
            let polled = std::future::poll_fn(|cx| entering.as_mut().poll(cx).map(Some).map(drop));
            assert!(timeout(Duration::ZERO, polled).await.is_err(), "{number}");
            waiting.push(entering);
        }
        let rejection = queue
            .enter("b", address("192.0.2.1"), NOW)
            .await
            .unwrap_err();
        assert!(
            rejection
                .to_string()
                .ends_with("too many requests of this client wait")
        );
    }
}

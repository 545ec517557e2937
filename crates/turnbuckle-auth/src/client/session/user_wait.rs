//! The times in which an attempt waits for the user, and the requests that wait with it.

use std::pin::pin;

use tokio::sync::watch;
use turnbuckle_types::{PeerAddress, UserWait};

use super::AuthSession;
use crate::client::race::race;
use crate::transcript::Recorder;

/// A wait for the user. Dropping the value ends it.
pub(super) struct UserWaitScope<'a>(Option<&'a watch::Sender<bool>>);

impl Drop for UserWaitScope<'_> {
    fn drop(&mut self) {
        if let Some(waits) = self.0 {
            waits.send_replace(false);
        }
    }
}

impl AuthSession {
    /// Begins the wait for the login of a user. A grant without a user waits for nobody.
    pub(super) fn begin_user_wait(&self) -> UserWaitScope<'_> {
        let is_interactive = self.settings.grant.is_interactive();
        if is_interactive {
            self.waits_for_user.send_replace(true);
        }
        UserWaitScope(is_interactive.then_some(&self.waits_for_user))
    }

    /// Returns once an attempt waits for the user.
    pub(super) async fn user_wait_begun(&self) {
        let mut waits = self.waits_for_user.subscribe();
        // The sender is in `self`.
        let _ = waits.wait_for(|waits| *waits).await;
    }

    /// Runs the work of a request, and reports the times in which an attempt waits for the user: the
    /// timeouts of the request do not run meanwhile.
    pub(crate) async fn report_user_wait<T>(
        &self,
        reporter: Option<UserWait>,
        work: impl Future<Output = T>,
    ) -> T {
        let Some(reporter) = reporter else {
            return work.await;
        };
        let mut waits = self.waits_for_user.subscribe();
        let mut work = pin!(work);
        loop {
            let _reported = waits.borrow_and_update().then(|| reporter.begin());
            let changed = async {
                let _ = waits.changed().await;
                None
            };
            let done = race(async { Some(work.as_mut().await) }, changed).await;
            if let Some(output) = done {
                return output;
            }
        }
    }

    /// Takes in the address to which a request to the server went, if it is known.
    pub(crate) fn note_connection(&self, address: Option<PeerAddress>) {
        // A failure shows when the first request is sent.
        if let Ok(outbound) = self.outbound(&Recorder::new()) {
            outbound.note_connection(address.map(PeerAddress::ip));
        }
    }
}

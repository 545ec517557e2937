//! Connections that rest between requests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use http::uri::Authority;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::wire::Wire;

/// The resting connections of one client.
pub(crate) struct Pool {
    /// So many may rest at once; the one that has rested longest makes room.
    most: usize,
    /// How long one may rest.
    time: Duration,
    resting: Mutex<Resting>,
}

#[derive(Default)]
struct Resting {
    /// Whoever began to rest last is last.
    wires: Vec<(Instant, Box<Wire>)>,
    /// Somebody looks after those that rest too long.
    swept: bool,
}

impl Pool {
    pub(crate) fn new(most: usize, time: Duration) -> Self {
        Self {
            most,
            time,
            resting: Mutex::default(),
        }
    }

    fn resting(&self) -> MutexGuard<'_, Resting> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection to `authority` that was used last. It may have been closed meanwhile.
    pub(crate) fn take(&self, authority: &Authority) -> Option<Box<Wire>> {
        let (since, wire) = {
            let mut resting = self.resting();
            let wires = &mut resting.wires;
            let at = wires.iter().rposition(|(_, wire)| wire.leads_to(authority));
            wires.remove(at?)
        };
        (since.elapsed() < self.time).then_some(wire)
    }

    /// Keeps a connection for another request.
    pub(crate) fn put(self: &Arc<Self>, wire: Box<Wire>) {
        let (Ok(runtime), 1..) = (Handle::try_current(), self.most) else {
            return;
        };
        let mut resting = self.resting();
        if resting.wires.len() >= self.most {
            resting.wires.remove(0);
        }
        resting.wires.push((Instant::now(), wire));
        let swept = std::mem::replace(&mut resting.swept, true);
        // A runtime that is about to end drops the sweeper at once, which looks at the pool.
        drop(resting);
        if !swept {
            runtime.spawn(Sweeper(Arc::downgrade(self)).run(self.time));
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.resting().wires.len()
    }
}

/// Closes what rests too long, for as long as anything rests.
struct Sweeper(Weak<Pool>);

impl Sweeper {
    async fn run(mut self, time: Duration) {
        loop {
            tokio::time::sleep(time).await;
            let Some(pool) = self.0.upgrade() else {
                return;
            };
            let mut resting = pool.resting();
            resting.wires.retain(|(since, _)| since.elapsed() < time);
            if resting.wires.is_empty() {
                resting.swept = false;
                self.0 = Weak::new();
                return;
            }
        }
    }
}

/// Its runtime may end before it does.
impl Drop for Sweeper {
    fn drop(&mut self) {
        if let Some(pool) = self.0.upgrade() {
            pool.resting().swept = false;
        }
    }
}

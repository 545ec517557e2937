//! Eviction of ended streams and of idle sessions, when all memory of the server is used up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Weak};

use tokio::time::Instant;
use turnbuckle_session::internal::{EvictMemory, MemoryBudget, count_refusal};

use super::{HttpSession, SessionTable};

impl SessionTable {
    /// Lets the sessions make room when the memory of a budget is used up.
    pub(crate) fn evict_for(self: &Arc<Self>, budget: &MemoryBudget) {
        let table: Weak<Self> = Arc::downgrade(self);
        budget.add_evictor(table);
    }

    /// Removes a session if it is not in use.
    fn remove_unused(&self, id: &str) -> Option<Arc<HttpSession>> {
        let mut state = self.state();
        let session = state.by_id.get(id)?;
        if session.is_in_use() {
            return None;
        }
        state.remove(id)
    }
}

impl EvictMemory for SessionTable {
    fn evict_ended_streams(&self, is_enough: &dyn Fn() -> bool) {
        let state = self.state();
        let sessions: Vec<&Arc<HttpSession>> = state.by_id.values().collect();
        let first_end = |index: usize| -> Option<Reverse<(Instant, usize)>> {
            let ended_at = sessions[index].streams().oldest_ended_at()?;
            Some(Reverse((ended_at, index)))
        };
        let mut by_end: BinaryHeap<_> = (0..sessions.len()).filter_map(first_end).collect();
        let mut removed = 0;
        while !is_enough()
            && let Some(Reverse((_, index))) = by_end.pop()
        {
            sessions[index].streams().remove_oldest_ended();
            removed += 1;
            by_end.extend(first_end(index));
        }
        if removed > 0 {
            tracing::debug!(
                streams = removed,
                "streams that have ended made room for a request (Limits::max_total_bytes)"
            );
        }
    }

    fn evict_idle_sessions(&self, is_enough: &dyn Fn() -> bool) {
        let mut idle: Vec<(Instant, Box<str>)> = self
            .state()
            .by_id
            .iter()
            .filter(|(_, session)| !session.is_in_use())
            .map(|(id, session)| (*session.last_used(), id.clone()))
            .collect();
        idle.sort_unstable();
        let mut ended = 0;
        for (_, id) in idle {
            if is_enough() {
                break;
            }
            if let Some(session) = self.remove_unused(&id) {
                session.end();
                count_refusal("Limits::max_total_bytes");
                ended += 1;
            }
        }
        if ended > 0 {
            tracing::warn!(
                sessions = ended,
                "sessions that nobody used made room for a request (Limits::max_total_bytes)"
            );
        }
    }
}

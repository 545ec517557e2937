//! The count of what a server refuses because of a setting, for crates that know no metrics.

use std::sync::OnceLock;

static COUNTER: OnceLock<fn(&'static str)> = OnceLock::new();

/// Sets the function that counts a refusal by the name of its setting. The first one stays.
pub fn set_counter(counter: fn(&'static str)) {
    COUNTER.get_or_init(|| counter);
}

/// Counts what is refused, dropped or given up because of a setting of this name, if anything counts.
#[cold]
pub fn count_refusal(setting: &'static str) {
    if let Some(counter) = COUNTER.get() {
        counter(setting);
    }
}

//! The form in which attacks are played, and its times.

use std::path::PathBuf;
use std::time::Duration;

/// The time that one attack lasts in the long form.
pub(super) const LONG: Duration = Duration::from_secs(10);

/// The time that one attack lasts in the short form.
pub(super) const SHORT: Duration = Duration::from_millis(400);

/// The time that the server has to give back the resources of an attack: longer than the longest of its
/// timeouts.
pub(super) const SETTLE: Duration = Duration::from_secs(20);

/// The time between two samples of the usage.
pub(super) const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);

/// The form in which attacks are played: the long one by hand, the short one with the tests.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) time: Duration,
    pub(super) is_short: bool,
    /// The program that is attacked: this one, or another build of it.
    pub(super) server: PathBuf,
}

//! The measurements of an attack, and the bounds that they have to keep.

use std::fmt;
use std::time::Duration;

use super::form::Form;
use super::honest::Service;
use super::target::{KEPT_KIB, Usage};

/// Calls of the honest client that must be answered, in percent, and the time of 99 % of them.
const MIN_ANSWERED_PERCENT: usize = 90;
const MAX_P99: Duration = Duration::from_secs(1);

/// Calls that must be answered in the short form, in percent: it has few calls and shares its machine with
/// other work.
const SHORT_MIN_ANSWERED_PERCENT: usize = 1;

/// Resident memory above the idle size that a server may have, whatever its clients do.
const MAX_GROWTH_KIB: usize = 256 << 10;

/// Resident memory above the idle size that the allocator may keep after an attack for the next one: what
/// the server may hold at all, by the default of `Limits::max_total_bytes`, and a quarter for the gaps
/// between blocks.
const MAX_KEPT_KIB: usize = 160 << 10;

/// The measurements of one attack.
pub(super) struct Outcome {
    pub(super) name: &'static str,
    pub(super) attackers: usize,
    pub(super) start: Usage,
    pub(super) peak: Usage,
    /// Resources that are used afterwards. None if the server has ended, as one on a pipe does whose
    /// client reads nothing.
    pub(super) end: Option<Usage>,
    /// Resources that are used after each further wave of the attack, if memory was kept after the first.
    pub(super) again: Vec<Usage>,
    /// The service of the honest client, if there could be one.
    pub(super) service: Option<Service>,
}

/// Returns the names of the columns.
pub(super) fn header() -> String {
    format!(
        "{:<46}{:>9}{:>9}{:>9}{:>9}{:>9}{:>7}{:>7}{:>9}{:>7}{:>10}{:>8}{:>9}",
        "attack",
        "attackers",
        "idle MiB",
        "peak MiB",
        "end MiB",
        "again",
        "files",
        "after",
        "sessions",
        "after",
        "answered",
        "opened",
        "p99 ms"
    )
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |usage: &Usage| format!("{:.1}", usage.resident_kib as f64 / 1024.0);
        let end = |count: fn(&Usage) -> String| self.end.as_ref().map_or("-".to_owned(), count);
        write!(
            f,
            "{:<46}{:>9}{:>9}{:>9}{:>9}{:>9}{:>7}{:>7}{:>9}{:>7}",
            self.name,
            self.attackers,
            mib(&self.start),
            mib(&self.peak),
            self.end.as_ref().map_or("-".to_owned(), mib),
            self.again.last().map_or("-".to_owned(), mib),
            self.peak.files,
            end(|usage| usage.files.to_string()),
            self.peak.sessions,
            end(|usage| usage.sessions.to_string()),
        )?;
        let Some(service) = &self.service else {
            return write!(f, "{:>10}{:>8}{:>9}", "-", "-", "-");
        };
        let opened = service.opened_percent();
        write!(
            f,
            "{:>8} %{:>8}{:>9.1}",
            service.answered_percent(),
            opened.map_or("-".to_owned(), |percent| format!("{percent} %")),
            service.p99().as_secs_f64() * 1000.0
        )
    }
}

impl Outcome {
    /// Returns the bounds that do not hold.
    pub(super) fn broken_bounds(&self, form: &Form) -> Vec<String> {
        let mut broken = Vec::new();
        let mut hold = |holds: bool, what: String| {
            if !holds {
                broken.push(format!("{}: {what}", self.name));
            }
        };
        let (start, peak) = (self.start, self.peak);
        if let Some(service) = &self.service {
            let (answered, p99) = (service.answered_percent(), service.p99());
            let min = if form.is_short {
                SHORT_MIN_ANSWERED_PERCENT
            } else {
                MIN_ANSWERED_PERCENT
            };
            let text = format!("an honest client got {answered} % of its answers");
            hold(answered >= min, text);
            let text = format!("an honest client waited {p99:?}");
            hold(form.is_short || p99 < MAX_P99, text);
        }
        let growth = peak.resident_kib.saturating_sub(start.resident_kib);
        let text = format!("{growth} KiB above the idle size");
        hold(growth <= MAX_GROWTH_KIB, text);
        let Some(end) = self.end else {
            return broken;
        };
        let text = format!("{} descriptors before, {} after", start.files, end.files);
        hold(end.files <= start.files, text);
        if form.is_short {
            return broken;
        }
        let text = format!("{} sessions before, {} after", start.sessions, end.sessions);
        hold(end.sessions <= start.sessions, text);
        let (before, after) = (start.resident_kib, end.resident_kib);
        if self.again.is_empty() {
            let text = format!("{before} KiB before, {after} after");
            hold(end.is_near(start), text);
            return broken;
        }
        let mut kept = after;
        let mut added = 0;
        for wave in &self.again {
            added = wave.resident_kib.saturating_sub(kept);
            kept = kept.max(wave.resident_kib);
        }
        let text = format!("{before} KiB before, {kept} kept");
        hold(kept <= before + MAX_KEPT_KIB, text);
        // What leaks grows with each wave.
        let text = format!("{kept} KiB kept, of which the last wave added {added}");
        hold(added <= KEPT_KIB, text);
        broken
    }
}

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

/// Resident memory above the idle size that the allocator may keep after an attack for the next one.
const MAX_KEPT_KIB: usize = 64 << 10;

/// The measurements of one attack.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) name: &'static str,
    pub(super) attackers: usize,
    pub(super) start: Usage,
    pub(super) peak: Usage,
    /// Legacy sessions that the server had at most.
    pub(super) sessions: usize,
    /// Resources that are used afterwards. None if the server has ended, as one on a pipe does whose
    /// client reads nothing.
    pub(super) end: Option<Usage>,
    /// Resources that are used after each further wave of the attack, if memory was kept after the first.
    pub(super) again: Vec<Usage>,
    /// Tables that have more entries afterwards.
    pub(super) grown: Vec<String>,
    /// The service of the honest client, if there could be one.
    pub(super) service: Option<Service>,
}

/// Prints the names of the columns.
pub(super) fn print_header() {
    println!(
        "{:<46}{:>9}{:>9}{:>9}{:>9}{:>9}{:>7}{:>7}{:>9}{:>10}{:>8}{:>9}",
        "attack",
        "attackers",
        "idle MiB",
        "peak MiB",
        "end MiB",
        "again",
        "files",
        "after",
        "sessions",
        "answered",
        "opened",
        "p99 ms"
    );
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |usage: &Usage| format!("{:.1}", usage.resident_kib as f64 / 1024.0);
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let service = self.service.as_ref();
        let percent = |percent: usize| format!("{percent} %");
        write!(
            f,
            "{:<46}{:>9}{:>9}{:>9}{:>9}{:>9}{:>7}{:>7}{:>9}{:>10}{:>8}{:>9}",
            self.name,
            self.attackers,
            mib(&self.start),
            mib(&self.peak),
            or_dash(self.end.as_ref().map(mib)),
            or_dash(self.again.last().map(mib)),
            self.peak.files,
            or_dash(self.end.map(|usage| usage.files.to_string())),
            self.sessions,
            or_dash(service.map(|it| percent(it.answered_percent()))),
            or_dash(service.and_then(|it| it.opened_percent()).map(percent)),
            or_dash(service.map(|it| format!("{:.1}", it.p99().as_secs_f64() * 1000.0))),
        )
    }
}

impl Outcome {
    /// Returns the bounds that do not hold.
    pub(super) fn broken_bounds(&self, form: &Form) -> Vec<String> {
        let mut broken = Vec::new();
        let mut hold = |holds: bool, problem: String| {
            if !holds {
                broken.push(format!("{}: {problem}", self.name));
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
            let problem = format!("an honest client got {answered} % of its answers");
            hold(answered >= min, problem);
            let problem = format!("an honest client waited {p99:?}");
            hold(form.is_short || p99 < MAX_P99, problem);
        }
        let growth = peak.resident_kib.saturating_sub(start.resident_kib);
        let problem = format!("{growth} KiB above the idle size");
        hold(growth <= MAX_GROWTH_KIB, problem);
        let Some(end) = self.end else {
            return broken;
        };
        let problem = format!("{} descriptors before, {} after", start.files, end.files);
        hold(end.files <= start.files, problem);
        if form.is_short {
            return broken;
        }
        hold(self.grown.is_empty(), self.grown.join(", "));
        let before = start.resident_kib;
        let mut kept = end.resident_kib;
        let Some(last) = self.again.last() else {
            hold(
                end.is_near(start),
                format!("{before} KiB before, {kept} after"),
            );
            return broken;
        };
        for wave in &self.again[..self.again.len() - 1] {
            kept = kept.max(wave.resident_kib);
        }
        // Leaked memory grows with each wave.
        let added = last.resident_kib.saturating_sub(kept);
        kept += added;
        let problem = format!("{before} KiB before, {kept} kept");
        hold(kept <= before + MAX_KEPT_KIB, problem);
        let problem = format!("{kept} KiB kept, of which the last wave added {added}");
        hold(added <= KEPT_KIB, problem);
        broken
    }
}

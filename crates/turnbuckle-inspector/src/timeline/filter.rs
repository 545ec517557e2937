//! The language of filters: `method:tools/call status:error kind:stderr session:s1 >500ms text`.
//!
//! All words of a filter have to match. A word with a minus sign before it has not to. A word with a key
//! takes several values, separated by commas; a value that ends with `*` matches by its beginning.

use crate::api::{Entry, EntryKind, EntryStatus, FilterFault};

/// The longest filter, in bytes.
const MAX_FILTER_BYTES: usize = 1024;

/// The most words of a filter.
const MAX_WORDS: usize = 32;

/// A filter of entries.
#[derive(Debug, Default)]
pub struct Filter {
    words: Vec<Word>,
    faults: Vec<FilterFault>,
}

#[derive(Debug)]
struct Word {
    is_negated: bool,
    condition: Condition,
}

#[derive(Debug)]
enum Condition {
    Method(Vec<String>),
    Session(Vec<String>),
    Id(Vec<String>),
    Kind(Vec<EntryKind>),
    Status(Vec<EntryStatus>),
    Http(Vec<String>),
    About(Vec<u64>),
    Duration { is_more: bool, us: u64 },
    Size { is_more: bool, bytes: u64 },
    Text(String),
}

/// The names of the kinds of entries.
const KINDS: [(&str, EntryKind); 7] = [
    ("sent", EntryKind::Sent),
    ("received", EntryKind::Received),
    ("http", EntryKind::Http),
    ("stderr", EntryKind::Stderr),
    ("log", EntryKind::Log),
    ("life", EntryKind::Life),
    ("noise", EntryKind::Noise),
];

/// The names of the outcomes of entries.
const STATUSES: [(&str, EntryStatus); 6] = [
    ("none", EntryStatus::None),
    ("open", EntryStatus::Open),
    ("ok", EntryStatus::Ok),
    ("error", EntryStatus::Error),
    ("cancelled", EntryStatus::Cancelled),
    ("timed-out", EntryStatus::TimedOut),
];

/// The keys of words, for the fault of another one.
const KEYS: &str = "method, status, kind, session, id, http, about";

/// The units of durations in microseconds, and of sizes in bytes.
const UNITS: [(&str, bool, f64); 7] = [
    ("us", true, 1.0),
    ("ms", true, 1e3),
    ("s", true, 1e6),
    ("min", true, 6e7),
    ("B", false, 1.0),
    ("kB", false, 1e3),
    ("MB", false, 1e6),
];

impl Filter {
    /// Reads a filter. Words with a fault filter nothing; [`faults`](Self::faults) has them.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut filter = Self::default();
        if text.len() > MAX_FILTER_BYTES {
            let sentence = format!("a filter has at most {MAX_FILTER_BYTES} bytes");
            filter.add_fault("", sentence);
            return filter;
        }
        for word in split(text) {
            if filter.words.len() == MAX_WORDS {
                filter.add_fault(&word, format!("a filter has at most {MAX_WORDS} words"));
                break;
            }
            let (is_negated, plain) = match word.strip_prefix('-') {
                Some(rest) if !rest.is_empty() => (true, rest),
                _ => (false, &*word),
            };
            match parse_condition(plain) {
                Ok(condition) => filter.words.push(Word {
                    is_negated,
                    condition,
                }),
                Err(sentence) => filter.add_fault(&word, sentence),
            }
        }
        filter
    }

    /// Returns the words that are not understood.
    #[must_use]
    pub fn faults(&self) -> &[FilterFault] {
        &self.faults
    }

    /// Returns whether an entry passes. `has_text` says whether its text has a word.
    pub(super) fn matches(&self, entry: &Entry, has_text: impl Fn(&str) -> bool) -> bool {
        let matches = |word: &Word| word.condition.matches(entry, &has_text) != word.is_negated;
        self.words.iter().all(matches)
    }

    /// Returns the texts that are searched for.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.words.iter().filter_map(|word| match &word.condition {
            Condition::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    fn add_fault(&mut self, word: &str, sentence: String) {
        self.faults.push(FilterFault {
            word: word.to_owned(),
            sentence,
        });
    }
}

impl Condition {
    fn matches(&self, entry: &Entry, has_text: &impl Fn(&str) -> bool) -> bool {
        let any = |patterns: &[String], text: Option<&str>| {
            text.is_some_and(|text| patterns.iter().any(|pattern| fits(pattern, text)))
        };
        match self {
            Self::Method(patterns) => any(patterns, entry.method.as_deref()),
            Self::Session(patterns) => any(patterns, Some(&entry.session)),
            Self::Id(patterns) => {
                let id = entry.id.as_deref();
                any(patterns, id) || any(patterns, id.map(|id| id.trim_matches('"')))
            }
            Self::Kind(kinds) => kinds.contains(&entry.kind),
            Self::Status(statuses) => statuses.contains(&entry.status),
            Self::Http(patterns) => {
                let status = entry.http_status.map(|status| status.to_string());
                any(patterns, status.as_deref())
            }
            Self::About(numbers) => {
                let is_named = |n: u64| numbers.contains(&n);
                is_named(entry.n) || entry.about.is_some_and(is_named)
            }
            Self::Duration { is_more, us } => entry
                .duration_us
                .is_some_and(|duration| compare(duration, *us, *is_more)),
            Self::Size { is_more, bytes } => compare(entry.size, *bytes, *is_more),
            Self::Text(text) => has_text(text),
        }
    }
}

fn compare(value: u64, bound: u64, is_more: bool) -> bool {
    match is_more {
        true => value > bound,
        false => value < bound,
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => pattern == text,
    }
}

/// Splits a filter at spaces that are not in quotes.
fn split(text: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            c if c.is_whitespace() && !is_quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

fn parse_condition(word: &str) -> Result<Condition, String> {
    if let Some(bound) = word.strip_prefix(['>', '<']) {
        return parse_bound(bound, word.starts_with('>'));
    }
    let Some((key, values)) = word.split_once(':').filter(|(key, values)| {
        // `https://host` and `12:30` are texts.
        !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase()) && !values.starts_with("//")
    }) else {
        return Ok(Condition::Text(word.to_owned()));
    };
    let values: Vec<&str> = values
        .split(',')
        .filter(|value| !value.is_empty())
        .collect();
    if values.is_empty() {
        return Err(format!("a value belongs behind `{key}:`"));
    }
    let texts = || values.iter().map(|value| (*value).to_owned()).collect();
    Ok(match key {
        "method" => Condition::Method(texts()),
        "session" => Condition::Session(texts()),
        "id" => Condition::Id(texts()),
        "http" => Condition::Http(texts()),
        "kind" => Condition::Kind(look_up(&values, &KINDS)?),
        "status" => Condition::Status(look_up(&values, &STATUSES)?),
        "about" => {
            let numbers = values.iter().map(|value| value.parse());
            let numbers: Result<_, _> = numbers.collect();
            Condition::About(numbers.map_err(|_| "numbers of entries belong behind `about:`")?)
        }
        _ => {
            return Err(format!(
                "`{key}` is no key: there are {KEYS}; quote the word to search for it"
            ));
        }
    })
}

fn look_up<T: Copy>(values: &[&str], names: &[(&str, T)]) -> Result<Vec<T>, String> {
    let find = |value: &&str| {
        let found = names.iter().find(|(name, _)| name == value);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
            format!("`{value}` is none of {}", names.join(", "))
        })
    };
    values.iter().map(find).collect()
}

fn parse_bound(bound: &str, is_more: bool) -> Result<Condition, String> {
    let digits = bound
        .bytes()
        .take_while(|b| b.is_ascii_digit() || *b == b'.');
    let (number, unit) = bound.split_at(digits.count());
    let fault = || "a number with a unit belongs here: 500ms, 2s, 10kB".to_owned();
    let number: f64 = number.parse().map_err(|_| fault())?;
    let (_, is_time, factor) = UNITS
        .iter()
        .find(|(name, ..)| *name == unit)
        .ok_or_else(fault)?;
    let value = (number * factor) as u64;
    Ok(match is_time {
        true => Condition::Duration { is_more, us: value },
        false => Condition::Size {
            is_more,
            bytes: value,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            n: 5,
            at_us: 0,
            session: "s1".into(),
            kind: EntryKind::Sent,
            method: Some("tools/call".into()),
            id: Some("\"a\"".into()),
            status: EntryStatus::Error,
            http_status: Some(404),
            about: Some(3),
            answer: None,
            duration_us: Some(600_000),
            size: 2_000,
            summary: None,
        }
    }

    fn is_match(filter: &str) -> bool {
        let filter = Filter::parse(filter);
        assert_eq!(filter.faults(), []);
        filter.matches(&entry(), |text| text == "boom bang" || text == "12:30")
    }

    #[test]
    fn each_word_filters() {
        for passes in [
            "",
            "method:tools/call",
            "method:ping,tools/*",
            "status:error",
            "kind:stderr,sent",
            "session:s1",
            "id:a",
            "http:4*",
            "about:3",
            "about:5",
            ">500ms",
            "<1s",
            ">1.9kB",
            "<1MB",
            "\"boom bang\"",
            "12:30",
            "-status:ok",
            "-missing",
            "method:tools/* status:error >0.1s",
        ] {
            assert!(is_match(passes), "{passes}");
        }
        for fails in [
            "method:tools",
            "status:ok",
            "kind:log",
            "session:s",
            "id:b",
            "http:5*",
            "about:4",
            ">600ms",
            "<2kB",
            "missing",
            "-status:error",
            "status:error missing",
            "https://x",
        ] {
            assert!(!is_match(fails), "{fails}");
        }
    }

    #[test]
    fn faults_are_named_and_filter_nothing() {
        let filter = Filter::parse("mehtod:x status:bad >5 kind: about:x method:tools/call");
        let words: Vec<_> = filter.faults().iter().map(|fault| &*fault.word).collect();
        assert_eq!(words, ["mehtod:x", "status:bad", ">5", "kind:", "about:x"]);
        assert!(filter.matches(&entry(), |_| false));
        assert_eq!(Filter::parse(&"x".repeat(2000)).faults().len(), 1);
        assert_eq!(Filter::parse(&"x ".repeat(100)).faults().len(), 1);
    }
}

//! The difference of two JSON values, in words.

use std::collections::BTreeSet;

use serde_json::Value;
use turnbuckle_types::base::text::shorten;

/// The most differences that are named.
const MAX_DIFFERENCES: usize = 6;

/// Returns where two values differ, and how: `inputSchema/type: "a" is now "b"; …`.
pub(super) fn differences(before: &Value, after: &Value) -> String {
    let mut found = Differences::default();
    found.compare(before, after, &mut Vec::new());
    if found.omitted > 0 {
        found.words.push(format!("and {} more", found.omitted));
    }
    found.words.join("; ")
}

#[derive(Default)]
struct Differences {
    words: Vec<String>,
    omitted: usize,
}

impl Differences {
    fn compare<'v>(&mut self, before: &'v Value, after: &'v Value, path: &mut Vec<&'v str>) {
        match (before, after) {
            (before, after) if before == after => {}
            (Value::Object(one), Value::Object(other)) => {
                let names: BTreeSet<_> = one.keys().chain(other.keys()).collect();
                for name in names {
                    path.push(name);
                    match (one.get(name), other.get(name)) {
                        (Some(before), Some(after)) => self.compare(before, after, path),
                        (Some(before), None) => self.add(path, format!("{} is gone", show(before))),
                        (None, Some(after)) => self.add(path, format!("{} is new", show(after))),
                        (None, None) => {}
                    }
                    path.pop();
                }
            }
            (before, after) => {
                self.add(path, format!("{} is now {}", show(before), show(after)));
            }
        }
    }

    fn add(&mut self, path: &[&str], words: String) {
        if self.words.len() == MAX_DIFFERENCES {
            self.omitted += 1;
            return;
        }
        let path = shorten(&path.join("/"));
        let colon = if path.is_empty() { "" } else { ": " };
        self.words.push(format!("{path}{colon}{words}"));
    }
}

fn show(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        value => shorten(&value.to_string()),
    }
}

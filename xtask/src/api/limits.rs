//! How much a crate may offer, and of what its signatures may be made.

use rustdoc_types::ItemKind;

/// The most public items per 1,000 lines, over all the library crates.
const MOST: usize = 25;

/// Crates that are the language's own.
pub(super) const STANDARD: &[&str] = &["alloc", "core", "std"];

/// What of other crates may stand in signatures; where nothing is named, any trait may. A major
/// version of one of these is one of ours, so each has its reason.
const AGREED: &[(&str, &[&str])] = &[
    // What a user's own data derive.
    ("serde", &[]),
    ("serde_core", &[]),
    ("schemars", &["JsonSchema"]),
    // How services and layers of all makers fit together.
    ("tower_layer", &["Layer"]),
    ("tower_service", &["Service"]),
    // What those services are about over HTTP: hyper, axum and tower-http say it in the same types.
    ("http", &["Request", "Response"]),
    ("http_body", &["Body"]),
    // The pieces of such a body, and a frame that is shared without a copy.
    ("bytes", &["Buf", "Bytes"]),
    // What every combinator over items that arrive one by one takes.
    ("futures_core", &["Stream"]),
    // What a byte stream is to all that runs on tokio.
    ("tokio", &["AsyncRead", "AsyncWrite"]),
    // JSON as text that was checked and not taken apart, and why it could not be.
    ("serde_json", &["Error", "RawValue"]),
];

/// How large a crate is.
pub(super) struct Size {
    pub(super) package: String,
    /// Types, traits, functions, methods, constants, macros and modules that are public; a setter
    /// counts with its field.
    pub(super) items: usize,
    pub(super) lines: usize,
}

/// Whether an item of another crate may stand in a public signature.
pub(super) fn is_agreed(krate: &str, name: &str, kind: ItemKind) -> bool {
    let agreed = |(from, names): &(&str, &[&str])| {
        let any = names.is_empty() && kind == ItemKind::Trait;
        *from == krate && (any || names.contains(&name))
    };
    STANDARD.contains(&krate)
        || krate == "turnbuckle"
        || krate.starts_with("turnbuckle_")
        || AGREED.iter().any(agreed)
}

/// The crates' sizes as a table, with their sum.
pub(super) fn table(sizes: &[Size]) -> String {
    let mut table = format!(
        "{:<20} {:>6} {:>7} {:>10}\n",
        "crate", "items", "lines", "per 1,000"
    );
    let sum = sum(sizes);
    for Size {
        package,
        items,
        lines,
    } in sizes.iter().chain([&sum])
    {
        let per = *items as f64 * 1000.0 / (*lines).max(1) as f64;
        table.push_str(&format!(
            "{package:<20} {items:>6} {lines:>7} {per:>10.1}\n"
        ));
    }
    table
}

/// What is wrong with the sum.
pub(super) fn fault(sizes: &[Size]) -> Option<String> {
    let Size { items, lines, .. } = sum(sizes);
    (items * 1000 > MOST * lines).then(|| {
        let most = MOST * lines / 1000;
        format!(
            "{items} public items in {lines} lines: at most {most}, {MOST} per 1,000; \
             what nobody outside needs is `pub(crate)`"
        )
    })
}

fn sum(sizes: &[Size]) -> Size {
    Size {
        package: "together".into(),
        items: sizes.iter().map(|size| size.items).sum(),
        lines: sizes.iter().map(|size| size.lines).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(items: usize, lines: usize) -> Size {
        Size {
            package: "a".into(),
            items,
            lines,
        }
    }

    #[test]
    fn the_sum_counts_and_not_the_single_crate() {
        assert_eq!(fault(&[size(60, 1000), size(0, 1400)]), None);
        let fault = fault(&[size(60, 1000), size(1, 1400)]).unwrap();
        assert!(fault.starts_with("61 public items in 2400 lines: at most 60"));
    }

    #[test]
    fn the_table_shows_each_crate_and_the_sum() {
        let table = table(&[size(5, 100), size(20, 900)]);
        let last: Vec<_> = table.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(last, ["together", "25", "1000", "25.0"]);
        assert_eq!(table.lines().count(), 4);
    }

    #[test]
    fn traits_that_are_agreed_are_and_types_beside_them_are_not() {
        assert!(is_agreed("core", "Option", ItemKind::Enum));
        assert!(is_agreed("turnbuckle_types", "Tool", ItemKind::Struct));
        assert!(is_agreed("serde_core", "Serialize", ItemKind::Trait));
        assert!(is_agreed("tower_service", "Service", ItemKind::Trait));
        assert!(is_agreed("bytes", "Bytes", ItemKind::Struct));
        assert!(!is_agreed("bytes", "BytesMut", ItemKind::Struct));
        assert!(!is_agreed("serde_json", "Value", ItemKind::Enum));
        assert!(!is_agreed("schemars", "Schema", ItemKind::Struct));
        assert!(!is_agreed("schemars", "Transform", ItemKind::Trait));
        assert!(!is_agreed("hyper", "Request", ItemKind::Struct));
    }
}

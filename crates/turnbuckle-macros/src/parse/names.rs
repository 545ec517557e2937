//! Names: validity, suggestions, and conversion between cases.

use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::{Ident, LitStr};

/// Returns the text of an identifier: `r#type` is `type`.
pub(crate) fn ident_text(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// Checks the name of a tool.
pub(crate) fn check_tool_name(name: &str, span: Span) -> syn::Result<()> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let fault = if name.is_empty() {
        "it is empty".to_owned()
    } else if let Some(other) = name.chars().find(|c| !legal(*c)) {
        format!("{other:?} is not allowed")
    } else if name.len() > 128 {
        format!("it has {} characters", name.len())
    } else {
        return Ok(());
    };
    Err(syn::Error::new(
        span,
        format_args!(
            "{name:?} cannot be the name of a tool: {fault}; a name is 1 to 128 of the characters \
             `A-Z a-z 0-9 _ - .`"
        ),
    ))
}

/// Returns the most similar known name, if it is similar enough.
///
/// This is a small form of `turnbuckle_types::base::nearest`: this crate depends on none of ours,
/// which would be compiled twice then, for the program and for its compiler.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, near) = known
        .into_iter()
        .map(|known| (strsim::osa_distance(name, known), known))
        .min_by_key(|(distance, _)| *distance)?;
    let most = (name.chars().count().max(near.chars().count()) / 3).max(1);
    (distance <= most).then_some(near)
}

/// A naming convention, as serde's `rename_all` has it.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    /// The name that serde gives it.
    pub(crate) text: &'static str,
    join: fn(&str) -> String,
}

const CASES: [Case; 8] = [
    case("lowercase", str::to_owned),
    case("UPPERCASE", str::to_ascii_uppercase),
    case("PascalCase", type_name),
    case("camelCase", |name| {
        let pascal = type_name(name);
        let mut letters = pascal.chars();
        let first = letters.next().into_iter().flat_map(char::to_lowercase);
        first.chain(letters).collect()
    }),
    case("snake_case", str::to_owned),
    case("SCREAMING_SNAKE_CASE", str::to_ascii_uppercase),
    case("kebab-case", |name| name.replace('_', "-")),
    case("SCREAMING-KEBAB-CASE", |name| {
        name.to_ascii_uppercase().replace('_', "-")
    }),
];

const fn case(text: &'static str, join: fn(&str) -> String) -> Case {
    Case { text, join }
}

impl Case {
    /// Returns the case that serde gives this name.
    pub(crate) fn parse(written: &LitStr) -> syn::Result<Self> {
        let text = written.value();
        let found = CASES.into_iter().find(|case| case.text == text);
        found.ok_or_else(|| {
            let known: Vec<&str> = CASES.iter().map(|case| case.text).collect();
            syn::Error::new(
                written.span(),
                format_args!("{text:?} is not a case; the cases are {}", known.join(", ")),
            )
        })
    }

    /// Converts a snake_case name to this case.
    pub(crate) fn apply(self, name: &str) -> String {
        (self.join)(name)
    }
}

/// Converts a name to PascalCase: `next_day` gives `NextDay`.
pub(crate) fn type_name(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        first.chain(letters).collect::<String>()
    };
    name.split('_').map(capital).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_names_are_suggested() {
        let known = ["title", "description", "idempotent"];
        assert_eq!(nearest("titel", known), Some("title"));
        assert_eq!(nearest("desciption", known), Some("description"));
        assert_eq!(nearest("colour", known), None);
    }

    #[test]
    fn names_are_converted_to_every_case() {
        let joined: Vec<String> = CASES.iter().map(|case| case.apply("next_day")).collect();
        assert_eq!(
            joined,
            [
                "next_day", "NEXT_DAY", "NextDay", "nextDay", "next_day", "NEXT_DAY", "next-day",
                "NEXT-DAY"
            ]
        );
    }

    #[test]
    fn names_have_allowed_characters_only() {
        let check = |name: &str| check_tool_name(name, Span::call_site());
        assert!(check("deploy.now-2_x").is_ok());
        assert!(check(&"a".repeat(128)).is_ok());
        for bad in ["", "über", "a b", "a/b", &"a".repeat(129)] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}

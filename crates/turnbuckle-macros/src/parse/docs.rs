//! Doc comments as text.

use syn::{Attribute, Expr, Lit, Meta};

/// Returns the text of the doc comments without their common indentation; `None` if empty.
pub(crate) fn doc_text(attributes: &[Attribute]) -> Option<String> {
    let written: Vec<String> = attributes.iter().filter_map(raw_text).collect();
    let lines: Vec<&str> = written.iter().flat_map(|text| text.split('\n')).collect();
    let indentation = lines
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or_default();
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| line.get(indentation..).unwrap_or_default().trim_end())
        .collect();
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Returns whether an attribute is a doc comment.
pub(crate) fn is_doc(attribute: &Attribute) -> bool {
    attribute.path().is_ident("doc")
}

fn raw_text(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(doc) = &attribute.meta else {
        return None;
    };
    if !is_doc(attribute) {
        return None;
    }
    match &doc.value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(without_stars(&text.value())),
            _ => None,
        },
        _ => None,
    }
}

/// Removes the leading stars of a block comment if all lines have one.
fn without_stars(text: &str) -> String {
    let Some((first, rest)) = text.split_once('\n') else {
        return text.to_owned();
    };
    let has_star = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('*');
    if !rest.lines().all(has_star) {
        return text.to_owned();
    }
    let bare = |line: &str| line.trim_start().trim_start_matches('*').to_owned();
    let lines = rest.lines().map(bare);
    std::iter::once(first.to_owned())
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    #[test]
    fn common_indentation_is_removed() {
        let function: syn::ItemFn = parse_quote! {
            /// Adds.
            ///
            /// - the first
            ///   of two
            #[must_use]
            fn add() {}
        };
        assert_eq!(
            doc_text(&function.attrs).unwrap(),
            "Adds.\n\n- the first\n  of two"
        );
    }

    #[test]
    fn leading_stars_of_block_comments_are_removed() {
        let function: syn::ItemFn = parse_quote! {
            /**
             * Adds
             * two numbers.
             */
            fn add() {}
        };
        assert_eq!(doc_text(&function.attrs).unwrap(), "Adds\ntwo numbers.");
        let short: syn::ItemFn = parse_quote! { /** Adds. */ fn add() {} };
        assert_eq!(doc_text(&short.attrs).unwrap(), "Adds.");
        let none: syn::ItemFn = parse_quote! { /** */ fn add() {} };
        assert_eq!(doc_text(&none.attrs), None);
    }
}

//! The inside of an attribute: `read_only, name = "add", cache(ttl = 60, public)`.

use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Expr, ExprLit, Ident, Lit, LitStr, Path, Token, parenthesized};

use super::names::nearest;

/// Mistakes, all of which are told at once.
#[derive(Default)]
pub(crate) struct Mistakes(Option<syn::Error>);

impl Mistakes {
    pub(crate) fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    pub(crate) fn at(&mut self, span: Span, message: impl std::fmt::Display) {
        self.add(syn::Error::new(span, message));
    }

    /// What `result` holds; its error is noted.
    pub(crate) fn of<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    pub(crate) fn into_result(self) -> syn::Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

/// One key with what is said of it.
pub(crate) struct Key {
    pub(crate) name: Ident,
    value: Value,
}

enum Value {
    Nothing,
    Is(Expr),
    Has(Vec<Key>),
}

impl Parse for Key {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.call(Ident::parse_any)?;
        let value = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            Value::Is(input.parse()?)
        } else if input.peek(syn::token::Paren) {
            let inside;
            parenthesized!(inside in input);
            Value::Has(list(&inside)?)
        } else {
            Value::Nothing
        };
        Ok(Self { name, value })
    }
}

impl Key {
    /// What it is; a key alone is no value.
    pub(crate) fn expression(&self) -> syn::Result<&Expr> {
        match &self.value {
            Value::Is(value) => Ok(value),
            _ => Err(self.wrong(format_args!("`{0}` needs a value: `{0} = …`", self.name))),
        }
    }

    /// What it is, if it is more than the key.
    pub(crate) fn optional(&self) -> syn::Result<Option<&Expr>> {
        match &self.value {
            Value::Nothing => Ok(None),
            _ => self.expression().map(Some),
        }
    }

    /// A string literal.
    pub(crate) fn text(&self) -> syn::Result<LitStr> {
        let expression = self.expression()?;
        match expression {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) => Ok(text.clone()),
            _ => Err(syn::Error::new(
                expression.span(),
                format_args!("`{}` is a string literal", self.name),
            )),
        }
    }

    /// A path in a string. It stands where the attribute does, not where the string is: lints on
    /// what people write are not for what it becomes.
    pub(crate) fn path(&self) -> syn::Result<Path> {
        let text = self.text()?;
        syn::parse_str(&text.value()).map_err(|error| syn::Error::new(text.span(), error))
    }

    /// `key` or `key = true` or `key = false`.
    pub(crate) fn flag(&self) -> syn::Result<bool> {
        match &self.value {
            Value::Nothing => Ok(true),
            Value::Is(Expr::Lit(ExprLit {
                lit: Lit::Bool(flag),
                ..
            })) => Ok(flag.value),
            _ => Err(self.wrong(format_args!(
                "`{0}` stands alone, or is `{0} = true` or `{0} = false`",
                self.name
            ))),
        }
    }

    /// What stands in parentheses.
    pub(crate) fn list(self, known: &[&str], mistakes: &mut Mistakes) -> Vec<Key> {
        match self.value {
            Value::Has(keys) => checked(keys, known, &self.name.to_string(), mistakes),
            _ => {
                mistakes.add(self.wrong(format_args!("`{0}` has its parts: `{0}(…)`", self.name)));
                Vec::new()
            }
        }
    }

    fn wrong(&self, message: impl std::fmt::Display) -> syn::Error {
        syn::Error::new(self.name.span(), message)
    }
}

/// Keys, separated by commas.
pub(crate) fn list(input: ParseStream<'_>) -> syn::Result<Vec<Key>> {
    let keys = Punctuated::<Key, Token![,]>::parse_terminated(input)?;
    Ok(keys.into_iter().collect())
}

/// The keys that `place` knows; others are mistakes, and so is one that comes again, but for those
/// that may.
pub(crate) fn checked(
    keys: Vec<Key>,
    known: &[&str],
    place: &str,
    mistakes: &mut Mistakes,
) -> Vec<Key> {
    let mut seen: Vec<String> = Vec::new();
    let mut kept = Vec::new();
    for key in keys {
        let name = key.name.to_string();
        if !known.contains(&name.as_str()) {
            let hint = match nearest(&name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are: {}", known.join(", ")),
            };
            mistakes.at(
                key.name.span(),
                format_args!("`{place}` has no `{name}`; {hint}"),
            );
            continue;
        }
        if seen.contains(&name) && !REPEATED.contains(&name.as_str()) {
            mistakes.at(key.name.span(), format_args!("`{name}` is said twice"));
            continue;
        }
        seen.push(name);
        kept.push(key);
    }
    kept
}

/// What may be said more than once.
const REPEATED: &[&str] = &["icon", "scope", "example"];

//! The syntax of attribute arguments: `read_only, name = "add", cache(ttl = 60, public)`.

use proc_macro2::{Span, TokenStream};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Expr, ExprLit, Ident, Lit, LitStr, Path, Token, parenthesized};

use super::names::nearest;

/// Collects errors, so that all are reported at once.
#[derive(Default)]
pub(crate) struct ErrorCollector(Option<syn::Error>);

impl ErrorCollector {
    pub(crate) fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    pub(crate) fn add_at(&mut self, span: Span, message: impl std::fmt::Display) {
        self.add(syn::Error::new(span, message));
    }

    /// Returns the value of `result`, or records its error.
    pub(crate) fn collect<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    /// Returns the errors as `compile_error!` calls, if there are any.
    pub(crate) fn into_compile_errors(self) -> Option<TokenStream> {
        self.0.map(syn::Error::into_compile_error)
    }
}

/// A key with its value.
pub(crate) struct Key {
    pub(crate) name: Ident,
    value: Value,
}

enum Value {
    Flag,
    Expression(Expr),
    List(Vec<Key>),
}

impl Parse for Key {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.call(Ident::parse_any)?;
        let value = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            Value::Expression(input.parse()?)
        } else if input.peek(syn::token::Paren) {
            let inside;
            parenthesized!(inside in input);
            Value::List(list(&inside)?)
        } else {
            Value::Flag
        };
        Ok(Self { name, value })
    }
}

impl Key {
    /// Returns the value as an expression. A key without a value is an error.
    pub(crate) fn expression(&self) -> syn::Result<&Expr> {
        match &self.value {
            Value::Expression(value) => Ok(value),
            _ => Err(self.error(format_args!("`{0}` needs a value: `{0} = …`", self.name))),
        }
    }

    /// Returns the value, or `None` for a key without one.
    pub(crate) fn optional_expression(&self) -> syn::Result<Option<&Expr>> {
        match &self.value {
            Value::Flag => Ok(None),
            _ => self.expression().map(Some),
        }
    }

    /// Returns the value as a string literal.
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

    /// Returns the path in a string literal. Its span is that of the attribute, so that lints for
    /// user code do not apply.
    pub(crate) fn path(&self) -> syn::Result<Path> {
        let text = self.text()?;
        syn::parse_str(&text.value()).map_err(|error| syn::Error::new(text.span(), error))
    }

    /// Returns the flag: `key`, `key = true` or `key = false`.
    pub(crate) fn flag(&self) -> syn::Result<bool> {
        match &self.value {
            Value::Flag => Ok(true),
            Value::Expression(Expr::Lit(ExprLit {
                lit: Lit::Bool(flag),
                ..
            })) => Ok(flag.value),
            _ => Err(self.error(format_args!(
                "`{0}` stands alone, or is `{0} = true` or `{0} = false`",
                self.name
            ))),
        }
    }

    /// Returns whether the value is `text`: `key` or `key = "text"`.
    pub(crate) fn flag_or(&self, text: &str) -> syn::Result<bool> {
        match &self.value {
            Value::Flag => Ok(false),
            Value::Expression(Expr::Lit(ExprLit {
                lit: Lit::Str(value),
                ..
            })) if value.value() == text => Ok(true),
            _ => Err(self.error(format_args!(
                "`{0}` stands alone, is `{0} = {text:?}`, or has parts: `{0}(…)`",
                self.name
            ))),
        }
    }

    /// Returns true if the key has parts in parentheses.
    pub(crate) fn has_parts(&self) -> bool {
        matches!(self.value, Value::List(_))
    }

    /// Returns the keys in parentheses.
    pub(crate) fn list(self, known: &[&str], mistakes: &mut ErrorCollector) -> Vec<Key> {
        match self.value {
            Value::List(keys) => check_keys(keys, known, &self.name.to_string(), mistakes),
            _ => {
                mistakes.add(self.error(format_args!("`{0}` has its parts: `{0}(…)`", self.name)));
                Vec::new()
            }
        }
    }

    /// Returns the names in parentheses: `key(first, second)`.
    pub(crate) fn names(self) -> syn::Result<Vec<Ident>> {
        let wrong = self.error(format_args!("`{0}` has names: `{0}(…)`", self.name));
        let Value::List(keys) = self.value else {
            return Err(wrong);
        };
        let name = |key: Key| matches!(key.value, Value::Flag).then_some(key.name);
        keys.into_iter()
            .map(name)
            .collect::<Option<_>>()
            .ok_or(wrong)
    }

    /// Returns the value as one name: `key = name`.
    pub(crate) fn identifier(&self) -> syn::Result<Ident> {
        match self.expression()? {
            Expr::Path(path) if path.path.get_ident().is_some() => {
                path.path.require_ident().cloned()
            }
            other => Err(syn::Error::new(
                other.span(),
                format_args!("`{0}` is a name: `{0} = search`", self.name),
            )),
        }
    }

    /// Returns the name that the value is or quotes, as what the user may have meant.
    pub(crate) fn meant_identifier(&self) -> Option<Ident> {
        self.identifier()
            .or_else(|_| self.text()?.parse::<Ident>())
            .ok()
    }

    fn error(&self, message: impl std::fmt::Display) -> syn::Error {
        syn::Error::new(self.name.span(), message)
    }
}

/// Parses keys separated by commas.
pub(crate) fn list(input: ParseStream<'_>) -> syn::Result<Vec<Key>> {
    let keys = Punctuated::<Key, Token![,]>::parse_terminated(input)?;
    Ok(keys.into_iter().collect())
}

/// Returns the keys that `place` supports. Unknown keys, and repeated ones that may not repeat, are
/// errors.
pub(crate) fn check_keys(
    keys: Vec<Key>,
    known: &[&str],
    place: &str,
    mistakes: &mut ErrorCollector,
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
            mistakes.add_at(
                key.name.span(),
                format_args!("`{place}` has no `{name}`; {hint}"),
            );
            continue;
        }
        if seen.contains(&name) && !REPEATABLE_KEYS.contains(&name.as_str()) {
            mistakes.add_at(key.name.span(), format_args!("`{name}` is given twice"));
            continue;
        }
        seen.push(name);
        kept.push(key);
    }
    kept
}

/// Keys that may be repeated.
const REPEATABLE_KEYS: &[&str] = &["icon", "scope", "example"];

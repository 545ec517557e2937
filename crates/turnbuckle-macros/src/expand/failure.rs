//! Expansion of `#[derive(IntoFailure)]`: the text that clients read for each variant of an error type.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, Data, DeriveInput, Error, Expr, Fields, Ident, Path, Result, Token};

use super::default_facade;

const CHOICES: &str = "say what clients read of it: `#[failure(model)]` for its text, \
     `#[failure(protocol = invalid_params)]` for a protocol error, `#[failure(hidden)]` for nothing, \
     or `#[failure(forward)]` for what the error inside says";

const KINDS: &str = "the kinds are invalid_params, invalid_request, method_not_found, \
     resource_not_found and internal; a number is a code of the application";

/// The part of an error that clients read.
enum Disclosure {
    Model,
    Hidden,
    Forward,
    /// A protocol error; the tokens make its `ErrorKind`.
    Protocol(TokenStream),
}

/// Expands the derive. After an error the type has the trait, too, so that nothing else fails for lack
/// of it.
pub(crate) fn expand_failure(input: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(input) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut krate = default_facade();
    let (body, error) = match arms(&input, &mut krate) {
        Ok(arms) => (quote!(match self { #(#arms)* }), None),
        Err(error) => (
            quote!(::core::unreachable!()),
            Some(error.into_compile_error()),
        ),
    };
    let (ident, (generics, arguments, bounds)) = (&input.ident, input.generics.split_for_impl());
    quote! {
        impl #generics #krate::IntoFailure for #ident #arguments #bounds {
            fn into_failure(self) -> #krate::Failure {
                #body
            }
        }
        #error
    }
}

/// Generates an arm for each variant, or one for a struct.
fn arms(input: &DeriveInput, krate: &mut Path) -> Result<Vec<TokenStream>> {
    let default = read(&input.attrs, krate)?;
    // The compiler reports a type without `Error` once for each span.
    let at = input.ident.span();
    match &input.data {
        Data::Enum(data) => {
            let mut arms = Vec::new();
            let mut errors: Option<Error> = None;
            for variant in &data.variants {
                let ident = &variant.ident;
                let arm = read(&variant.attrs, krate).and_then(|own| {
                    let disclosure = own.as_ref().or(default.as_ref());
                    let disclosure = disclosure.ok_or_else(|| Error::new(ident.span(), CHOICES))?;
                    arm(
                        &quote!(Self::#ident),
                        ident,
                        &variant.fields,
                        disclosure,
                        krate,
                        at,
                    )
                });
                match (arm, &mut errors) {
                    (Ok(arm), _) => arms.push(arm),
                    (Err(error), Some(errors)) => errors.combine(error),
                    (Err(error), none) => *none = Some(error),
                }
            }
            match errors {
                Some(errors) => Err(errors),
                None => Ok(arms),
            }
        }
        Data::Struct(data) => {
            let disclosure = default.ok_or_else(|| Error::new(input.ident.span(), CHOICES))?;
            let own = quote!(Self);
            let arm = arm(&own, &input.ident, &data.fields, &disclosure, krate, at)?;
            Ok(vec![arm])
        }
        Data::Union(_) => Err(Error::new(input.ident.span(), "a union is no error type")),
    }
}

/// Reads `#[failure(…)]`.
fn read(attributes: &[Attribute], krate: &mut Path) -> Result<Option<Disclosure>> {
    let mut found = None;
    for attribute in attributes.iter().filter(|it| it.path().is_ident("failure")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("crate") {
                *krate = meta.value()?.parse()?;
                return Ok(());
            }
            let disclosure = if meta.path.is_ident("model") {
                Disclosure::Model
            } else if meta.path.is_ident("hidden") {
                Disclosure::Hidden
            } else if meta.path.is_ident("forward") {
                Disclosure::Forward
            } else if meta.path.is_ident("protocol") {
                if !meta.input.peek(Token![=]) {
                    return Err(meta.error(format!("`protocol` needs a kind: {KINDS}")));
                }
                Disclosure::Protocol(kind(&meta.value()?.parse()?, krate)?)
            } else {
                return Err(meta.error(format!("unknown key: {CHOICES}")));
            };
            match found.replace(disclosure) {
                None => Ok(()),
                Some(_) => Err(meta.error("an error is disclosed in one way: keep one of these")),
            }
        })?;
    }
    Ok(found)
}

/// Returns the `ErrorKind` that `protocol = …` names.
fn kind(value: &Expr, krate: &Path) -> Result<TokenStream> {
    let name = match value {
        Expr::Path(path) => path
            .path
            .get_ident()
            .map(Ident::to_string)
            .unwrap_or_default(),
        code => {
            return Ok(quote_spanned!(code.span()=> #krate::types::ErrorKind::Application(#code)));
        }
    };
    let variant = match name.as_str() {
        "invalid_params" => quote!(InvalidParams),
        "invalid_request" => quote!(InvalidRequest),
        "method_not_found" => quote!(MethodNotFound),
        "resource_not_found" => quote!(ResourceNotFound),
        "internal" => quote!(Internal),
        _ => return Err(Error::new(value.span(), KINDS)),
    };
    Ok(quote!(#krate::types::ErrorKind::#variant))
}

/// Returns the arm of the `match` for one variant. Errors about the type point `at` its name.
fn arm(
    pattern: &TokenStream,
    ident: &Ident,
    fields: &Fields,
    disclosure: &Disclosure,
    krate: &Path,
    at: Span,
) -> Result<TokenStream> {
    Ok(match disclosure {
        Disclosure::Model => quote_spanned! {at=>
            __error @ #pattern { .. } => #krate::__private::failure_for_model(__error),
        },
        Disclosure::Hidden => quote_spanned! {at=>
            __error @ #pattern { .. } => #krate::__private::hidden_failure(__error),
        },
        Disclosure::Protocol(kind) => quote_spanned! {at=>
            __error @ #pattern { .. } => #krate::__private::protocol_failure(#kind, __error),
        },
        Disclosure::Forward => {
            let mut fields = fields.members();
            match (fields.next(), fields.next()) {
                (Some(field), None) => quote! {
                    #pattern { #field: __error } => #krate::Failure::from(__error),
                },
                _ => {
                    return Err(Error::new(
                        ident.span(),
                        "`forward` needs exactly one field, the error inside",
                    ));
                }
            }
        }
    })
}

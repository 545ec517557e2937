//! Expansion of `#[tool]`, `#[prompt]` and `#[resource]` on a free function.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::spanned::Spanned as _;
use syn::{Attribute, Ident, ItemFn, parse_quote};

use super::default_facade;
use super::handler::HandlerFunction;
use crate::parse::item::{ItemAttribute, ItemKind};
use crate::parse::keys::ErrorCollector;

/// Expands a function to itself and a type of its name, from which a list makes the item.
///
/// The type is a struct with braces: its name is in the type namespace only, where no variable,
/// parameter or pattern is looked up.
pub(crate) fn expand_function(
    kind: ItemKind,
    inside: TokenStream,
    item: TokenStream,
) -> syn::Result<TokenStream> {
    let mut function: ItemFn = syn::parse2(item)?;
    if let Some(receiver) = function.sig.receiver() {
        return Err(syn::Error::new(
            receiver.span(),
            format_args!(
                "`#[{}]` at a method needs `#[server]` at its `impl` block",
                kind.attribute()
            ),
        ));
    }
    let mut mistakes = ErrorCollector::default();
    let item = ItemAttribute::parse(
        kind,
        inside,
        &function.sig.ident,
        default_facade(),
        &mut mistakes,
    );
    let read = HandlerFunction::parse(item, &function.attrs, &mut function.sig, &mut mistakes);
    mistakes.into_result()?;

    let ident = &function.sig.ident;
    // Lints about the user's own types do not apply to a type with this span.
    let hidden = Ident::new(
        &ident.to_string(),
        Span::call_site().located_at(ident.span()),
    );
    let visibility = &function.vis;
    let conditions: Vec<&Attribute> = function.attrs.iter().filter(|a| is_condition(a)).collect();
    let krate = &read.item.krate;
    let made = read.expand(&quote!(#ident));
    let item = kind.builder_type();
    let generated = quote! {
        #(#conditions)*
        // Hidden, since it stands in the user's crate, whose documentation is about the function.
        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        #visibility struct #hidden {}

        #(#conditions)*
        #[allow(deprecated)]
        impl #krate::__private::FunctionItem<#krate::#item> for #hidden {
            fn item() -> #krate::#item {
                #[allow(unused_imports)]
                use #krate::__private::{error_kinds::*, output_kinds::*};
                #made
            }
        }
    };
    function
        .attrs
        .push(parse_quote!(#[allow(clippy::too_many_arguments)]));
    Ok(quote!(#function #generated))
}

fn is_condition(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
}

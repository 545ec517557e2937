//! Expansion of `#[tool]`, `#[prompt]` and `#[resource]` on a free function.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned as _;
use syn::{Attribute, Ident, ItemFn, parse_quote};

use super::default_facade;
use super::handler::HandlerFunction;
use crate::parse::item::{ItemAttribute, ItemKind};
use crate::parse::keys::ErrorCollector;
use crate::parse::parameters::remove_attributes;

/// Expands a function to itself and a type of its name, from which a list makes the item. After an
/// error in the attribute both are there, too, so that nothing else fails for lack of them.
///
/// The type is a struct with braces: its name is in the type namespace only, where no variable,
/// parameter or pattern is looked up.
pub(crate) fn expand_function(
    kind: ItemKind,
    inside: TokenStream,
    item: TokenStream,
) -> TokenStream {
    let mut function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => return with_error(error.into_compile_error(), &item),
    };
    if let Some(receiver) = function.sig.receiver() {
        let message = format_args!(
            "`#[{}]` at a method needs `#[server]` at its `impl` block",
            kind.attribute()
        );
        let error = syn::Error::new(receiver.span(), message).into_compile_error();
        remove_attributes(&mut function.sig.inputs);
        return with_error(error, &function);
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
    let errors = mistakes.into_compile_errors();

    let ident = &function.sig.ident;
    // Lints about the user's own types do not apply to a type with this span.
    let hidden = Ident::new(
        &ident.to_string(),
        Span::call_site().located_at(ident.span()),
    );
    let visibility = &function.vis;
    let conditions: Vec<&Attribute> = function.attrs.iter().filter(|a| is_condition(a)).collect();
    let krate = &read.item.krate;
    let made = match &errors {
        None => read.expand(&quote!(#ident)),
        Some(_) => quote!(::core::unreachable!()),
    };
    let item = kind.builder_type();
    let generated = quote! {
        #krate::__private::a_function_and_a_module_need_different_names! {
            #(#conditions)*
            // Hidden, since it stands in the user's crate, whose documentation is about the function.
            #[doc(hidden)]
            #[allow(non_camel_case_types)]
            #visibility #hidden
        }

        #(#conditions)*
        #[allow(deprecated)]
        impl #krate::__private::FunctionItem<#krate::#item> for #hidden {
            fn item() -> #krate::#item {
                #[allow(unused_imports)]
                use #krate::__private::{error_kinds::*, output_kinds::*};
                #made
            }
        }

        #errors
    };
    function
        .attrs
        .push(parse_quote!(#[allow(clippy::too_many_arguments)]));
    if errors.is_some() {
        function.attrs.push(parse_quote!(#[allow(unused)]));
    }
    quote!(#function #generated)
}

fn with_error(error: TokenStream, item: &impl ToTokens) -> TokenStream {
    quote!(#error #item)
}

fn is_condition(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
}

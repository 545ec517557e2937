//! Expansion of `#[tool]`, `#[prompt]` and `#[resource]` on a free function.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, ItemFn, Visibility};

use super::handler::HandlerFunction;
use super::{callable, default_facade};
use crate::parse::docs;
use crate::parse::item::{ItemAttribute, ItemKind};
use crate::parse::keys::ErrorCollector;

/// Expands a function to a unit struct of its name that converts into the item and can be called.
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

    let ident = function.sig.ident.clone();
    let visibility = std::mem::replace(&mut function.vis, Visibility::Inherited);
    let (outside, inside): (Vec<Attribute>, Vec<Attribute>) =
        function.attrs.drain(..).partition(belongs_outside);
    function.attrs = inside;
    let conditions = outside.iter().filter(|attribute| is_condition(attribute));
    let krate = &read.item.krate;
    let made = read.expand(&quote!(#ident));
    let item = kind.builder_type();
    let shortcut = callable::deref_to_function(&function.sig);
    let ways = (kind == ItemKind::Tool).then(|| quote!(use #krate::__private::output_kinds::*;));
    Ok(quote_spanned! {ident.span()=>
        #(#outside)*
        #[allow(non_camel_case_types)]
        #visibility struct #ident;

        #(#conditions)*
        const _: () = {
            #[allow(clippy::too_many_arguments)]
            #function
            impl #krate::IntoItem<#krate::#item> for #ident {
                fn into_item(self) -> #krate::#item {
                    #[allow(unused_imports)]
                    #ways
                    #made
                }
            }
            impl ::core::convert::From<#ident> for #krate::#item {
                fn from(this: #ident) -> Self {
                    #krate::IntoItem::into_item(this)
                }
            }
            #shortcut
        };
    })
}

/// Returns whether an attribute belongs on the struct instead of the function inside.
fn belongs_outside(attribute: &Attribute) -> bool {
    docs::is_doc(attribute) || is_condition(attribute) || attribute.path().is_ident("deprecated")
}

fn is_condition(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
}

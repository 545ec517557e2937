//! A free function.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, ItemFn, Visibility};

use super::handler::Function;
use super::{facade, shortcut};
use crate::parse::docs;
use crate::parse::item::{Item, Kind};
use crate::parse::keys::Mistakes;

/// A function becomes a struct of its name, which is the item, and stays callable.
pub(crate) fn expand(
    kind: Kind,
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
    let mut mistakes = Mistakes::default();
    let item = Item::read(kind, inside, &function.sig.ident, facade(), &mut mistakes);
    let read = Function::take(item, &function.attrs, &mut function.sig, &mut mistakes);
    mistakes.into_result()?;

    let ident = function.sig.ident.clone();
    let visibility = std::mem::replace(&mut function.vis, Visibility::Inherited);
    let (outside, inside): (Vec<Attribute>, Vec<Attribute>) =
        function.attrs.drain(..).partition(belongs_outside);
    function.attrs = inside;
    let conditions = outside.iter().filter(|attribute| is_condition(attribute));
    let krate = &read.item.krate;
    let made = read.expand(&quote!(#ident));
    let item = kind.item();
    let shortcut = shortcut::of(&function.sig);
    let ways = (kind == Kind::Tool).then(|| quote!(use #krate::__private::ways::*;));
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

/// Whether an attribute is for the struct that is seen, and not for the function within.
fn belongs_outside(attribute: &Attribute) -> bool {
    docs::is_doc(attribute) || is_condition(attribute) || attribute.path().is_ident("deprecated")
}

fn is_condition(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
}

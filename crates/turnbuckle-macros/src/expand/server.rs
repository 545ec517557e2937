//! An `impl` block whose methods are the items of a group.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::Parser as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, ImplItem, ImplItemFn, ItemImpl, Meta, Path, ReceiverKind, parse_quote};

use super::facade;
use super::handler::Function;
use crate::parse::item::{Item, Kind};
use crate::parse::keys::{Mistakes, checked, list};

/// The value of an `impl` block's type becomes a group of the items that its methods are; they
/// share it.
pub(crate) fn expand(inside: TokenStream, block: TokenStream) -> syn::Result<TokenStream> {
    let mut block: ItemImpl = syn::parse2(block)?;
    let mut mistakes = Mistakes::default();
    if let Some((path, _)) = &block.trait_ {
        mistakes.at(
            path.span(),
            "`#[server]` belongs on an `impl` block of the type's own methods, not on a trait's",
        );
    }
    let mut krate = facade();
    let keys = mistakes.of(list.parse2(inside)).unwrap_or_default();
    for key in checked(keys, &["crate"], "server", &mut mistakes) {
        krate = mistakes.of(key.path()).unwrap_or(krate);
    }

    let mut functions: Vec<(Vec<Attribute>, Function)> = Vec::new();
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else {
            continue;
        };
        let Some(function) = function(method, &krate, &mut mistakes) else {
            continue;
        };
        let conditions = method.attrs.iter();
        let conditions = conditions.filter(|attribute| attribute.path().is_ident("cfg"));
        functions.push((conditions.cloned().collect(), function));
    }
    check_names(&functions, &mut mistakes);
    mistakes.into_result()?;

    let steps = functions.iter().map(|(conditions, function)| {
        let kind = syn::Ident::new(function.item.kind.attribute(), Span::call_site());
        let ident = &function.ident;
        let made = function.expand(&quote!(Self::#ident));
        quote! {
            #(#conditions)*
            let __group = __group.#kind({
                let __this = ::std::sync::Arc::clone(&__this);
                #made
            });
        }
    });
    let conditions = block.attrs.iter();
    let conditions = conditions.filter(|attribute| attribute.path().is_ident("cfg"));
    let (generics, _, bounds) = block.generics.split_for_impl();
    let ty = &block.self_ty;
    Ok(quote! {
        #block

        #(#conditions)*
        impl #generics #krate::IntoItem<#krate::Group> for #ty #bounds {
            fn into_item(self) -> #krate::Group {
                #[allow(unused_imports)]
                use #krate::__private::ways::*;
                let __this = ::std::sync::Arc::new(self);
                let __group = #krate::Group::new();
                #(#steps)*
                __group
            }
        }
    })
}

/// A method that is an item; its attribute is taken away.
fn function(method: &mut ImplItemFn, krate: &Path, mistakes: &mut Mistakes) -> Option<Function> {
    let kind_of = |attribute: &Attribute| {
        let name = &attribute.path().segments.last()?.ident;
        Kind::ALL.into_iter().find(|kind| name == kind.attribute())
    };
    let at = method.attrs.iter().position(|a| kind_of(a).is_some())?;
    let attribute = method.attrs.remove(at);
    let kind = kind_of(&attribute)?;
    if let Some(other) = method.attrs.iter().find(|a| kind_of(a).is_some()) {
        mistakes.at(
            other.span(),
            format_args!(
                "`{}` is a {} already: one function is one item",
                method.sig.ident,
                kind.attribute()
            ),
        );
    }
    let inside = match attribute.meta {
        Meta::Path(_) => TokenStream::new(),
        Meta::List(list) => list.tokens,
        Meta::NameValue(pair) => {
            mistakes.at(pair.eq_token.span(), "expected parentheses");
            return None;
        }
    };
    if let Some(receiver) = method.sig.receiver() {
        let is_shared = matches!(receiver.kind, ReceiverKind::Reference(_, _, None));
        if !is_shared {
            mistakes.at(
                receiver.span(),
                "the value is shared by all calls: take `&self`",
            );
        }
    }
    let allowed = parse_quote!(#[allow(clippy::too_many_arguments)]);
    method.attrs.push(allowed);
    let item = Item::read(kind, inside, &method.sig.ident, krate.clone(), mistakes);
    Some(Function::take(
        item,
        &method.attrs,
        &mut method.sig,
        mistakes,
    ))
}

fn check_names(functions: &[(Vec<Attribute>, Function)], mistakes: &mut Mistakes) {
    let mut seen: Vec<(Kind, String)> = Vec::new();
    // What stands under a condition may be there instead of another.
    let certain = functions.iter().filter(|(when, _)| when.is_empty());
    for item in certain.map(|(_, function)| &function.item) {
        let (key, span) = item.key();
        let key = (item.kind, key);
        if seen.contains(&key) {
            let what = item.kind.attribute();
            mistakes.at(span, format_args!("there is another {what} {:?}", key.1));
        }
        seen.push(key);
    }
}

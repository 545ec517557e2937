//! Expansion of `#[server]` on an `impl` block.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::Parser as _;
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Ident, ImplItem, ImplItemFn, ItemImpl, Meta, Path, ReceiverKind, Signature,
    parse_quote,
};

use super::default_facade;
use super::handler::HandlerFunction;
use crate::parse::item::{ItemAttribute, ItemKind};
use crate::parse::keys::{ErrorCollector, Key, check_keys, list};
use crate::parse::names::{ident_text, nearest};

/// Expands an `impl` block: its value becomes a group of the items that its methods define.
/// After an error the value is a group without items, so that nothing else fails for lack of it.
pub(crate) fn expand_server(inside: TokenStream, block: TokenStream) -> TokenStream {
    let mut block: ItemImpl = match syn::parse2(block.clone()) {
        Ok(block) => block,
        Err(error) => {
            let error = error.into_compile_error();
            return quote!(#error #block);
        }
    };
    let mut mistakes = ErrorCollector::default();
    if let Some((path, _)) = &block.trait_ {
        mistakes.add_at(
            path.span(),
            "`#[server]` belongs on an `impl` block of the type's own methods, not on a trait's",
        );
    }
    let mut krate = default_facade();
    let mut block_name = None;
    let mut other_blocks = Vec::new();
    let keys = mistakes.collect(list.parse2(inside)).unwrap_or_default();
    let known = ["crate", "block", "blocks"];
    let meant = |key: &Key| nearest(&key.name.to_string(), known) == Some("block");
    let meant_block = keys.iter().find(|key| meant(key));
    let meant_block = meant_block.map(Key::meant_identifier);
    for key in check_keys(keys, &known, "server", &mut mistakes) {
        match key.name.to_string().as_str() {
            "block" => block_name = mistakes.collect(key.identifier()),
            "blocks" => other_blocks = mistakes.collect(key.names()).unwrap_or_default(),
            _ => krate = mistakes.collect(key.path()).unwrap_or(krate),
        }
    }
    let mut functions: Vec<(Vec<Attribute>, HandlerFunction)> = Vec::new();
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else {
            continue;
        };
        let Some(function) = parse_method(method, &krate, &mut mistakes) else {
            continue;
        };
        let conditions = method.attrs.iter();
        let conditions = conditions.filter(|attribute| attribute.path().is_ident("cfg"));
        functions.push((conditions.cloned().collect(), function));
    }
    check_names(&functions, &mut mistakes);
    let methods: Vec<&Signature> = block.items.iter().filter_map(signature).collect();
    for (_, function) in &mut functions {
        function.bind_completers(&methods, &mut mistakes);
    }
    let errors = mistakes.into_compile_errors();
    if errors.is_some() {
        functions.clear();
        block_name = meant_block.clone().flatten();
        // A further block without a name cannot be told from others.
        if block.trait_.is_some() || (meant_block.is_some() && block_name.is_none()) {
            return quote!(#errors #block);
        }
    }
    let unused = errors.is_some().then(|| quote!(#[allow(dead_code)]));

    let steps = functions.iter().map(|(conditions, function)| {
        let kind = Ident::new(function.item.kind.attribute(), Span::call_site());
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
    let other_blocks = other_blocks.iter().map(block_function);
    let body = quote! {
        #[allow(unused_imports)]
        use #krate::__private::{error_kinds::*, output_kinds::*};
        #(#steps)*
        #(let __group = Self::#other_blocks(&__this, __group);)*
        __group
    };
    let made = match block_name.as_ref().map(block_function) {
        Some(name) => quote! {
            impl #generics #ty #bounds {
                #unused
                pub(crate) fn #name(
                    __this: &::std::sync::Arc<Self>,
                    __group: #krate::Group,
                ) -> #krate::Group {
                    #body
                }
            }
        },
        None => quote! {
            impl #generics #krate::IntoItem<#krate::Group> for #ty #bounds {
                fn into_item(self) -> #krate::Group {
                    let __this = ::std::sync::Arc::new(self);
                    let __group = #krate::Group::new();
                    #body
                }
            }
        },
    };
    quote! {
        #block

        #(#conditions)*
        #made

        #errors
    }
}

/// Returns the name of the function that adds the items of a named block. It has the span of the
/// block's name, so that the compiler's errors and warnings point there.
fn block_function(block: &Ident) -> Ident {
    Ident::new(
        &format!("__server_block_{}", ident_text(block)),
        block.span(),
    )
}

fn signature(item: &ImplItem) -> Option<&Signature> {
    match item {
        ImplItem::Fn(method) => Some(&method.sig),
        _ => None,
    }
}

/// Parses a method that defines an item and removes its attribute.
fn parse_method(
    method: &mut ImplItemFn,
    krate: &Path,
    mistakes: &mut ErrorCollector,
) -> Option<HandlerFunction> {
    let kind_of = |attribute: &Attribute| {
        let name = &attribute.path().segments.last()?.ident;
        ItemKind::ALL
            .into_iter()
            .find(|kind| name == kind.attribute())
    };
    let at = method.attrs.iter().position(|a| kind_of(a).is_some())?;
    let attribute = method.attrs.remove(at);
    let kind = kind_of(&attribute)?;
    if let Some(other) = method.attrs.iter().find(|a| kind_of(a).is_some()) {
        mistakes.add_at(
            other.span(),
            format_args!(
                "`{}` is a {} already: one function is one item",
                method.sig.ident,
                kind.attribute()
            ),
        );
        method
            .attrs
            .retain(|attribute| kind_of(attribute).is_none());
    }
    let inside = match attribute.meta {
        Meta::Path(_) => TokenStream::new(),
        Meta::List(list) => list.tokens,
        Meta::NameValue(pair) => {
            mistakes.add_at(pair.eq_token.span(), "expected parentheses");
            return None;
        }
    };
    if let Some(receiver) = method.sig.receiver() {
        let is_shared = matches!(receiver.kind, ReceiverKind::Reference(_, _, None));
        if !is_shared {
            mistakes.add_at(
                receiver.span(),
                "the value is shared by all calls: take `&self`",
            );
        }
    }
    let allowed = parse_quote!(#[allow(clippy::too_many_arguments)]);
    method.attrs.push(allowed);
    let item = ItemAttribute::parse(kind, inside, &method.sig.ident, krate.clone(), mistakes);
    Some(HandlerFunction::parse(
        item,
        &method.attrs,
        &mut method.sig,
        mistakes,
    ))
}

fn check_names(functions: &[(Vec<Attribute>, HandlerFunction)], mistakes: &mut ErrorCollector) {
    let mut seen: Vec<(ItemKind, String)> = Vec::new();
    // Methods under `#[cfg]` may be alternatives of each other.
    let certain = functions.iter().filter(|(when, _)| when.is_empty());
    for item in certain.map(|(_, function)| &function.item) {
        let (key, span) = item.identity();
        let key = (item.kind, key);
        if seen.contains(&key) {
            let what = item.kind.attribute();
            mistakes.add_at(span, format_args!("there is another {what} {:?}", key.1));
        }
        seen.push(key);
    }
}

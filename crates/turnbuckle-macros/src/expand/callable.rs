//! The `Deref` to a function pointer that keeps a function callable by its name.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote};
use syn::{FnArg, ReturnType, Signature, Type};

/// Generates the `Deref`, if the function has a nameable pointer type.
pub(crate) fn deref_to_function(signature: &Signature) -> Option<TokenStream> {
    let ident = &signature.ident;
    let types: Vec<&Type> = signature
        .inputs
        .iter()
        .filter_map(|input| match input {
            FnArg::Typed(parameter) => Some(&*parameter.ty),
            FnArg::Receiver(_) => None,
        })
        .collect();
    let output = match &signature.output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, ty) => quote!(#ty),
    };
    let borrows = types
        .iter()
        .any(|ty| is_unnameable(ty.to_token_stream(), true));
    if !signature.generics.params.is_empty() || borrows || is_unnameable(output.clone(), false) {
        return None;
    }
    let (pointer, value) = if signature.asyncness.is_some() {
        let names: Vec<_> = (0..types.len()).map(|at| format_ident!("__{at}")).collect();
        let future = quote!(dyn ::core::future::Future<Output = #output> + ::core::marker::Send);
        (
            quote!(fn(#(#types),*) -> ::std::pin::Pin<::std::boxed::Box<#future>>),
            quote!(|#(#names),*| ::std::boxed::Box::pin(#ident(#(#names),*))),
        )
    } else {
        (quote!(fn(#(#types),*) -> #output), quote!(#ident))
    };
    Some(quote! {
        impl ::core::ops::Deref for #ident {
            type Target = #pointer;
            fn deref(&self) -> &Self::Target {
                const CALL: #pointer = #value;
                &CALL
            }
        }
    })
}

/// Returns whether a type contains `impl` or a lifetime that is not `'static`.
fn is_unnameable(ty: TokenStream, is_input: bool) -> bool {
    let mut is_lifetime = false;
    ty.into_iter().any(|token| match token {
        TokenTree::Group(group) => is_unnameable(group.stream(), is_input),
        TokenTree::Ident(ident) if is_lifetime => {
            is_lifetime = false;
            ident != "static"
        }
        TokenTree::Ident(ident) => ident == "impl",
        TokenTree::Punct(punct) => {
            is_lifetime = punct.as_char() == '\'';
            is_input && punct.as_char() == '&'
        }
        TokenTree::Literal(_) => false,
    })
}

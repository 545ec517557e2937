//! Completers that are methods: `#[schema(complete = self.titles)]`.

use quote::{format_ident, quote};
use syn::spanned::Spanned as _;
use syn::{Expr, FnArg, Ident, Member, Signature, parse_quote};

/// Returns a closure that calls the method of a `self.method`, among the methods of the block, or
/// `None` if the completer is another expression.
pub(crate) fn bind_completer(
    completer: &Expr,
    methods: &[&Signature],
) -> Option<syn::Result<Expr>> {
    let name = method_name(completer)?;
    let Some(method) = methods.iter().find(|method| method.ident == *name) else {
        return Some(Err(syn::Error::new(
            completer.span(),
            format_args!(
                "this `impl` block has no method `{name}`; a method of another is not found"
            ),
        )));
    };
    let inputs = method.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(parameter) => Some(&parameter.ty),
        FnArg::Receiver(_) => None,
    });
    let types: Vec<_> = inputs.collect();
    let names: Vec<Ident> = (0..types.len())
        .map(|at| format_ident!("__part_{at}"))
        .collect();
    let call = quote!(Self::#name(&__this, #(#names),*));
    let body = match method.asyncness {
        Some(_) => quote! {{
            let __this = ::std::sync::Arc::clone(&__this);
            async move { #call.await }
        }},
        None => call,
    };
    Some(Ok(parse_quote! {{
        let __this = ::std::sync::Arc::clone(&__this);
        move |#(#names: #types),*| #body
    }}))
}

/// Returns the `method` of `self.method`.
fn method_name(completer: &Expr) -> Option<&Ident> {
    let Expr::Field(field) = completer else {
        return None;
    };
    let is_self = matches!(&*field.base, Expr::Path(base) if base.path.is_ident("self"));
    match &field.member {
        Member::Named(name) if is_self => Some(name),
        _ => None,
    }
}

//! The struct that a function's arguments are decoded as.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Ident, Path};

use crate::parse::names::{text, type_name};
use crate::parse::parameters::Parameters;
use crate::parse::schema::default_of;

/// A struct of the arguments, and its name; nothing if there are none.
pub(crate) fn of(
    function: &Ident,
    parameters: &Parameters,
    krate: &Path,
) -> Option<(Ident, TokenStream)> {
    parameters.arguments().next()?;
    let owner = text(function);
    let title = type_name(&owner);
    let name = Ident::new(&format!("__{title}Arguments"), Span::call_site());
    let mut makers = TokenStream::new();
    let fields: Vec<TokenStream> = parameters
        .arguments()
        .map(|argument| {
            let (ident, ty) = (&argument.ident, &argument.ty);
            let default = default_of(&owner, &text(ident));
            let attributes = argument.said.attributes(argument.renamed(), &default);
            makers.extend(argument.said.maker(&default, ty));
            quote!(#(#attributes)* #ident: #ty)
        })
        .collect();
    let derives = derives(krate, &["Deserialize"]);
    let structure = quote! {
        #derives
        #[serde(rename = #title)]
        #[allow(non_snake_case)]
        struct #name { #(#fields),* }
        #makers
    };
    Some((name, structure))
}

/// Derives traits of serde, and the schema, through the facade.
pub(crate) fn derives(krate: &Path, of_serde: &[&str]) -> TokenStream {
    let inside = |name: &str| {
        let name = format_ident!("{name}");
        quote!(#krate::__private::#name)
    };
    let (serde, schemars) = (inside("serde"), inside("schemars"));
    let path = |path: &TokenStream| path.to_string().replace(' ', "");
    let (serde_path, schemars_path) = (path(&serde), path(&schemars));
    let of_serde = of_serde.iter().map(|name| format_ident!("{name}"));
    quote! {
        #[derive(#(#serde::#of_serde,)* #schemars::JsonSchema)]
        #[serde(crate = #serde_path)]
        #[schemars(crate = #schemars_path)]
    }
}

//! The struct that a function's arguments are decoded into.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Ident, Path};

use crate::parse::names::{ident_text, type_name};
use crate::parse::parameters::Parameters;
use crate::parse::schema::default_function_name;

/// Generates the struct of the arguments and returns its name; `None` if the function has no
/// arguments.
pub(crate) fn arguments_struct(
    function: &Ident,
    parameters: &Parameters,
    krate: &Path,
) -> Option<(Ident, TokenStream)> {
    parameters.arguments().next()?;
    let owner = ident_text(function);
    let title = type_name(&owner);
    let name = Ident::new(&format!("__{title}Arguments"), Span::call_site());
    let mut makers = TokenStream::new();
    let fields: Vec<TokenStream> = parameters
        .arguments()
        .map(|argument| {
            let (ident, ty) = (&argument.ident, &argument.ty);
            if argument.is_flattened {
                return quote!(#[serde(flatten)] #ident: #ty);
            }
            let default = default_function_name(&owner, &ident_text(ident));
            let attributes = argument
                .schema
                .attributes(argument.name_override(), &default);
            makers.extend(argument.schema.default_function(&default, ty));
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

/// Generates derives of serde traits and `JsonSchema`, by the paths of the facade.
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

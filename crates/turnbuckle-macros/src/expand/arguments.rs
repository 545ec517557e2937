//! The struct that a function's arguments are decoded into.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote};
use syn::{Ident, Path, PathArguments, Type, TypePath};

use crate::parse::names::{ident_text, type_name};
use crate::parse::parameters::Parameters;
use crate::parse::schema::{default_function_name, type_argument};

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
            let attributes =
                argument
                    .schema
                    .attributes(argument.name_override(), &default, Some(ty), krate);
            makers.extend(argument.schema.default_function(&default, ty));
            quote!(#(#attributes)* #ident: #ty)
        })
        .collect();
    let derives = derives(krate, &["Deserialize", JSON_SCHEMA]);
    let (bounds, generics) = derive_bounds(parameters, krate).unzip();
    let structure = quote! {
        #derives
        #bounds
        #[serde(rename = #title)]
        #[allow(non_snake_case)]
        struct #name #generics { #(#fields),* }
        #makers
    };
    Some((name, structure))
}

/// Generates the bounds of the derives, and the generics of the struct: the types of arguments
/// implement what the derives need. For a type that does not, the struct then lacks the traits, and its
/// derives report nothing.
///
/// The bounds have lifetimes, since the compiler refuses false bounds without any. The struct has a
/// generic constant, since schemars drops the bounds of a type without generics.
fn derive_bounds(parameters: &Parameters, krate: &Path) -> Option<(TokenStream, TokenStream)> {
    let path = quote!(#krate::__private).to_string().replace(' ', "");
    let mut for_serde = String::new();
    let mut for_schemars = String::new();
    for argument in parameters.arguments().filter(|one| !is_well_known(&one.ty)) {
        let ty = argument.ty.to_token_stream().to_string();
        // The `$crate` of a macro has no text.
        if !ty.contains('$') {
            for_serde += &format!("{ty}: {path}::serde::Deserialize<'de>,");
            for_schemars += &format!("for<'__a> {ty}: {path}::SchemaBound<'__a>,");
        }
    }
    (!for_serde.is_empty()).then(|| {
        let bounds = quote! {
            #[serde(bound(deserialize = #for_serde))]
            #[schemars(bound = #for_schemars)]
        };
        (bounds, quote!(<const __BOUND: bool = true>))
    })
}

/// Returns whether a type is one that is known by its name to be an argument.
pub(crate) fn is_well_known(ty: &Type) -> bool {
    const NAMES: [&str; 15] = [
        "String", "bool", "char", "u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64",
        "isize", "f32", "f64",
    ];
    let Type::Path(TypePath {
        qself: None, path, ..
    }) = ty
    else {
        return false;
    };
    match path.segments.last() {
        Some(last) if path.segments.len() == 1 => match &last.arguments {
            PathArguments::None => NAMES.iter().any(|name| last.ident == name),
            _ => ["Option", "Vec", "Box"]
                .iter()
                .any(|name| type_argument(ty, name).is_some_and(is_well_known)),
        },
        _ => false,
    }
}

/// Returns the type that lacks a trait if a type does: the `T` of `Option<T>`, `Vec<T>` and `Box<T>`.
pub(crate) fn element_type(ty: &Type) -> &Type {
    let inside = ["Option", "Vec", "Box"]
        .iter()
        .find_map(|name| type_argument(ty, name));
    inside.map_or(ty, element_type)
}

/// The name of the derive of a JSON Schema.
pub(crate) const JSON_SCHEMA: &str = "JsonSchema";

/// Generates derives of serde's traits and `JsonSchema`, by the paths of the facade.
pub(crate) fn derives(krate: &Path, traits: &[&str]) -> TokenStream {
    let mut derives = TokenStream::new();
    let mut crates = TokenStream::new();
    for (module, is_ours) in [("serde", false), ("schemars", true)] {
        let module_ident = format_ident!("{module}");
        let path = quote!(#krate::__private::#module_ident);
        let names = traits
            .iter()
            .filter(|name| (**name == JSON_SCHEMA) == is_ours);
        let names: Vec<Ident> = names.map(|name| format_ident!("{name}")).collect();
        if names.is_empty() {
            continue;
        }
        let text = path.to_string().replace(' ', "");
        derives.extend(quote!(#(#path::#names,)*));
        crates.extend(quote!(#[#module_ident(crate = #text)]));
    }
    if derives.is_empty() {
        return derives;
    }
    quote! {
        #[derive(#derives)]
        #crates
    }
}

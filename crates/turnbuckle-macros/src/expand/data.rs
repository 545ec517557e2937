//! Expansion of `#[data]`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::parse::Parser as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, Data, DeriveInput, Field, Fields, Path};

use super::arguments::derives;
use super::default_facade;
use crate::parse::keys::{ErrorCollector, check_keys, list};
use crate::parse::names::{Case, ident_text};
use crate::parse::schema::{SchemaAttribute, default_function_name};

/// Expands `#[data]` on a struct or enum.
pub(crate) fn expand_data(inside: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let mut item: DeriveInput = syn::parse2(item)?;
    let mut mistakes = ErrorCollector::default();
    let mut krate = default_facade();
    let mut case = None;
    let keys = mistakes.collect(list.parse2(inside)).unwrap_or_default();
    for key in check_keys(keys, &["crate", "rename_all"], "data", &mut mistakes) {
        if key.name == "crate" {
            krate = mistakes.collect(key.path()).unwrap_or(krate);
        } else {
            case = mistakes.collect(key.text().and_then(|text| Case::parse(&text)));
        }
    }
    let checks = field_checks(&item, &krate);
    let mut makers = TokenStream::new();
    let owner = ident_text(&item.ident);
    match &mut item.data {
        Data::Struct(data) => makers.extend(fields(&owner, &mut data.fields, &mut mistakes)),
        Data::Enum(data) => {
            for variant in &mut data.variants {
                let schema = SchemaAttribute::parse(&mut variant.attrs, &mut mistakes);
                if let (Some(span), false) = (schema.span, schema.has_only_names()) {
                    mistakes.add_at(
                        span,
                        "a variant has only `rename`, `title` and `description`",
                    );
                }
                let rename = schema.rename.as_ref().map(syn::LitStr::value);
                let unused = default_function_name(&owner, "");
                variant
                    .attrs
                    .extend(schema.attributes(rename.as_deref(), &unused));
                let owner = format!("{owner}_{}", ident_text(&variant.ident));
                makers.extend(fields(&owner, &mut variant.fields, &mut mistakes));
            }
        }
        Data::Union(data) => mistakes.add_at(
            data.union_token.span(),
            "a union cannot be sent: make it a struct or an enum",
        ),
    }
    mistakes.into_result()?;
    let derives = derives(&krate, &["Serialize", "Deserialize"]);
    let case = case.map(|case| case.text);
    let case = case.map(|case| quote!(#[serde(rename_all = #case)]));
    Ok(quote! {
        #checks
        #derives
        #case
        #item
        #makers
    })
}

/// Asserts of the types of fields that they can be sent, for an error that names the cure. The types
/// of generic items, and of fields with attributes of serde or schemars, are left to the derives.
fn field_checks(item: &DeriveInput, krate: &Path) -> Option<TokenStream> {
    if !item.generics.params.is_empty() {
        return None;
    }
    let fields: Vec<&Field> = match &item.data {
        Data::Struct(data) => data.fields.iter().collect(),
        Data::Enum(data) => data
            .variants
            .iter()
            .flat_map(|variant| &variant.fields)
            .collect(),
        Data::Union(_) => return None,
    };
    let is_changed = |attribute: &Attribute| {
        ["serde", "schemars", "cfg"]
            .iter()
            .any(|name| attribute.path().is_ident(name))
    };
    let checks = fields
        .into_iter()
        .filter(|field| !field.attrs.iter().any(is_changed))
        .map(|field| {
            let ty = &field.ty;
            quote_spanned!(ty.span()=> #krate::__private::field::<#ty>();)
        });
    let conditions = item
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"));
    Some(quote! {
        #(#conditions)*
        const _: fn() = || { #(#checks)* };
    })
}

/// Adds attributes of serde and schemars to fields, and returns the functions of their defaults.
fn fields(owner: &str, fields: &mut Fields, mistakes: &mut ErrorCollector) -> TokenStream {
    let mut makers = TokenStream::new();
    for (at, field) in fields.iter_mut().enumerate() {
        let schema = SchemaAttribute::parse(&mut field.attrs, mistakes);
        if let Some(complete) = &schema.complete {
            mistakes.add_at(
                complete.span(),
                "`complete` belongs on a parameter of a prompt or a resource",
            );
        }
        let name = field
            .ident
            .as_ref()
            .map_or_else(|| at.to_string(), ident_text);
        let default = default_function_name(owner, &name);
        let rename = schema.rename.as_ref().map(syn::LitStr::value);
        let attributes = schema.attributes(rename.as_deref(), &default);
        field.attrs.extend(attributes);
        makers.extend(schema.default_function(&default, &field.ty));
    }
    makers
}

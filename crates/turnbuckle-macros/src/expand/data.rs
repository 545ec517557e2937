//! Types that are sent and received.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::Parser as _;
use syn::spanned::Spanned as _;
use syn::{Data, DeriveInput, Fields};

use super::arguments::derives;
use super::facade;
use crate::parse::keys::{Mistakes, checked, list};
use crate::parse::names::{Case, text};
use crate::parse::schema::{Said, default_of};

/// A struct or an enum with what reads it, writes it, and tells its schema.
pub(crate) fn expand(inside: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let mut item: DeriveInput = syn::parse2(item)?;
    let mut mistakes = Mistakes::default();
    let mut krate = facade();
    let mut case = None;
    let keys = mistakes.of(list.parse2(inside)).unwrap_or_default();
    for key in checked(keys, &["crate", "rename_all"], "data", &mut mistakes) {
        if key.name == "crate" {
            krate = mistakes.of(key.path()).unwrap_or(krate);
        } else {
            case = mistakes.of(key.text().and_then(|text| Case::of(&text)));
        }
    }
    let mut makers = TokenStream::new();
    let owner = text(&item.ident);
    match &mut item.data {
        Data::Struct(data) => makers.extend(fields(&owner, &mut data.fields, &mut mistakes)),
        Data::Enum(data) => {
            for variant in &mut data.variants {
                let said = Said::take(&mut variant.attrs, &mut mistakes);
                if let (Some(span), false) = (said.span, said.is_about_names()) {
                    mistakes.at(
                        span,
                        "a variant has only `rename`, `title` and `description`",
                    );
                }
                let rename = said.rename.as_ref().map(syn::LitStr::value);
                let unused = default_of(&owner, "");
                variant
                    .attrs
                    .extend(said.attributes(rename.as_deref(), &unused));
                let owner = format!("{owner}_{}", text(&variant.ident));
                makers.extend(fields(&owner, &mut variant.fields, &mut mistakes));
            }
        }
        Data::Union(data) => mistakes.at(
            data.union_token.span(),
            "a union cannot be sent: make it a struct or an enum",
        ),
    }
    mistakes.into_result()?;
    let derives = derives(&krate, &["Serialize", "Deserialize"]);
    let case = case.map(|case| case.text);
    let case = case.map(|case| quote!(#[serde(rename_all = #case)]));
    Ok(quote! {
        #derives
        #case
        #item
        #makers
    })
}

/// Tells serde and schemars what is said of the fields; gives the functions that make defaults.
fn fields(owner: &str, fields: &mut Fields, mistakes: &mut Mistakes) -> TokenStream {
    let mut makers = TokenStream::new();
    for (at, field) in fields.iter_mut().enumerate() {
        let said = Said::take(&mut field.attrs, mistakes);
        if let Some(complete) = &said.complete {
            mistakes.at(
                complete.span(),
                "`complete` belongs on a parameter of a prompt or a resource",
            );
        }
        let name = field.ident.as_ref().map_or_else(|| at.to_string(), text);
        let default = default_of(owner, &name);
        let rename = said.rename.as_ref().map(syn::LitStr::value);
        let attributes = said.attributes(rename.as_deref(), &default);
        field.attrs.extend(attributes);
        makers.extend(said.maker(&default, &field.ty));
    }
    makers
}

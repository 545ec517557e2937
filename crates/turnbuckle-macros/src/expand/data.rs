//! Expansion of `#[data]`.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::parse::Parser as _;
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Data, DataStruct, DeriveInput, Fields, GenericParam, Generics, Ident, Path, Token,
    Type,
};

use super::arguments::{JSON_SCHEMA, derives};
use super::default_facade;
use super::field_types::CheckedFields;
use crate::parse::keys::{ErrorCollector, check_keys, list};
use crate::parse::names::{Case, ident_text};
use crate::parse::schema::{SchemaAttribute, default_function_name};

/// Expands `#[data]` on a struct or enum.
///
/// Traits that the `#[derive(…)]` below the attribute has are not derived again. After an error the
/// type is there with all derives, so that nothing else fails for lack of them.
pub(crate) fn expand_data(inside: TokenStream, item: TokenStream) -> TokenStream {
    let mut item: DeriveInput = match syn::parse2(item.clone()) {
        Ok(item) => item,
        Err(error) => {
            let error = error.into_compile_error();
            return quote!(#error #item);
        }
    };
    let mut mistakes = ErrorCollector::default();
    let mut krate = default_facade();
    let mut case = None;
    let keys = mistakes.collect(list.parse2(inside)).unwrap_or_default();
    let mut wanted: Option<Vec<Ident>> = None;
    for key in check_keys(
        keys,
        &["crate", "rename_all", "derive"],
        "data",
        &mut mistakes,
    ) {
        match key.name.to_string().as_str() {
            "crate" => krate = mistakes.collect(key.path()).unwrap_or(krate),
            "derive" => wanted = mistakes.collect(key.names()),
            _ => {
                let parsed = key
                    .text()
                    .and_then(|text| Ok((Case::parse(&text)?, key.name.span())));
                case = mistakes.collect(parsed);
            }
        }
    }
    let derived = derived_traits(&item.attrs, wanted.as_deref(), &mut mistakes);
    let kind = value_kind(&item, &krate);
    let checked = CheckedFields::find(&item, is_foreign);
    let mut makers = TokenStream::new();
    let owner = ident_text(&item.ident);
    let fields = FieldExpander {
        krate: &krate,
        generics: item.generics.clone(),
        reaches_serde: derived.reaches_serde,
    };
    match &mut item.data {
        Data::Struct(data) => {
            makers.extend(fields.expand(&owner, &mut data.fields, &mut mistakes));
        }
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
                    .extend(schema.attributes(rename.as_deref(), &unused, None, &krate));
                fields.check_reach(&schema, &mut mistakes);
                let owner = format!("{owner}_{}", ident_text(&variant.ident));
                makers.extend(fields.expand(&owner, &mut variant.fields, &mut mistakes));
            }
        }
        Data::Union(data) => {
            let message = "a union cannot be sent: make it a struct or an enum";
            mistakes.add_at(data.union_token.span(), message);
            // What has the derives.
            item.data = Data::Struct(DataStruct {
                struct_token: Token![struct](data.union_token.span()),
                fields: Fields::Named(data.fields.clone()),
                semi_token: None,
            });
        }
    }
    if let (Some((_, span)), false) = (&case, derived.reaches_serde) {
        mistakes.add_at(*span, NOT_SEEN_BY_SERDE);
    }
    let case = case.map(|(case, _)| case.text);
    let case = case.map(|case| quote!(#[serde(rename_all = #case)]));
    let case = quote!(#case);
    let errors = mistakes.into_compile_errors();
    // After an error, others would only follow from it.
    let checked = checked.filter(|_| errors.is_none());
    let (beside, derives) = match checked {
        Some(checked) => checked.derives(&item, &case, &krate, &derived.missing),
        None => (TokenStream::new(), derives(&krate, &derived.missing)),
    };
    quote! {
        #beside
        #derives
        #case
        #item
        #kind
        #makers
        #errors
    }
}

const NOT_SEEN_BY_SERDE: &str = "this reaches the schema and not serde's derives, which stand above \
     `#[data]` or are written by hand: put `#[data]` above them, or use `#[serde(…)]`";

/// The traits of a type with `#[data]`.
struct DerivedTraits {
    /// The traits that the attribute derives.
    missing: Vec<&'static str>,
    /// True if a derive of serde sees the attributes that are generated.
    reaches_serde: bool,
}

/// Returns the traits to derive: those of the key `derive`, or all that the derives below the
/// attribute lack.
fn derived_traits(
    attributes: &[Attribute],
    wanted: Option<&[Ident]>,
    mistakes: &mut ErrorCollector,
) -> DerivedTraits {
    const ALL: [&str; 3] = ["Serialize", "Deserialize", JSON_SCHEMA];
    let mut present: Vec<String> = Vec::new();
    for attribute in attributes
        .iter()
        .filter(|one| one.path().is_ident("derive"))
    {
        // What cannot be parsed is an error of the derive.
        let _ = attribute.parse_nested_meta(|derive| {
            let last = derive.path.segments.last();
            present.extend(last.map(|last| last.ident.to_string()));
            Ok(())
        });
    }
    for name in wanted.into_iter().flatten() {
        if !ALL.iter().any(|known| name == known) {
            mistakes.add_at(
                name.span(),
                format_args!("`data` derives {}, and no `{name}`", ALL.join(", ")),
            );
        }
    }
    let is_present = |name: &&str| present.iter().any(|there| there == name);
    let is_wanted =
        |name: &&str| wanted.is_none_or(|wanted| wanted.iter().any(|there| there == name));
    let missing: Vec<&str> = ALL
        .into_iter()
        .filter(|name| is_wanted(name) && !is_present(name))
        .collect();
    let of_serde =
        |name: &&str| *name != JSON_SCHEMA && (missing.contains(name) || is_present(name));
    DerivedTraits {
        reaches_serde: ALL.iter().any(of_serde),
        missing,
    }
}

/// Generates what the compiler knows of the kind of JSON value, for the constraints of fields and
/// arguments of this type. Attributes of serde and schemars may change it, so nothing is known then.
fn value_kind(item: &DeriveInput, krate: &Path) -> Option<TokenStream> {
    if item.attrs.iter().any(is_foreign) {
        return None;
    }
    let constraint = quote!(#krate::__private::constraint);
    let kind = match &item.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(_) => quote!(#constraint::ValueKind::Struct),
            Fields::Unnamed(fields) => match fields.unnamed.first() {
                Some(field) if fields.unnamed.len() == 1 && !field.attrs.iter().any(is_foreign) => {
                    let ty = &field.ty;
                    quote!({
                        #[allow(unused_imports)]
                        use #constraint::UnknownKind as _;
                        <#constraint::KindProbe<#ty>>::KIND
                    })
                }
                _ => return None,
            },
            Fields::Unit => return None,
        },
        Data::Enum(data) => {
            let is_unit = |variant: &syn::Variant| variant.fields.is_empty();
            if !data.variants.iter().all(is_unit) || data.variants.is_empty() {
                return None;
            }
            quote!(#constraint::ValueKind::Text)
        }
        Data::Union(_) => return None,
    };
    let conditions = item.attrs.iter().filter(|one| one.path().is_ident("cfg"));
    let (generics, arguments, bounds) = item.generics.split_for_impl();
    let ident = &item.ident;
    Some(quote! {
        #(#conditions)*
        impl #generics #constraint::HasValueKind for #ident #arguments #bounds {
            const KIND: #constraint::ValueKind = #kind;
        }
    })
}

/// Returns whether an attribute is one of serde or schemars.
fn is_foreign(attribute: &Attribute) -> bool {
    attribute.path().is_ident("serde") || attribute.path().is_ident("schemars")
}

/// Expands the `#[schema(…)]` of fields.
struct FieldExpander<'a> {
    krate: &'a Path,
    /// The generics of the type.
    generics: Generics,
    /// True if a derive of serde sees the attributes that are generated.
    reaches_serde: bool,
}

impl FieldExpander<'_> {
    /// Adds attributes of serde and schemars to fields, and returns the functions of their defaults
    /// and the checks of their constraints.
    fn expand(
        &self,
        owner: &str,
        fields: &mut Fields,
        mistakes: &mut ErrorCollector,
    ) -> TokenStream {
        let mut beside = TokenStream::new();
        for (at, field) in fields.iter_mut().enumerate() {
            let is_changed = field.attrs.iter().any(is_foreign);
            let schema = SchemaAttribute::parse(&mut field.attrs, mistakes);
            if let Some(complete) = &schema.complete {
                mistakes.add_at(
                    complete.span(),
                    "`complete` belongs on a parameter of a prompt or a resource",
                );
            }
            self.check_reach(&schema, mistakes);
            let name = field
                .ident
                .as_ref()
                .map_or_else(|| at.to_string(), ident_text);
            let default = default_function_name(owner, &name);
            let rename = schema.rename.as_ref().map(syn::LitStr::value);
            let ty = &field.ty;
            let attributes = schema.attributes(rename.as_deref(), &default, Some(ty), self.krate);
            // With an attribute of serde or schemars, the field need not be sent as its type.
            if !is_changed && !self.is_generic(ty) {
                beside.extend(schema.constraint_checks(ty, self.krate));
            }
            beside.extend(schema.default_function(&default, ty));
            field.attrs.extend(attributes);
        }
        beside
    }

    /// Refuses keys for serde where no derive of serde would see them.
    fn check_reach(&self, schema: &SchemaAttribute, mistakes: &mut ErrorCollector) {
        if !self.reaches_serde
            && let Some(span) = schema.serde_key()
        {
            mistakes.add_at(span, NOT_SEEN_BY_SERDE);
        }
    }

    /// Returns whether a type names a parameter of the type around it: a constant cannot.
    fn is_generic(&self, ty: &Type) -> bool {
        if self.generics.params.is_empty() {
            return false;
        }
        let parameters: Vec<String> = self
            .generics
            .params
            .iter()
            .map(|parameter| match parameter {
                GenericParam::Type(one) => one.ident.to_string(),
                GenericParam::Const(one) => one.ident.to_string(),
                GenericParam::Lifetime(one) => one.lifetime.ident.to_string(),
            })
            .collect();
        names_any(ty.to_token_stream(), &parameters)
    }
}

/// Returns whether tokens have one of these identifiers.
fn names_any(tokens: TokenStream, names: &[String]) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => names.iter().any(|name| ident == name),
        TokenTree::Group(group) => names_any(group.stream(), names),
        _ => false,
    })
}

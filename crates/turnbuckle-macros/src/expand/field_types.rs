//! Derives of a type with `#[data]` whose fields are checked.
//!
//! A derive uses the type of a field many times, and the compiler reports a type that cannot be sent at
//! each of them. The trait `Field` of the facade reports it once, in words of ours. So the derives read
//! copies of the type that use each field by way of that trait: without it, nothing else is known of
//! the field, and nothing else is reported. No copy is compiled: the type stays as the user wrote it.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Data, DeriveInput, Field, LitStr, Path, Type, parse_quote, parse_quote_spanned,
};

use super::arguments::{derives, is_well_known};
use crate::parse::names::ident_text;

/// The fields of a type that are checked.
pub(super) struct CheckedFields {
    /// For each field, those of all variants in order: true if it is checked.
    places: Vec<bool>,
    /// True if derives can read copies. An attribute that is not known may change the fields of the
    /// type alone, and one of serde the meaning of the attributes of a copy.
    has_copies: bool,
}

impl CheckedFields {
    /// Finds the fields to check in a type as the user wrote it: not those that are known by their
    /// names, nor those with attributes of serde or schemars, which need not be sent as their types.
    /// Returns `None` without any, and for a generic type.
    pub(super) fn find(item: &DeriveInput, is_foreign: fn(&Attribute) -> bool) -> Option<Self> {
        let is_checked = |field: &&Field| {
            let is_changed = |one: &Attribute| is_foreign(one) || one.path().is_ident("cfg");
            !is_well_known(&field.ty) && !field.attrs.iter().any(is_changed)
        };
        let fields = fields(&item.data);
        let places: Vec<bool> = fields.iter().map(is_checked).collect();
        // The `$crate` of a macro has no text.
        let has_text = |field: &&Field| !field.ty.to_token_stream().to_string().contains('$');
        let is_found = item.generics.params.is_empty() && places.contains(&true);
        is_found.then(|| Self {
            places,
            has_copies: item.attrs.iter().all(is_inert) && fields.iter().all(has_text),
        })
    }

    /// Generates the derives of `traits`, and what stands beside the type. `item` has all attributes for
    /// serde and schemars but those in `attributes`.
    pub(super) fn derives(
        &self,
        item: &DeriveInput,
        attributes: &TokenStream,
        krate: &Path,
        traits: &[&str],
    ) -> (TokenStream, TokenStream) {
        let conditions = item.attrs.iter().filter(|one| one.path().is_ident("cfg"));
        let conditions = quote!(#(#conditions)*);
        let checks = self
            .types(item)
            .into_iter()
            .map(|ty| quote_spanned!(ty.span()=> <#ty as #krate::__private::Field<_>>::check();));
        let checks = quote!(#(#checks)*);
        if !self.has_copies {
            let beside = quote!(#conditions const _: fn() = || { #checks };);
            return (beside, derives(krate, traits));
        }
        let dropped = quote!(#[#krate::__private::read_by_derives]);
        let copies = traits.iter().map(|name| {
            let copy = match *name {
                "Serialize" => {
                    let copy = self.copy_for_serialize(item, krate);
                    quote!(#dropped #copy)
                }
                "Deserialize" => self.copy_for_deserialize(item, krate, &checks),
                _ => {
                    let copy = self.copy_for_schema(item, krate);
                    quote!(#dropped #copy)
                }
            };
            let derives = derives(krate, &[name]);
            quote! {
                #conditions
                const _: () = {
                    #derives
                    #attributes
                    #copy
                };
            }
        });
        let unused = quote!(#[derive(#krate::__private::DerivedAttributes)]);
        (quote!(#(#copies)*), unused)
    }

    /// Returns a copy in which each checked field is serialized by a function of `Field`: the derive
    /// takes the types from the type itself.
    fn copy_for_serialize(&self, item: &DeriveInput, krate: &Path) -> DeriveInput {
        self.copy(item, |field| {
            let ty = &field.ty;
            let function =
                quote!(<#ty as #krate::__private::Field<_>>::serialize_field).to_string();
            let function = LitStr::new(&function, ty.span());
            field
                .attrs
                .push(parse_quote!(#[serde(serialize_with = #function)]));
        })
    }

    /// Returns a copy in which each checked field has its type by way of `Field`.
    fn copy_for_schema(&self, item: &DeriveInput, krate: &Path) -> DeriveInput {
        self.copy(item, |field| {
            let ty = &field.ty;
            field.ty = parse_quote_spanned! {ty.span()=>
                <#ty as #krate::__private::Field<_>>::Type
            };
        })
    }

    /// Generates a copy of another name, of which the derive makes a function with bounds, and the
    /// implementation that calls it. The compiler reports false bounds where it is called, and not
    /// beside an error of the checks there. An implementation with bounds would not do: those of types
    /// that contain each other would never end.
    fn copy_for_deserialize(
        &self,
        item: &DeriveInput,
        krate: &Path,
        checks: &TokenStream,
    ) -> TokenStream {
        let serde = quote!(#krate::__private::serde);
        let name = ident_text(&item.ident);
        let helper = format_ident!("__{name}Fields", span = Span::call_site());
        let types = self.types(item);
        let bounds = quote!(#(#types: #serde::Deserialize<'de>,)*);
        let bounds_text = bounds.to_string();
        let mut copy = self.copy(item, |_| {});
        copy.ident = helper.clone();
        copy.vis = syn::Visibility::Inherited;
        copy.attrs.push(
            parse_quote!(#[serde(remote = #name, rename = #name, bound(deserialize = #bounds_text))]),
        );
        let at = types.first().map_or_else(Span::call_site, |ty| ty.span());
        let called = format_ident!("{helper}", span = at);
        let parameter = format_ident!("__deserializer", span = Span::call_site());
        let call = quote_spanned! {at=>
            <#called as #krate::__private::Fields<'de>>::deserialize_fields(#parameter)
        };
        let ident = &item.ident;
        quote! {
            #[derive(#krate::__private::DerivedAttributes)]
            #[allow(dead_code)]
            #copy

            #[automatically_derived]
            impl<'de> #krate::__private::Fields<'de> for #helper
            where
                #bounds
            {
                type Owner = #ident;

                fn deserialize_fields<__D: #serde::Deserializer<'de>>(
                    __deserializer: __D,
                ) -> ::core::result::Result<#ident, __D::Error> {
                    Self::deserialize(__deserializer)
                }
            }

            #[automatically_derived]
            impl<'de> #serde::Deserialize<'de> for #ident {
                fn deserialize<__D: #serde::Deserializer<'de>>(
                    #parameter: __D,
                ) -> ::core::result::Result<Self, __D::Error> {
                    #checks
                    #call
                }
            }
        }
    }

    /// Returns a copy with the attributes that derives read and with changed fields.
    fn copy(&self, item: &DeriveInput, change: impl Fn(&mut Field)) -> DeriveInput {
        let mut copy = item.clone();
        copy.attrs.retain(|one| !one.path().is_ident("derive"));
        let fields = fields_mut(&mut copy.data).into_iter().zip(&self.places);
        for (field, _) in fields.filter(|(_, is_checked)| **is_checked) {
            change(field);
        }
        copy
    }

    /// Returns the types of the checked fields.
    fn types<'a>(&self, item: &'a DeriveInput) -> Vec<&'a Type> {
        let fields = fields(&item.data).into_iter().zip(&self.places);
        let checked = fields.filter(|(_, is_checked)| **is_checked);
        checked.map(|(field, _)| &field.ty).collect()
    }
}

/// Returns whether an attribute of a type changes neither its fields nor what derives make of them.
fn is_inert(attribute: &Attribute) -> bool {
    let names = [
        "allow",
        "cfg",
        "deny",
        "deprecated",
        "derive",
        "doc",
        "expect",
        "must_use",
        "repr",
        "warn",
    ];
    names.iter().any(|name| attribute.path().is_ident(name))
}

/// Returns the fields of a type, those of all variants in order.
fn fields(data: &Data) -> Vec<&Field> {
    match data {
        Data::Struct(data) => data.fields.iter().collect(),
        Data::Enum(data) => data.variants.iter().flat_map(|one| &one.fields).collect(),
        Data::Union(_) => Vec::new(),
    }
}

/// Returns the fields as [`fields`] does, to be changed.
fn fields_mut(data: &mut Data) -> Vec<&mut Field> {
    match data {
        Data::Struct(data) => data.fields.iter_mut().collect(),
        Data::Enum(data) => {
            let variants = data.variants.iter_mut();
            variants.flat_map(|one| &mut one.fields).collect()
        }
        Data::Union(_) => Vec::new(),
    }
}

//! The `#[schema(…)]` attribute and the doc comments of a parameter or field.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{
    Attribute, Expr, ExprLit, GenericArgument, Ident, Lit, LitStr, Path, PathArguments, Type,
    parse_quote,
};

use super::docs;
use super::item::ItemKind;
use super::keys::{ErrorCollector, Key, check_keys, list};
use super::names::type_name;

const SCHEMA_KEYS: &[&str] = &[
    "default",
    "min",
    "max",
    "exclusive_min",
    "exclusive_max",
    "multiple_of",
    "min_len",
    "max_len",
    "pattern",
    "format",
    "title",
    "description",
    "example",
    "rename",
    "header",
    "complete",
];

/// The parsed `#[schema(…)]` of a parameter or field.
#[derive(Default)]
pub(crate) struct SchemaAttribute {
    pub(crate) rename: Option<LitStr>,
    /// The completion function.
    pub(crate) complete: Option<Expr>,
    /// The span of the attribute, if there is one.
    pub(crate) span: Option<Span>,
    default: Option<Option<Expr>>,
    /// Schema members beside those of the type.
    members: Vec<(&'static str, TokenStream)>,
    /// The keys that limit values, as variants of `Constraint`.
    constraints: Vec<Ident>,
    /// The key `header`, if it is there.
    header: Option<Ident>,
    /// The keys that only describe, in the order of their occurrence.
    descriptive: Vec<Ident>,
    min_len: Option<Expr>,
    max_len: Option<Expr>,
    title: Option<Expr>,
    description: Option<TokenStream>,
    examples: Vec<Expr>,
}

impl SchemaAttribute {
    /// Parses and removes the `#[schema]` attributes.
    pub(crate) fn parse(attributes: &mut Vec<Attribute>, mistakes: &mut ErrorCollector) -> Self {
        let mut schema = Self::default();
        attributes.retain(|attribute| {
            let is_ours = attribute.path().is_ident("schema");
            if is_ours {
                schema.span = Some(attribute.pound_token.spans[0]);
                let keys = mistakes.collect(attribute.parse_args_with(list));
                for key in check_keys(keys.unwrap_or_default(), SCHEMA_KEYS, "schema", mistakes) {
                    mistakes.collect(schema.apply_key(&key));
                }
            }
            !is_ours
        });
        schema
    }

    /// Refuses the keys that no client of a prompt or resource sees: they would have no effect.
    pub(crate) fn check_visible(&self, kind: ItemKind, mistakes: &mut ErrorCollector) {
        if kind == ItemKind::Tool {
            return;
        }
        if let Some(header) = &self.header {
            mistakes.add_at(
                header.span(),
                "clients repeat arguments in headers only for tools: `header` has no effect here",
            );
        }
        for key in &self.descriptive {
            let is_seen = kind == ItemKind::Prompt && key != "example";
            if !is_seen {
                let what = if kind == ItemKind::Prompt {
                    "the title and description of a prompt's arguments"
                } else {
                    "the names of a template's variables"
                };
                mistakes.add_at(
                    key.span(),
                    format_args!("clients see only {what}: `{key}` has no effect here"),
                );
            }
        }
    }

    /// Removes the doc comments, which parameters cannot have. They are the default description.
    pub(crate) fn take_docs(&mut self, attributes: &mut Vec<Attribute>) {
        if self.description.is_none() {
            self.description = docs::doc_text(attributes).map(|text| quote!(#text));
        }
        attributes.retain(|attribute| !docs::is_doc(attribute));
    }

    /// Returns the place of a key that serde must know.
    pub(crate) fn serde_key(&self) -> Option<Span> {
        let default = self.default.is_some().then_some(self.span).flatten();
        self.rename.as_ref().map(LitStr::span).or(default)
    }

    /// Returns whether only names and descriptions are given.
    pub(crate) fn has_only_names(&self) -> bool {
        self.default.is_none()
            && self.complete.is_none()
            && self.members.is_empty()
            && self.min_len.is_none()
            && self.max_len.is_none()
            && self.examples.is_empty()
    }

    fn apply_key(&mut self, key: &Key) -> syn::Result<()> {
        let name = key.name.to_string();
        match name.as_str() {
            "min" | "max" | "exclusive_min" | "exclusive_max" | "multiple_of" | "min_len"
            | "max_len" | "pattern" | "format" => {
                let variant = type_name(&name);
                self.constraints.push(Ident::new(&variant, key.name.span()));
            }
            "title" | "description" | "example" => self.descriptive.push(key.name.clone()),
            "header" => self.header = Some(key.name.clone()),
            _ => {}
        }
        match name.as_str() {
            "default" => self.default = Some(key.optional_expression()?.cloned()),
            "min" => self.member("minimum", key.expression()?),
            "max" => self.member("maximum", key.expression()?),
            "exclusive_min" => self.member("exclusiveMinimum", key.expression()?),
            "exclusive_max" => self.member("exclusiveMaximum", key.expression()?),
            "multiple_of" => self.member("multipleOf", key.expression()?),
            "min_len" => self.min_len = Some(key.expression()?.clone()),
            "max_len" => self.max_len = Some(key.expression()?.clone()),
            "pattern" => self.members.push(("pattern", literal(&key.text()?))),
            "format" => self.members.push(("format", literal(&key.text()?))),
            "title" => self.title = Some(key.expression()?.clone()),
            "description" => {
                let description = key.expression()?;
                self.description = Some(quote!(#description));
            }
            "example" => self.examples.push(key.expression()?.clone()),
            "rename" => self.rename = Some(key.text()?),
            "header" => self
                .members
                .push(("x-mcp-header", literal(&check_header_name(&key.text()?)?))),
            "complete" => self.complete = Some(key.expression()?.clone()),
            _ => {}
        }
        Ok(())
    }

    fn member(&mut self, keyword: &'static str, value: &Expr) {
        self.members.push((keyword, quote!(#value)));
    }

    /// Generates the attributes of serde and schemars. `name` is the name for clients, `default`
    /// the function of the default, `ty` the type of the field.
    pub(crate) fn attributes(
        &self,
        name: Option<&str>,
        default: &Ident,
        ty: Option<&Type>,
        krate: &Path,
    ) -> Vec<Attribute> {
        let mut for_serde: Vec<TokenStream> = Vec::new();
        for_serde.extend(name.map(|name| quote!(rename = #name)));
        for_serde.extend(self.default.as_ref().map(|value| {
            let path = default.to_string();
            match value {
                Some(_) => quote!(default = #path),
                None => quote!(default),
            }
        }));
        let mut for_schemars: Vec<TokenStream> = Vec::new();
        for_schemars.extend(self.title.iter().map(|title| quote!(title = #title)));
        let description = self.description.iter();
        for_schemars.extend(description.map(|text| quote!(description = #text)));
        for_schemars.extend(self.examples.iter().map(|example| match example {
            // Without the reference, schemars takes a string literal for the name of a function.
            Expr::Lit(text) => quote!(example = &#text),
            example => quote!(example = #example),
        }));
        let shortest = self.min_len.iter().map(|least| quote!(.min(#least)));
        let longest = self.max_len.iter().map(|most| quote!(.max(#most)));
        let length: Vec<TokenStream> = shortest.chain(longest).collect();
        if !length.is_empty() {
            let constraint = quote!(#krate::__private::constraint);
            for_schemars.push(quote!(transform = {
                use #constraint::UnknownKind as _;
                #constraint::Length::for_kind(<#constraint::KindProbe<#ty>>::KIND) #(#length)*
            }));
        }
        let members = self.members.iter();
        for_schemars.extend(members.map(|(keyword, value)| quote!(extend(#keyword = #value))));
        let mut attributes: Vec<Attribute> = Vec::new();
        if !for_serde.is_empty() {
            attributes.push(parse_quote!(#[serde(#(#for_serde),*)]));
        }
        if !for_schemars.is_empty() {
            attributes.push(parse_quote!(#[schemars(#(#for_schemars),*)]));
        }
        attributes
    }

    /// Generates the assertions that each constraint fits the type, which the compiler evaluates.
    pub(crate) fn constraint_checks(&self, ty: &Type, krate: &Path) -> Option<TokenStream> {
        if self.constraints.is_empty() {
            return None;
        }
        let constraint = quote!(#krate::__private::constraint);
        // The compiler prints the place of the assertion, which is that of the key.
        let checks = self.constraints.iter().map(|variant| {
            let span = variant.span();
            quote_spanned!(span=> assert_fits(Constraint::#variant, KIND))
        });
        Some(quote! {
            const _: () = {
                #[allow(unused_imports)]
                use #constraint::{Constraint, UnknownKind as _, assert_fits};
                const KIND: #constraint::ValueKind = <#constraint::KindProbe<#ty>>::KIND;
                #(#checks;)*
            };
        })
    }

    /// Generates the function that returns the default.
    pub(crate) fn default_function(&self, default: &Ident, ty: &Type) -> Option<TokenStream> {
        let value = self.default.as_ref()?.as_ref()?;
        let fitted = coerce_default(value, ty);
        Some(quote! {
            #[allow(non_snake_case)]
            fn #default() -> #ty { #fitted }
        })
    }
}

/// Returns the name of the function that returns the default of a field.
pub(crate) fn default_function_name(owner: &str, field: &str) -> Ident {
    format_ident!("__{owner}_{field}_default")
}

fn literal(text: &LitStr) -> TokenStream {
    quote!(#text)
}

/// Checks that a header name consists of the token characters of RFC 9110.
fn check_header_name(name: &LitStr) -> syn::Result<LitStr> {
    let text = name.value();
    let legal = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if text.is_empty() || !text.chars().all(legal) {
        return Err(syn::Error::new(
            name.span(),
            format_args!("{text:?} is not a valid header name"),
        ));
    }
    Ok(name.clone())
}

/// Converts a literal default to the type of the field.
fn coerce_default(value: &Expr, ty: &Type) -> TokenStream {
    if let Some(inner) = type_argument(ty, "Option") {
        if matches!(value, Expr::Path(path) if path.path.is_ident("None")) {
            return quote!(::core::option::Option::None);
        }
        if matches!(value, Expr::Call(call) if matches!(&*call.func, Expr::Path(path) if path.path.is_ident("Some")))
        {
            return quote!(#value);
        }
        let inner = coerce_default(value, inner);
        return quote!(::core::option::Option::Some(#inner));
    }
    let is = |name: &str| last_segment(ty).is_some_and(|segment| segment.ident == name);
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(_), ..
        }) => quote!(::core::convert::Into::into(#value)),
        Expr::Lit(ExprLit {
            lit: Lit::Int(_), ..
        }) if is("f64") || is("f32") => quote!(#value as #ty),
        _ => quote!(#value),
    }
}

/// Returns the `T` of `Name<T>`.
pub(crate) fn type_argument<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let segment = last_segment(ty).filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

/// Returns the last segment of a type's path.
pub(crate) fn last_segment(ty: &Type) -> Option<&syn::PathSegment> {
    match ty {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

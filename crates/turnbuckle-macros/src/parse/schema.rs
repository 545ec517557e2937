//! `#[schema(…)]` and the doc comments of one parameter or field.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{
    Attribute, Expr, ExprLit, GenericArgument, Ident, Lit, LitStr, PathArguments, Type, parse_quote,
};

use super::docs;
use super::keys::{Key, Mistakes, checked, list};

const KEYS: &[&str] = &[
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

/// What is said of one value beside its type.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) rename: Option<LitStr>,
    /// The function that completes it.
    pub(crate) complete: Option<Expr>,
    /// Where `#[schema]` stands, if it does.
    pub(crate) span: Option<Span>,
    default: Option<Option<Expr>>,
    /// Members of the schema beside those of its type.
    members: Vec<(&'static str, TokenStream)>,
    shortest: Option<Expr>,
    longest: Option<Expr>,
    title: Option<Expr>,
    description: Option<TokenStream>,
    examples: Vec<Expr>,
}

impl Said {
    /// Reads the attributes that are for this, and takes them away.
    pub(crate) fn take(attributes: &mut Vec<Attribute>, mistakes: &mut Mistakes) -> Self {
        let mut said = Self::default();
        attributes.retain(|attribute| {
            let is_ours = attribute.path().is_ident("schema");
            if is_ours {
                said.span = Some(attribute.pound_token.spans[0]);
                let keys = mistakes.of(attribute.parse_args_with(list));
                for key in checked(keys.unwrap_or_default(), KEYS, "schema", mistakes) {
                    mistakes.of(said.hear(&key));
                }
            }
            !is_ours
        });
        said
    }

    /// Takes the doc comments away, which parameters cannot have: they are the description, if
    /// nothing else is.
    pub(crate) fn take_docs(&mut self, attributes: &mut Vec<Attribute>) {
        if self.description.is_none() {
            self.description = docs::text_of(attributes).map(|text| quote!(#text));
        }
        attributes.retain(|attribute| !docs::is_doc(attribute));
    }

    /// Whether nothing is said but names and descriptions.
    pub(crate) fn is_about_names(&self) -> bool {
        self.default.is_none()
            && self.complete.is_none()
            && self.members.is_empty()
            && self.shortest.is_none()
            && self.longest.is_none()
            && self.examples.is_empty()
    }

    fn hear(&mut self, key: &Key) -> syn::Result<()> {
        let name = key.name.to_string();
        match name.as_str() {
            "default" => self.default = Some(key.optional()?.cloned()),
            "min" => self.member("minimum", key.expression()?),
            "max" => self.member("maximum", key.expression()?),
            "exclusive_min" => self.member("exclusiveMinimum", key.expression()?),
            "exclusive_max" => self.member("exclusiveMaximum", key.expression()?),
            "multiple_of" => self.member("multipleOf", key.expression()?),
            "min_len" => self.shortest = Some(key.expression()?.clone()),
            "max_len" => self.longest = Some(key.expression()?.clone()),
            "pattern" => self.members.push(("pattern", text(&key.text()?))),
            "format" => self.members.push(("format", text(&key.text()?))),
            "title" => self.title = Some(key.expression()?.clone()),
            "description" => {
                let description = key.expression()?;
                self.description = Some(quote!(#description));
            }
            "example" => self.examples.push(key.expression()?.clone()),
            "rename" => self.rename = Some(key.text()?),
            "header" => self
                .members
                .push(("x-mcp-header", text(&header(&key.text()?)?))),
            "complete" => self.complete = Some(key.expression()?.clone()),
            _ => {}
        }
        Ok(())
    }

    fn member(&mut self, keyword: &'static str, value: &Expr) {
        self.members.push((keyword, quote!(#value)));
    }

    /// The attributes that tell serde and schemars, under the name that clients know; `default` is
    /// the function that makes the default.
    pub(crate) fn attributes(&self, name: Option<&str>, default: &Ident) -> Vec<Attribute> {
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
            // As it stands, schemars would have to guess whether it names a function.
            Expr::Lit(text) => quote!(example = &#text),
            example => quote!(example = #example),
        }));
        let shortest = self.shortest.iter().map(|least| quote!(min = #least));
        let longest = self.longest.iter().map(|most| quote!(max = #most));
        let length: Vec<TokenStream> = shortest.chain(longest).collect();
        if !length.is_empty() {
            for_schemars.push(quote!(length(#(#length),*)));
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

    /// The function that makes the default.
    pub(crate) fn maker(&self, default: &Ident, ty: &Type) -> Option<TokenStream> {
        let value = self.default.as_ref()?.as_ref()?;
        let fitted = fitted(value, ty);
        Some(quote! {
            #[doc(hidden)]
            #[allow(non_snake_case)]
            fn #default() -> #ty { #fitted }
        })
    }
}

/// The name of the function that makes the default of a field.
pub(crate) fn default_of(owner: &str, field: &str) -> Ident {
    format_ident!("__{owner}_{field}_default")
}

fn text(text: &LitStr) -> TokenStream {
    quote!(#text)
}

/// The name of a header has the characters that RFC 9110 gives it.
fn header(name: &LitStr) -> syn::Result<LitStr> {
    let text = name.value();
    let legal = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if text.is_empty() || !text.chars().all(legal) {
        return Err(syn::Error::new(
            name.span(),
            format_args!("{text:?} cannot be part of a header's name"),
        ));
    }
    Ok(name.clone())
}

/// A default as a value of this type, where it is a literal of another.
fn fitted(value: &Expr, ty: &Type) -> TokenStream {
    if let Some(inner) = argument_of(ty, "Option") {
        if matches!(value, Expr::Path(path) if path.path.is_ident("None")) {
            return quote!(::core::option::Option::None);
        }
        if matches!(value, Expr::Call(call) if matches!(&*call.func, Expr::Path(path) if path.path.is_ident("Some")))
        {
            return quote!(#value);
        }
        let inner = fitted(value, inner);
        return quote!(::core::option::Option::Some(#inner));
    }
    let is = |name: &str| last(ty).is_some_and(|segment| segment.ident == name);
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

/// The `T` of `Name<T>`.
fn argument_of<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let segment = last(ty).filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

/// The last segment of a type's path.
pub(crate) fn last(ty: &Type) -> Option<&syn::PathSegment> {
    match ty {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

//! The arguments of `#[tool(…)]`, `#[prompt(…)]` and `#[resource("…", …)]`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::Parser as _;
use syn::{Ident, LitStr, Path, Token};

use super::keys::{ErrorCollector, Key, check_keys, list};
use super::names::{Case, check_tool_name, ident_text};

/// The kind of item that a function defines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemKind {
    Tool,
    Prompt,
    Resource,
}

const COMMON_KEYS: &[&str] = &[
    "crate",
    "name",
    "title",
    "description",
    "icon",
    "scope",
    "meta",
    "rename_all",
    "blocking",
    "timeout",
    "max_concurrent",
    "mask_error_details",
];
const TOOL_KEYS: &[&str] = &[
    "read_only",
    "destructive",
    "idempotent",
    "open_world",
    "input_schema",
    "output_schema",
    "task",
];
const RESOURCE_KEYS: &[&str] = &["mime", "cache", "size"];

impl ItemKind {
    pub(crate) const ALL: [Self; 3] = [Self::Tool, Self::Prompt, Self::Resource];

    /// Returns the name of the attribute.
    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
        }
    }

    /// Returns the name of the type whose function `builder` starts the generated code: `Tool` for
    /// `Tool::builder`.
    pub(crate) fn builder_type(self) -> Ident {
        let name = match self {
            Self::Tool => "Tool",
            Self::Prompt => "Prompt",
            Self::Resource => "Resource",
        };
        Ident::new(name, Span::call_site())
    }

    /// Returns the keys that the attribute accepts.
    fn keys(self) -> Vec<&'static str> {
        let own = match self {
            Self::Tool => TOOL_KEYS,
            Self::Prompt => &[],
            Self::Resource => RESOURCE_KEYS,
        };
        [COMMON_KEYS, own].concat()
    }
}

/// A parsed attribute.
pub(crate) struct ItemAttribute {
    pub(crate) kind: ItemKind,
    /// The path by which generated code names the crate `turnbuckle`.
    pub(crate) krate: Path,
    /// The name of the item: the key `name`, or else the function's.
    pub(crate) name: String,
    pub(crate) name_span: Span,
    /// The URI or URI template of a resource.
    pub(crate) uri: Option<LitStr>,
    /// The place of the key `blocking`, if the function blocks its thread.
    pub(crate) blocking: Option<Span>,
    /// The case that `rename_all` gives to the names of arguments.
    pub(crate) case: Option<Case>,
    /// True if the key `description` replaces the doc comment.
    has_description: bool,
    /// The calls of the builder's setters, such as `.title("…")`.
    setters: TokenStream,
    /// The calls of the setters of `ToolAnnotations`.
    annotations: TokenStream,
}

impl ItemAttribute {
    /// Parses the arguments of an attribute. `krate` is the path of the crate `turnbuckle`, unless the
    /// key `crate` gives another.
    pub(crate) fn parse(
        kind: ItemKind,
        inside: TokenStream,
        function: &Ident,
        krate: Path,
        mistakes: &mut ErrorCollector,
    ) -> Self {
        let parsed = mistakes.collect(
            (|input: syn::parse::ParseStream<'_>| {
                let mut uri = None;
                if kind == ItemKind::Resource {
                    if !input.peek(LitStr) {
                        return Err(input.error(
                            "a resource needs its URI, or a template: \
                             `#[resource(\"notes://{id}\")]`",
                        ));
                    }
                    uri = Some(input.parse::<LitStr>()?);
                    input.parse::<Option<Token![,]>>()?;
                }
                Ok((uri, list(input)?))
            })
            .parse2(inside),
        );
        let (uri, keys) = parsed.unwrap_or_default();
        let mut this = Self {
            kind,
            krate,
            name: ident_text(function),
            name_span: function.span(),
            uri,
            blocking: None,
            case: None,
            has_description: false,
            setters: TokenStream::new(),
            annotations: TokenStream::new(),
        };
        for key in check_keys(keys, &kind.keys(), kind.attribute(), mistakes) {
            match key.name.to_string().as_str() {
                "cache" => this.apply_cache(key, mistakes),
                "task" => this.apply_task(key, mistakes),
                _ => {
                    mistakes.collect(this.apply_key(&key));
                }
            }
        }
        if kind == ItemKind::Tool {
            mistakes.collect(check_tool_name(&this.name, this.name_span));
        }
        this
    }

    /// Returns the value that must be unique among items of the kind, a name or URI, with its span.
    pub(crate) fn identity(&self) -> (String, Span) {
        match &self.uri {
            Some(uri) => (uri.value(), uri.span()),
            None => (self.name.clone(), self.name_span),
        }
    }

    fn apply_key(&mut self, key: &Key) -> syn::Result<()> {
        let krate = self.krate.clone();
        let setter = key.name.clone();
        match key.name.to_string().as_str() {
            "crate" => self.krate = key.path()?,
            "name" => {
                let name = key.text()?;
                self.name = name.value();
                self.name_span = name.span();
            }
            "title" | "scope" | "size" | "meta" | "timeout" | "max_concurrent" | "input_schema"
            | "output_schema" => {
                let value = key.expression()?;
                self.setters.extend(quote!(.#setter(#value)));
            }
            "description" => {
                let value = key.expression()?;
                self.has_description = true;
                self.setters.extend(quote!(.description(#value)));
            }
            "icon" => {
                let source = key.expression()?;
                self.setters
                    .extend(quote!(.icon(#krate::types::Icon::new(#source))));
            }
            "mime" => {
                let mime = key.expression()?;
                self.setters.extend(quote!(.mime_type(#mime)));
            }
            "mask_error_details" => {
                let mask = key.flag()?;
                self.setters.extend(quote!(.#setter(#mask)));
            }
            "rename_all" => self.case = Some(Case::parse(&key.text()?)?),
            "blocking" => self.blocking = key.flag()?.then(|| key.name.span()),
            "read_only" | "destructive" | "idempotent" | "open_world" => {
                let flag = key.flag()?;
                let hint = quote::format_ident!("{}_hint", key.name);
                self.annotations.extend(quote!(.#hint(#flag)));
            }
            _ => {}
        }
        Ok(())
    }

    fn apply_cache(&mut self, key: Key, mistakes: &mut ErrorCollector) {
        let span = key.name.span();
        let mut ttl = None;
        let mut public = false;
        for part in key.list(&["ttl", "public", "private"], mistakes) {
            if part.name == "ttl" {
                ttl = mistakes.collect(part.expression().cloned());
            } else if mistakes.collect(part.flag()) == Some(true) {
                public = part.name == "public";
            }
        }
        let Some(ttl) = ttl else {
            mistakes.add_at(
                span,
                "`cache` needs how long, in milliseconds: `cache(ttl = 60_000)`",
            );
            return;
        };
        let scope = Ident::new(if public { "Public" } else { "Private" }, span);
        let krate = &self.krate;
        let ttl = quote!(::core::time::Duration::from_millis(#ttl));
        self.setters
            .extend(quote!(.cache(#ttl, #krate::types::CacheScope::#scope)));
    }

    fn apply_task(&mut self, key: Key, mistakes: &mut ErrorCollector) {
        let mut required = false;
        let mut setters = TokenStream::new();
        if key.has_parts() {
            for part in key.list(&["required", "after", "resumable"], mistakes) {
                match part.name.to_string().as_str() {
                    "required" => required = mistakes.collect(part.flag()) == Some(true),
                    "after" => {
                        let after = mistakes.collect(part.expression().cloned()).into_iter();
                        setters.extend(quote!(#(.after(#after))*));
                    }
                    _ if mistakes.collect(part.flag()) == Some(true) => {
                        setters.extend(quote!(.resumable()));
                    }
                    _ => {}
                }
            }
        } else {
            required = mistakes.collect(key.flag_or("required")) == Some(true);
        }
        let krate = &self.krate;
        let level = Ident::new(
            if required { "required" } else { "optional" },
            Span::call_site(),
        );
        self.setters
            .extend(quote!(.task(#krate::TaskSupport::#level() #setters)));
    }

    /// Generates the builder with all setters, without the handler.
    pub(crate) fn builder(&self, doc: Option<&str>) -> TokenStream {
        let Self {
            krate,
            name,
            setters,
            annotations,
            ..
        } = self;
        let item = self.kind.builder_type();
        let uri = self.uri.iter();
        let description = doc
            .filter(|_| !self.has_description)
            .map(|doc| quote!(.description(#doc)));
        let annotations = (!annotations.is_empty())
            .then(|| quote!(.annotations(#krate::types::ToolAnnotations::new()#annotations)));
        quote_spanned! {Span::call_site()=>
            #krate::#item::builder(#(#uri,)* #name) #description #setters #annotations
        }
    }
}

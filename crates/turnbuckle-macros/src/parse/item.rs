//! The inside of `#[tool(…)]`, `#[prompt(…)]` and `#[resource("…", …)]`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::Parser as _;
use syn::{Ident, LitStr, Path, Token};

use super::keys::{Key, Mistakes, checked, list};
use super::names::{Case, check_tool_name, text};

/// What a function becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Prompt,
    Resource,
}

const COMMON: &[&str] = &[
    "crate",
    "name",
    "title",
    "description",
    "icon",
    "scope",
    "meta",
    "rename_all",
    "blocking",
    "deadline",
    "max_concurrent",
];
const OF_TOOLS: &[&str] = &[
    "read_only",
    "destructive",
    "idempotent",
    "open_world",
    "input_schema",
    "output_schema",
];
const OF_RESOURCES: &[&str] = &["mime", "cache", "size"];

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Tool, Self::Prompt, Self::Resource];

    /// The attribute's name.
    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
        }
    }

    /// The type that it is at run time.
    pub(crate) fn item(self) -> Ident {
        let name = match self {
            Self::Tool => "Tool",
            Self::Prompt => "Prompt",
            Self::Resource => "Resource",
        };
        Ident::new(name, Span::call_site())
    }

    fn keys(self) -> Vec<&'static str> {
        let own = match self {
            Self::Tool => OF_TOOLS,
            Self::Prompt => &[],
            Self::Resource => OF_RESOURCES,
        };
        [COMMON, own].concat()
    }
}

/// What an attribute says of its function.
pub(crate) struct Item {
    pub(crate) kind: Kind,
    /// Where the facade is.
    pub(crate) krate: Path,
    pub(crate) name: String,
    pub(crate) name_span: Span,
    /// A resource's URI or template.
    pub(crate) uri: Option<LitStr>,
    pub(crate) blocking: Option<Span>,
    pub(crate) case: Option<Case>,
    /// Whether the doc comment is not the description.
    described: bool,
    setters: TokenStream,
    annotations: TokenStream,
}

impl Item {
    /// Reads an attribute's inside; `krate` is where the facade is, if nothing else is said.
    pub(crate) fn read(
        kind: Kind,
        inside: TokenStream,
        function: &Ident,
        krate: Path,
        mistakes: &mut Mistakes,
    ) -> Self {
        let parsed = mistakes.of((|input: syn::parse::ParseStream<'_>| {
            let mut uri = None;
            if kind == Kind::Resource {
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
        .parse2(inside));
        let (uri, keys) = parsed.unwrap_or_default();
        let mut this = Self {
            kind,
            krate,
            name: text(function),
            name_span: function.span(),
            uri,
            blocking: None,
            case: None,
            described: false,
            setters: TokenStream::new(),
            annotations: TokenStream::new(),
        };
        for key in checked(keys, &kind.keys(), kind.attribute(), mistakes) {
            if key.name == "cache" {
                this.cache(key, mistakes);
            } else {
                mistakes.of(this.hear(&key));
            }
        }
        if kind == Kind::Tool {
            mistakes.of(check_tool_name(&this.name, this.name_span));
        }
        this
    }

    /// What there is only one of: a name, or a URI; and where it is said.
    pub(crate) fn key(&self) -> (String, Span) {
        match &self.uri {
            Some(uri) => (uri.value(), uri.span()),
            None => (self.name.clone(), self.name_span),
        }
    }

    fn hear(&mut self, key: &Key) -> syn::Result<()> {
        let krate = self.krate.clone();
        let setter = key.name.clone();
        match key.name.to_string().as_str() {
            "crate" => self.krate = key.path()?,
            "name" => {
                let name = key.text()?;
                self.name = name.value();
                self.name_span = name.span();
            }
            "title" | "scope" | "size" | "meta" | "deadline" | "max_concurrent"
            | "input_schema" | "output_schema" => {
                let value = key.expression()?;
                self.setters.extend(quote!(.#setter(#value)));
            }
            "description" => {
                let value = key.expression()?;
                self.described = true;
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
            "rename_all" => self.case = Some(Case::of(&key.text()?)?),
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

    fn cache(&mut self, key: Key, mistakes: &mut Mistakes) {
        let span = key.name.span();
        let mut ttl = None;
        let mut public = false;
        for part in key.list(&["ttl", "public", "private"], mistakes) {
            if part.name == "ttl" {
                ttl = mistakes.of(part.expression().cloned());
            } else if mistakes.of(part.flag()) == Some(true) {
                public = part.name == "public";
            }
        }
        let Some(ttl) = ttl else {
            mistakes.at(
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

    /// The builder with everything that is said, but for the function.
    pub(crate) fn builder(&self, doc: Option<&str>) -> TokenStream {
        let Self {
            krate,
            name,
            setters,
            annotations,
            ..
        } = self;
        let item = self.kind.item();
        let uri = self.uri.iter();
        let description = doc
            .filter(|_| !self.described)
            .map(|doc| quote!(.description(#doc)));
        let annotations = (!annotations.is_empty())
            .then(|| quote!(.annotations(#krate::types::ToolAnnotations::new()#annotations)));
        quote_spanned! {Span::call_site()=>
            #krate::#item::builder(#(#uri,)* #name) #description #setters #annotations
        }
    }
}

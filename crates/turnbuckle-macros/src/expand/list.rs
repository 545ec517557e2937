//! Expansion of `tools![…]`, `prompts![…]`, `resources![…]` and `item!(…)`.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Ident, Path, Token, parenthesized};

/// The input that the facade's macros pass on: the path of the facade, the type of the items, and
/// the functions.
struct List {
    krate: TokenStream,
    kind: Ident,
    functions: Punctuated<Path, Token![,]>,
}

impl Parse for List {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let krate;
        parenthesized!(krate in input);
        Ok(Self {
            krate: krate.parse()?,
            kind: input.parse()?,
            functions: Punctuated::parse_terminated_with(input, Path::parse_mod_style)?,
        })
    }
}

/// Expands to an array of the items of the functions.
pub(crate) fn expand_list(input: TokenStream) -> syn::Result<TokenStream> {
    let List {
        krate,
        kind,
        functions,
    } = List::parse.parse2(input)?;
    let kind = quote!(#krate::#kind);
    let items = functions
        .iter()
        .map(|path| item_of(&krate, path, Some(&kind)));
    let count = functions.len();
    Ok(quote!({
        let items: [#kind; #count] = [#(#items),*];
        items
    }))
}

/// Expands to the item of one function.
pub(crate) fn expand_item(input: TokenStream) -> syn::Result<TokenStream> {
    let (krate, path) = (|input: ParseStream<'_>| {
        let krate;
        parenthesized!(krate in input);
        Ok((krate.parse()?, input.call(Path::parse_mod_style)?))
    })
    .parse2(input)?;
    Ok(item_of(&krate, &path, None))
}

/// Generates the expression that makes the item of one function, of a kind that the compiler infers
/// unless it is given.
///
/// The inner `use` brings the function and the type beside it into scope. A function without an
/// attribute has no such type: the name is then that of the outer `use`, whose type implements
/// nothing, so that the compiler prints the message of the trait.
fn item_of(krate: &TokenStream, path: &Path, kind: Option<&TokenStream>) -> TokenStream {
    let span = path
        .segments
        .last()
        .map_or_else(Span::call_site, |last| last.ident.span());
    let alias = Ident::new("__Item", Span::call_site().located_at(span));
    let private = quote!(#krate::__private);
    let item = match kind {
        Some(kind) => quote!(<#alias as #private::Listed<#kind, _>>::listed_item()),
        None => quote!(<#alias as #private::SingleItem<_, _>>::single_item()),
    };
    quote! {{
        #[allow(unused_imports)]
        use #private::FunctionWithoutAttribute as #alias;
        {
            use #path as #alias;
            #item
        }
    }}
}

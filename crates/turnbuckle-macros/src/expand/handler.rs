//! The closure that is passed to the builder as the handler.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Ident, Signature};

use super::arguments;
use super::completer::bind_completer;
use crate::parse::docs;
use crate::parse::item::{ItemAttribute, ItemKind};
use crate::parse::keys::ErrorCollector;
use crate::parse::parameters::{Parameter, Parameters};
use crate::parse::template;

/// A parsed function or method with its attribute.
pub(crate) struct HandlerFunction {
    pub(crate) item: ItemAttribute,
    parameters: Parameters,
    pub(crate) ident: Ident,
    is_async: bool,
    has_self: bool,
    doc: Option<String>,
}

impl HandlerFunction {
    /// Parses a signature and removes the attributes that only the macro understands.
    pub(crate) fn parse(
        item: ItemAttribute,
        attributes: &[syn::Attribute],
        signature: &mut Signature,
        mistakes: &mut ErrorCollector,
    ) -> Self {
        let parameters = Parameters::parse(&mut signature.inputs, item.case, mistakes);
        let attribute = item.kind.attribute();
        if let Some(generic) = signature.generics.type_params().next() {
            mistakes.add_at(
                generic.span(),
                format_args!("a function with `#[{attribute}]` cannot be generic"),
            );
        }
        if let syn::Safety::Unsafe(keyword) = &signature.safety {
            mistakes.add_at(
                keyword.span(),
                format_args!("a function with `#[{attribute}]` cannot be unsafe"),
            );
        }
        if let (Some(span), true) = (item.blocking, signature.asyncness.is_some()) {
            mistakes.add_at(
                span,
                "an async function does not run on the blocking pool: take the `async` away",
            );
        }
        if let Some(uri) = &item.uri {
            template::check_template(uri, &parameters, mistakes);
        }
        for argument in parameters.arguments() {
            if let (ItemKind::Tool, Some(complete)) = (item.kind, &argument.schema.complete) {
                mistakes.add_at(
                    complete.span(),
                    "only prompts and resource templates complete their arguments",
                );
            }
        }
        Self {
            parameters,
            ident: signature.ident.clone(),
            is_async: signature.asyncness.is_some(),
            has_self: signature.receiver().is_some(),
            doc: docs::doc_text(attributes),
            item,
        }
    }

    /// Replaces completers of the form `self.method` by closures that call the method. `methods` are
    /// those of the `impl` block.
    pub(crate) fn bind_completers(
        &mut self,
        methods: &[&Signature],
        mistakes: &mut ErrorCollector,
    ) {
        for parameter in &mut self.parameters.list {
            if let Parameter::Argument(argument) = parameter
                && let Some(complete) = &mut argument.schema.complete
                && let Some(bound) = bind_completer(complete, methods)
                && let Some(bound) = mistakes.collect(bound)
            {
                *complete = bound;
            }
        }
    }

    /// Generates the expression that builds the item. `call` is the path of the function.
    pub(crate) fn expand(&self, call: &TokenStream) -> TokenStream {
        let ItemAttribute { krate, kind, .. } = &self.item;
        let (name, structure) =
            arguments::arguments_struct(&self.ident, &self.parameters, krate).unzip();
        let item = kind.builder_type();
        let mut checks = TokenStream::new();
        let mut taken: Vec<TokenStream> = Vec::new();
        taken.extend(name.map(|name| quote!(#krate::Args(__arguments): #krate::Args<#name>)));
        let mut given: Vec<TokenStream> = Vec::new();
        given.extend(self.has_self.then(|| quote!(&__this)));
        for (at, parameter) in self.parameters.list.iter().enumerate() {
            match parameter {
                Parameter::Argument(argument) => {
                    let (ident, ty) = (&argument.ident, &argument.ty);
                    given.push(quote!(__arguments.#ident));
                    checks.extend(quote_spanned! {ty.span()=>
                        #krate::__private::argument::<#krate::#item, #ty>();
                    });
                }
                Parameter::Extractor(ty) => {
                    let part = format_ident!("__part_{at}");
                    taken.push(quote!(#part: #ty));
                    given.push(quote!(#part));
                    checks.extend(quote_spanned! {ty.span()=>
                        #krate::__private::extractor::<#ty>();
                    });
                }
            }
        }
        let closure = self.closure(&taken, &quote!(#call(#(#given),*)));
        let completers = self.parameters.arguments().filter_map(|argument| {
            let (name, complete) = (&argument.name, argument.schema.complete.as_ref()?);
            Some(quote_spanned!(complete.span()=> .complete(#name, #complete)))
        });
        let builder = self.item.builder(self.doc.as_deref());
        let setter = if self.item.blocking.is_some() {
            "blocking"
        } else {
            "handler"
        };
        let setter = Ident::new(setter, self.ident.span());
        quote! {{
            #structure
            #checks
            #builder #(#completers)* .#setter(#closure)
        }}
    }

    fn closure(&self, taken: &[TokenStream], call: &TokenStream) -> TokenStream {
        let wait = self.is_async.then(|| quote!(.await));
        let krate = &self.item.krate;
        let mut body = quote!(#call #wait);
        let probe = quote_spanned! {self.ident.span()=>
            (&&&#krate::__private::OutputProbe::for_value(&__output)).error_converter().convert_error(__output)
        };
        let errors = quote! {{ let __output = #body; #probe }};
        if self.item.kind == ItemKind::Tool {
            let conversion = quote_spanned! {self.ident.span()=>
                (&&&#krate::__private::OutputProbe::for_value(&__output)).converter().convert(__output)
            };
            body = quote! {{ let __output = #errors; #conversion }};
        } else {
            body = errors;
        }
        let shared = self
            .has_self
            .then(|| quote!(let __this = ::std::sync::Arc::clone(&__this);));
        let span = Span::call_site();
        match (self.is_async, self.has_self) {
            (true, true) => quote_spanned! {span=>
                move |#(#taken),*| { #shared async move { #body } }
            },
            (true, false) => quote_spanned!(span=> |#(#taken),*| async move { #body }),
            (false, true) => quote_spanned!(span=> move |#(#taken),*| #body),
            (false, false) => quote_spanned!(span=> |#(#taken),*| #body),
        }
    }
}

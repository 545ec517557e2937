//! The closure that is passed to the builder as the handler.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Ident, ReturnType, Signature};

use super::arguments::{self, element_type, is_well_known};
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
    /// The place of the return type, or of the name if there is none.
    output_span: Span,
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
            argument.schema.check_visible(item.kind, mistakes);
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
            output_span: match &signature.output {
                ReturnType::Type(_, ty) => ty.span(),
                ReturnType::Default => signature.ident.span(),
            },
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
        // Functions that return the handler, and its type only if a parameter is what it must be:
        // without it the compiler reports that, and nothing about the handler.
        let mut asserts: Vec<TokenStream> = Vec::new();
        let mut taken: Vec<TokenStream> = Vec::new();
        taken.extend(name.map(|name| quote!(#krate::Args(__arguments): #krate::Args<#name>)));
        let mut given: Vec<TokenStream> = Vec::new();
        given.extend(self.has_self.then(|| quote!(&__this)));
        for (at, parameter) in self.parameters.list.iter().enumerate() {
            match parameter {
                Parameter::Argument(argument) => {
                    let ident = &argument.ident;
                    given.push(quote!(__arguments.#ident));
                    checks.extend(argument.schema.constraint_checks(&argument.ty, krate));
                    if !is_well_known(&argument.ty) {
                        let ty = element_type(&argument.ty);
                        asserts.push(quote_spanned! {ty.span()=>
                            <#ty as #krate::__private::Argument<#krate::#item, _>>::handler
                        });
                    }
                }
                Parameter::Extractor(ty) => {
                    let part = format_ident!("__part_{at}");
                    taken.push(quote!(#part: #ty));
                    asserts.push(quote_spanned! {ty.span()=>
                        <#ty as #krate::__private::Extractor<_>>::handler
                    });
                    given.push(quote!(#part));
                }
            }
        }
        let closure = self.closure(&taken, &quote!(#call(#(#given),*)));
        let closure = asserts
            .iter()
            .fold(closure, |inside, assert| quote!(#assert(#inside)));
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
        let probe = quote_spanned! {self.output_span=>
            (&&&#krate::__private::OutputProbe::for_value(&__output)).error_converter().convert_error(__output)
        };
        let errors = quote! {{ let __output = #body; #probe }};
        let conversion = match self.item.kind {
            ItemKind::Tool => quote_spanned! {self.output_span=>
                (&&&#krate::__private::OutputProbe::for_value(&__output)).converter().convert(__output)
            },
            ItemKind::Prompt => quote_spanned! {self.output_span=>
                #krate::__private::prompt_output(__output)
            },
            ItemKind::Resource => quote_spanned! {self.output_span=>
                #krate::__private::resource_output(__output)
            },
        };
        body = quote! {{ let __output = #errors; #conversion }};
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

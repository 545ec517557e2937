//! The parameters of a function: extractors and arguments.

use proc_macro2::Span;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{FnArg, GenericArgument, Ident, Pat, PatType, PathArguments, Token, Type};

use super::docs;
use super::keys::ErrorCollector;
use super::names::{Case, ident_text};
use super::schema::{SchemaAttribute, last_segment};

/// The extractors that are recognized by name, and whether they have a type parameter.
const EXTRACTORS: &[(&str, bool)] = &[
    ("Args", true),
    ("State", true),
    ("Progress", false),
    ("Log", false),
    ("Cancellation", false),
    ("ClientInfo", false),
    ("Principal", false),
    ("Claims", true),
    ("Meta", false),
    ("Ask", false),
    ("HttpRequest", false),
    ("HttpExtension", true),
    ("Server", false),
    ("HandlerContext", false),
    ("ReadRequest", false),
    ("CompletionRequest", false),
    ("RawArguments", false),
];

/// The extractors that are also recognized in an `Option`.
const OPTIONAL_EXTRACTORS: &[&str] = &["HttpExtension", "Principal"];

/// The extractors that take all arguments.
const ALL_ARGUMENTS_EXTRACTORS: &[&str] = &["Args", "ReadRequest", "RawArguments"];

/// The most extractors that a function can have beside its arguments.
const MAX_EXTRACTORS: usize = 7;

/// A parameter of a function.
pub(crate) enum Parameter {
    Extractor(Box<Type>),
    Argument(Box<Argument>),
}

/// A parameter that the client provides.
pub(crate) struct Argument {
    /// The name of the parameter.
    pub(crate) ident: Ident,
    /// The name for clients.
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) schema: SchemaAttribute,
    /// True if the fields of the type are arguments, instead of the parameter.
    pub(crate) is_flattened: bool,
}

/// The parameters of a function, in order.
pub(crate) struct Parameters {
    pub(crate) list: Vec<Parameter>,
    /// True if an extractor takes all arguments.
    pub(crate) takes_all_arguments: bool,
}

impl Parameters {
    /// Parses the parameters except `self`, and removes the attributes that only the macro
    /// understands.
    pub(crate) fn parse(
        inputs: &mut Punctuated<FnArg, Token![,]>,
        case: Option<Case>,
        mistakes: &mut ErrorCollector,
    ) -> Self {
        let mut list = Vec::new();
        let mut extractors = 0;
        let mut whole = None;
        for input in inputs {
            let FnArg::Typed(parameter) = input else {
                continue;
            };
            let mut schema = SchemaAttribute::parse(&mut parameter.attrs, mistakes);
            schema.take_docs(&mut parameter.attrs);
            let marked = parameter.attrs.len();
            parameter
                .attrs
                .retain(|attribute| !attribute.path().is_ident("extract"));
            let is_marked = marked > parameter.attrs.len();
            let marked = parameter.attrs.len();
            parameter
                .attrs
                .retain(|attribute| !attribute.path().is_ident("flatten"));
            let is_flattened = marked > parameter.attrs.len();
            if let (true, Some(span)) = (is_flattened, schema.span) {
                mistakes.add_at(
                    span,
                    "`#[flatten]` makes arguments of the fields of the type: put `#[schema]` on them",
                );
            }
            if is_marked || is_extractor(&parameter.ty) {
                extractors += 1;
                if extractors > MAX_EXTRACTORS {
                    mistakes.add_at(
                        parameter.ty.span(),
                        format_args!(
                            "a function has {MAX_EXTRACTORS} extractors at most: combine several into one \
                             type that implements `Extract`; a `HandlerContext` replaces \
                             `Progress`, `Log`, `Cancellation`, `ClientInfo` and `Meta`"
                        ),
                    );
                }
                if let Some(span) = schema.span {
                    mistakes.add_at(
                        span,
                        "`#[schema]` is for arguments, and this parameter is an extractor",
                    );
                }
                let brings_all =
                    |name: &&str| last_segment(&parameter.ty).is_some_and(|s| s.ident == **name);
                whole = whole.or(ALL_ARGUMENTS_EXTRACTORS
                    .iter()
                    .find(|name| brings_all(name)));
                list.push(Parameter::Extractor(parameter.ty.clone()));
            } else if let Some(argument) = mistakes.collect(parse_argument(parameter, schema, case))
            {
                list.push(Parameter::Argument(Box::new(Argument {
                    is_flattened,
                    ..argument
                })));
            }
        }
        let this = Self {
            list,
            takes_all_arguments: whole.is_some(),
        };
        this.check(whole.copied(), mistakes);
        this
    }

    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.list.iter().filter_map(|parameter| match parameter {
            Parameter::Argument(argument) => Some(&**argument),
            Parameter::Extractor(_) => None,
        })
    }

    /// Returns the arguments whose names for clients are known, which those of a flattened type are not.
    pub(crate) fn named_arguments(&self) -> impl Iterator<Item = &Argument> {
        self.arguments().filter(|argument| !argument.is_flattened)
    }

    /// Returns whether the fields of a type are arguments.
    pub(crate) fn has_flattened(&self) -> bool {
        self.arguments().any(|argument| argument.is_flattened)
    }

    fn check(&self, whole: Option<&str>, mistakes: &mut ErrorCollector) {
        let mut seen: Vec<&str> = Vec::new();
        for argument in self.arguments() {
            if !argument.is_flattened && seen.contains(&argument.name.as_str()) {
                mistakes.add_at(
                    argument.name_span(),
                    format_args!("two arguments are named {:?}", argument.name),
                );
            }
            seen.push(&argument.name);
            if let (Some(whole @ ("Args" | "RawArguments")), 1) = (whole, seen.len()) {
                mistakes.add_at(
                    argument.ident.span(),
                    format_args!(
                        "`{whole}` brings all arguments, so `{}` cannot be one more: make it a \
                         field there, or mark it `#[extract]`",
                        argument.ident
                    ),
                );
            }
        }
    }
}

/// Removes the attributes of parameters that only the macros understand.
pub(crate) fn remove_attributes(inputs: &mut Punctuated<FnArg, Token![,]>) {
    for input in inputs {
        if let FnArg::Typed(parameter) = input {
            parameter.attrs.retain(|attribute| {
                let names = ["schema", "extract", "flatten"];
                !docs::is_doc(attribute)
                    && !names.iter().any(|name| attribute.path().is_ident(name))
            });
        }
    }
}

impl Argument {
    /// Returns the span of the name for clients.
    pub(crate) fn name_span(&self) -> Span {
        let renamed = self.schema.rename.as_ref().map(syn::LitStr::span);
        renamed.unwrap_or_else(|| self.ident.span())
    }

    /// Returns the name for clients if it differs from the parameter.
    pub(crate) fn name_override(&self) -> Option<&str> {
        (self.name != ident_text(&self.ident)).then_some(self.name.as_str())
    }
}

fn is_extractor(ty: &Type) -> bool {
    if matches!(ty, Type::Tuple(tuple) if tuple.elems.is_empty()) {
        return true;
    }
    last_segment(ty).is_some_and(|segment| {
        if segment.ident == "Option"
            && let PathArguments::AngleBracketed(inner) = &segment.arguments
            && let Some(GenericArgument::Type(inner)) = inner.args.first()
        {
            return last_segment(inner)
                .is_some_and(|inner| OPTIONAL_EXTRACTORS.iter().any(|name| inner.ident == name));
        }
        let has_parameter = !segment.arguments.is_none();
        EXTRACTORS
            .iter()
            .any(|(name, generic)| segment.ident == name && *generic == has_parameter)
    })
}

fn parse_argument(
    parameter: &PatType,
    schema: SchemaAttribute,
    case: Option<Case>,
) -> syn::Result<Argument> {
    let ident = match &*parameter.pat {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => name.ident.clone(),
        other => {
            return Err(syn::Error::new(
                other.span(),
                "an argument needs a name, and this pattern is none; an extractor that may have a \
                 pattern is marked `#[extract]`",
            ));
        }
    };
    if let Type::ImplTrait(opaque) = &*parameter.ty {
        return Err(syn::Error::new(
            opaque.span(),
            "an argument is decoded as one type: name it instead of the `impl`",
        ));
    }
    if let Type::Reference(borrowed) = &*parameter.ty {
        let owned = match &*borrowed.elem {
            Type::Path(path) if path.path.is_ident("str") => "`String`",
            Type::Slice(_) => "a `Vec`",
            _ => "the type itself",
        };
        return Err(syn::Error::new(
            borrowed.span(),
            format_args!("an argument cannot be borrowed: take {owned}"),
        ));
    }
    let plain = ident_text(&ident);
    let name = match (&schema.rename, case) {
        (Some(name), _) => name.value(),
        (None, Some(case)) => case.apply(&plain),
        (None, None) => plain,
    };
    Ok(Argument {
        ident,
        name,
        ty: (*parameter.ty).clone(),
        schema,
        is_flattened: false,
    })
}

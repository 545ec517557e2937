//! A function's parameters: extractors, and arguments.

use proc_macro2::Span;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{FnArg, Ident, Pat, PatType, Token, Type};

use super::keys::Mistakes;
use super::names::{Case, text};
use super::schema::{Said, last};

/// The types that are extractors by their name, and whether they have a parameter.
const EXTRACTORS: &[(&str, bool)] = &[
    ("Args", true),
    ("State", true),
    ("Progress", false),
    ("Log", false),
    ("Cancel", false),
    ("Client", false),
    ("Meta", false),
    ("Ask", false),
    ("Http", false),
    ("Context", false),
    ("Reading", false),
    ("Typing", false),
    ("RawArguments", false),
];

/// Those that bring all arguments.
const WHOLE: &[&str] = &["Args", "Reading", "RawArguments"];

/// How many extractors a function may have beside its arguments.
const MOST: usize = 7;

/// A parameter, in order.
pub(crate) enum Parameter {
    Extractor(Box<Type>),
    Argument(Box<Argument>),
}

/// A parameter that a client fills in.
pub(crate) struct Argument {
    /// The parameter's name.
    pub(crate) ident: Ident,
    /// The name that clients know it by.
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) said: Said,
}

/// All parameters of a function.
pub(crate) struct Parameters {
    pub(crate) list: Vec<Parameter>,
    /// Whether an extractor brings the arguments as a whole.
    pub(crate) whole: bool,
}

impl Parameters {
    /// Reads a function's parameters but for `self`, and takes away what is only for this.
    pub(crate) fn take(
        inputs: &mut Punctuated<FnArg, Token![,]>,
        case: Option<Case>,
        mistakes: &mut Mistakes,
    ) -> Self {
        let mut list = Vec::new();
        let mut extractors = 0;
        let mut whole = None;
        for input in inputs {
            let FnArg::Typed(parameter) = input else {
                continue;
            };
            let mut said = Said::take(&mut parameter.attrs, mistakes);
            said.take_docs(&mut parameter.attrs);
            let marked = parameter.attrs.len();
            parameter
                .attrs
                .retain(|attribute| !attribute.path().is_ident("extract"));
            let is_marked = marked > parameter.attrs.len();
            if is_marked || is_extractor(&parameter.ty) {
                extractors += 1;
                if extractors > MOST {
                    mistakes.at(
                        parameter.ty.span(),
                        format_args!(
                            "a function has {MOST} extractors at most: combine several into one \
                             type that implements `Extract`; a `Context` replaces `Progress`, \
                             `Log`, `Cancel`, `Client` and `Meta`"
                        ),
                    );
                }
                if let Some(span) = said.span {
                    mistakes.at(
                        span,
                        "`#[schema]` is for arguments, and this parameter is an extractor",
                    );
                }
                let brings_all =
                    |name: &&str| last(&parameter.ty).is_some_and(|s| s.ident == **name);
                whole = whole.or(WHOLE.iter().find(|name| brings_all(name)));
                list.push(Parameter::Extractor(parameter.ty.clone()));
            } else if let Some(argument) = mistakes.of(argument(parameter, said, case)) {
                list.push(Parameter::Argument(Box::new(argument)));
            }
        }
        let this = Self {
            list,
            whole: whole.is_some(),
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

    fn check(&self, whole: Option<&str>, mistakes: &mut Mistakes) {
        let mut seen: Vec<&str> = Vec::new();
        for argument in self.arguments() {
            if seen.contains(&argument.name.as_str()) {
                mistakes.at(
                    argument.name_span(),
                    format_args!("two arguments are named {:?}", argument.name),
                );
            }
            seen.push(&argument.name);
            if let (Some(whole @ ("Args" | "RawArguments")), 1) = (whole, seen.len()) {
                mistakes.at(
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

impl Argument {
    /// Where its name is said.
    pub(crate) fn name_span(&self) -> Span {
        let renamed = self.said.rename.as_ref().map(syn::LitStr::span);
        renamed.unwrap_or_else(|| self.ident.span())
    }

    /// The name, where it is not the parameter's.
    pub(crate) fn renamed(&self) -> Option<&str> {
        (self.name != text(&self.ident)).then_some(self.name.as_str())
    }
}

fn is_extractor(ty: &Type) -> bool {
    if matches!(ty, Type::Tuple(tuple) if tuple.elems.is_empty()) {
        return true;
    }
    last(ty).is_some_and(|segment| {
        let has_parameter = !segment.arguments.is_none();
        EXTRACTORS
            .iter()
            .any(|(name, generic)| segment.ident == name && *generic == has_parameter)
    })
}

fn argument(parameter: &PatType, said: Said, case: Option<Case>) -> syn::Result<Argument> {
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
    let plain = text(&ident);
    let name = match (&said.rename, case) {
        (Some(name), _) => name.value(),
        (None, Some(case)) => case.apply(&plain),
        (None, None) => plain,
    };
    Ok(Argument {
        ident,
        name,
        ty: (*parameter.ty).clone(),
        said,
    })
}

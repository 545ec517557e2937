//! The lines of one item: its own, and those of what is in it.

use std::collections::BTreeSet;

use rustdoc_types::{
    Attribute, Function, Generics, Id, Impl, Item, ItemEnum, MacroKind, ProcMacro, Struct,
    StructKind, Trait, Type, VariantKind,
};

use super::{Lister, all};
use crate::api::print::Printer;

/// What an item without an `impl` around it is in.
const NOWHERE: &Generics = &Generics {
    params: Vec::new(),
    where_predicates: Vec::new(),
};

impl<'a> Lister<'a> {
    /// Lists an item at its path, with its fields, variants and methods.
    pub(super) fn item(&mut self, item: &'a Item, path: &str) {
        match &item.inner {
            ItemEnum::Module(_) => self.counted(item, path, |to| to.push("mod ").push(path)),
            ItemEnum::Struct(inner) => self.structure(item, inner, path),
            ItemEnum::Union(inner) => {
                self.generic(item, "union ", path, &inner.generics);
                self.fields(&inner.fields, path);
                self.inherent(&inner.impls, path, &BTreeSet::new());
            }
            ItemEnum::Enum(inner) => {
                self.generic(item, "enum ", path, &inner.generics);
                for variant in all(self.krate, &inner.variants) {
                    self.variant(variant, path);
                }
                self.inherent(&inner.impls, path, &BTreeSet::new());
            }
            ItemEnum::Trait(inner) => self.trait_(item, inner, path),
            ItemEnum::TypeAlias(inner) => self.counted(item, path, |to| {
                to.push("type ").push(path);
                to.parameters(&inner.generics.params);
                to.push(" = ").ty(&inner.type_)
            }),
            ItemEnum::Constant { type_, .. } => self.constant(item, "const ", path, path, type_),
            ItemEnum::Static(inner) => self.constant(item, "static ", path, path, &inner.type_),
            ItemEnum::Function(inner) => {
                self.counted(item, path, |to| to.function(path, inner, NOWHERE))
            }
            ItemEnum::Macro(_) => {
                self.counted(item, path, |to| to.push("macro ").push(path).push("!"))
            }
            ItemEnum::ProcMacro(inner) => self.proc_macro(item, inner, path),
            // What is not for a user to name, or never at a path of its own.
            _ => {}
        }
    }

    /// A line that counts.
    fn counted(
        &mut self,
        item: &Item,
        path: &str,
        write: impl for<'p> FnOnce(&'p mut Printer<'a>) -> &'p mut Printer<'a>,
    ) {
        self.items += 1;
        self.line(path, |to| write(to.push(marks(item)).push("pub ")));
    }

    /// `struct path<…> where …`, and the like.
    fn generic(&mut self, item: &Item, word: &str, path: &str, generics: &Generics) {
        self.counted(item, path, |to| {
            to.push(word).push(path).parameters(&generics.params);
            to.conditions(&[], &generics.where_predicates)
        });
    }

    fn constant(&mut self, item: &Item, word: &str, key: &str, path: &str, of: &Type) {
        self.counted(item, key, |to| to.push(word).push(path).push(": ").ty(of));
    }

    fn structure(&mut self, item: &'a Item, inner: &'a Struct, path: &str) {
        self.generic(item, "struct ", path, &inner.generics);
        let mut settable = BTreeSet::new();
        match &inner.kind {
            StructKind::Unit => {}
            StructKind::Tuple(fields) => self.fields(fields.iter().flatten(), path),
            StructKind::Plain { fields, .. } => {
                self.fields(fields, path);
                settable.extend(all(self.krate, fields).map(name));
            }
        }
        self.inherent(&inner.impls, path, &settable);
    }

    fn fields<'i>(&mut self, fields: impl IntoIterator<Item = &'i Id>, path: &str) {
        for field in all(self.krate, fields) {
            if let ItemEnum::StructField(of) = &field.inner {
                let path = format!("{path}::{}", name(field));
                self.line(&path, |to| {
                    to.push(marks(field)).push("pub ").push(&path);
                    to.push(": ").ty(of)
                });
            }
        }
    }

    fn variant(&mut self, variant: &'a Item, path: &str) {
        let path = format!("{path}::{}", name(variant));
        self.line(&path, |to| {
            to.push(marks(variant)).push("pub variant ").push(&path)
        });
        if let ItemEnum::Variant(inner) = &variant.inner {
            match &inner.kind {
                VariantKind::Plain => {}
                VariantKind::Tuple(fields) => self.fields(fields.iter().flatten(), &path),
                VariantKind::Struct { fields, .. } => self.fields(fields, &path),
            }
        }
    }

    fn trait_(&mut self, item: &'a Item, inner: &'a Trait, path: &str) {
        self.counted(item, path, |to| {
            to.push(if inner.is_unsafe {
                "unsafe trait "
            } else {
                "trait "
            });
            to.push(path).parameters(&inner.generics.params);
            to.bounded(&inner.bounds);
            to.conditions(&[], &inner.generics.where_predicates)
        });
        for item in all(self.krate, &inner.items) {
            self.associated(item, path, path, None);
        }
    }

    /// What the type's own `impl`s hold. The setter of one of the public fields `settable` is one
    /// item with it.
    fn inherent(&mut self, impls: &[Id], path: &str, settable: &BTreeSet<&str>) {
        for held in all(self.krate, impls) {
            if let ItemEnum::Impl(Impl {
                trait_: None,
                for_,
                generics,
                items,
                ..
            }) = &held.inner
            {
                let mut owner = Printer::new(self.krate, self.names);
                owner.ty(for_);
                for item in all(self.krate, items) {
                    self.associated(item, path, &owner.text, Some(generics));
                    if settable.contains(name(item))
                        && let ItemEnum::Function(function) = &item.inner
                        && is_setter(function)
                    {
                        self.items -= 1;
                    }
                }
            }
        }
    }

    /// A function, type or constant in a trait, or in an `impl` with the generics `outer`: under
    /// `key`, as one of `owner`.
    fn associated(&mut self, item: &'a Item, key: &str, owner: &str, outer: Option<&Generics>) {
        let key = format!("{key}::{}", name(item));
        let path = format!("{owner}::{}", name(item));
        match &item.inner {
            ItemEnum::Function(inner) => self.counted(item, &key, |to| {
                to.function(&path, inner, outer.unwrap_or(NOWHERE));
                // A trait's method that need not be written.
                let provided = outer.is_none() && inner.has_body;
                to.push(if provided { " { .. }" } else { "" })
            }),
            ItemEnum::AssocConst { type_, .. } => {
                self.constant(item, "const ", &key, &path, type_);
            }
            ItemEnum::AssocType {
                generics,
                bounds,
                type_,
            } => self.counted(item, &key, |to| {
                to.push("type ").push(&path).parameters(&generics.params);
                to.bounded(bounds);
                match type_ {
                    Some(default) => to.push(" = ").ty(default),
                    None => to,
                }
            }),
            _ => {}
        }
    }

    fn proc_macro(&mut self, item: &Item, inner: &ProcMacro, path: &str) {
        self.counted(item, path, |to| {
            to.push(match inner.kind {
                MacroKind::Bang => "proc_macro ",
                MacroKind::Attr => "proc_macro_attribute ",
                MacroKind::Derive => "proc_macro_derive ",
            });
            to.push(path);
            for helper in &inner.helpers {
                to.push(" #[").push(helper).push("]");
            }
            to
        });
    }
}

/// Whether it has the form of a builder's setter: `fn(self, value) -> Self`.
fn is_setter(function: &Function) -> bool {
    let is_self = |of: &Type| matches!(of, Type::Generic(name) if name == "Self");
    let signature = &function.sig;
    let owned =
        matches!(signature.inputs.as_slice(), [(name, of), _] if name == "self" && is_self(of));
    owned && signature.output.as_ref().is_some_and(is_self)
}

fn name(item: &Item) -> &str {
    item.name.as_deref().unwrap_or_default()
}

/// The attributes that bind a user.
fn marks(item: &Item) -> &'static str {
    let closed = item.attrs.contains(&Attribute::NonExhaustive);
    match (closed, item.deprecation.is_some()) {
        (false, false) => "",
        (true, false) => "#[non_exhaustive] ",
        (false, true) => "#[deprecated] ",
        (true, true) => "#[deprecated] #[non_exhaustive] ",
    }
}

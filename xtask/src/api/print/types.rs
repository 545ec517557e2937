//! Types.

use rustdoc_types::{FunctionPointer, Path, Type};

use super::{Printer, borrow};

impl Printer<'_> {
    pub(in super::super) fn ty(&mut self, of: &Type) -> &mut Self {
        match of {
            Type::ResolvedPath(path) => self.path(path),
            Type::DynTrait(object) => {
                self.push("dyn ");
                self.list(&object.traits, " + ", |this, one| {
                    this.ranked(&one.generic_params).path(&one.trait_);
                });
                match &object.lifetime {
                    Some(lifetime) => self.push(" + ").push(lifetime),
                    None => self,
                }
            }
            Type::Primitive(name) if name == "never" => self.push("!"),
            Type::Generic(name) | Type::Primitive(name) => self.push(name),
            Type::FunctionPointer(pointer) => self.pointer(pointer),
            Type::Tuple(parts) => {
                self.push("(");
                self.list(parts, ", ", |this, part| {
                    this.ty(part);
                });
                self.push(if parts.len() == 1 { ",)" } else { ")" })
            }
            Type::Slice(part) => self.push("[").ty(part).push("]"),
            Type::Array { type_, len } => self.push("[").ty(type_).push("; ").push(len).push("]"),
            Type::Pat { type_, .. } => self.ty(type_),
            Type::ImplTrait(bounds) => self.push("impl ").bounds(bounds),
            Type::Infer => self.push("_"),
            Type::RawPointer { is_mutable, type_ } => self
                .push(if *is_mutable { "*mut " } else { "*const " })
                .pointee(type_),
            Type::BorrowedRef {
                lifetime,
                is_mutable,
                type_,
            } => self
                .push(&borrow(lifetime.as_deref(), *is_mutable))
                .pointee(type_),
            Type::QualifiedPath {
                name,
                args,
                self_type,
                trait_,
            } => self
                .owner(self_type, trait_.as_ref())
                .push("::")
                .push(name)
                .arguments(args.as_deref()),
        }
    }

    /// What stands before the `::` of an associated type.
    fn owner(&mut self, owner: &Type, of: Option<&Path>) -> &mut Self {
        match (owner, of) {
            (Type::Generic(name), _) => self.push(name),
            (owner, Some(path)) => self.push("<").ty(owner).push(" as ").path(path).push(">"),
            (owner, None) => self.push("<").ty(owner).push(">"),
        }
    }

    /// What is behind `&` or `*`: several bounds need brackets there.
    fn pointee(&mut self, of: &Type) -> &mut Self {
        let bounds = match of {
            Type::DynTrait(object) => object.traits.len() + usize::from(object.lifetime.is_some()),
            Type::ImplTrait(bounds) => bounds.len(),
            _ => 1,
        };
        if bounds > 1 {
            self.push("(").ty(of).push(")")
        } else {
            self.ty(of)
        }
    }

    fn pointer(&mut self, pointer: &FunctionPointer) -> &mut Self {
        let word = if pointer.header.is_unsafe {
            "unsafe fn"
        } else {
            "fn"
        };
        self.ranked(&pointer.generic_params)
            .push(word)
            .signature(&pointer.sig, false)
    }

    /// Adds `Name = of` to what the trait that was written last is given.
    pub(in super::super) fn given(&mut self, name: &str, of: &Type) -> &mut Self {
        let before = if self.text.ends_with('>') {
            self.text.pop();
            ", "
        } else {
            "<"
        };
        self.push(before).push(name).push(" = ").ty(of).push(">")
    }

    /// An item by its name, with its arguments.
    pub(in super::super) fn path(&mut self, path: &Path) -> &mut Self {
        let name = self.name(path);
        self.push(&name).arguments(path.args.as_deref())
    }
}

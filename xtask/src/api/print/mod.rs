//! Signatures as text: one line each, with names that do not depend on the source's `use` lines.
//!
//! Every writing method gives the printer back, so that a line reads as it is written.

mod generics;
mod types;

use std::collections::BTreeSet;

use rustdoc_types::{Crate, Function, FunctionSignature, Generics, Path, Type};

use super::exports::Names;
use super::limits::{STANDARD, is_agreed};

/// Writes one line.
pub(super) struct Printer<'a> {
    krate: &'a Crate,
    names: &'a Names,
    pub(super) text: String,
    /// Items of other crates that the line should not name.
    pub(super) foreign: BTreeSet<String>,
}

impl<'a> Printer<'a> {
    pub(super) fn new(krate: &'a Crate, names: &'a Names) -> Self {
        Self {
            krate,
            names,
            text: String::new(),
            foreign: BTreeSet::new(),
        }
    }

    pub(super) fn push(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Writes each of `items` with `between` in between.
    fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        between: &str,
        mut each: impl FnMut(&mut Self, T),
    ) -> &mut Self {
        for (place, item) in items.into_iter().enumerate() {
            if place > 0 {
                self.push(between);
            }
            each(self, item);
        }
        self
    }

    /// `fn path<…>(…) -> … where …`; `outer` are the generics of the `impl` around it.
    pub(super) fn function(
        &mut self,
        path: &str,
        function: &Function,
        outer: &Generics,
    ) -> &mut Self {
        let header = &function.header;
        let words = [
            (header.is_const, "const "),
            (header.is_async, "async "),
            (header.is_unsafe, "unsafe "),
        ];
        for (_, word) in words.iter().filter(|(applies, _)| *applies) {
            self.push(word);
        }
        let own = &function.generics;
        self.push("fn ").push(path).parameters(&own.params);
        self.signature(&function.sig, true);
        let predicates = outer.where_predicates.iter().chain(&own.where_predicates);
        self.conditions(&outer.params, predicates)
    }

    /// `(name: T) -> U`, or `(T) -> U`.
    fn signature(&mut self, signature: &FunctionSignature, named: bool) -> &mut Self {
        self.push("(");
        self.list(&signature.inputs, ", ", |this, (name, input)| {
            if let Some(receiver) = receiver(name, input) {
                this.push(&receiver);
            } else if named {
                this.push(name).push(": ").ty(input);
            } else {
                this.ty(input);
            }
        });
        self.push(")").output(signature.output.as_ref())
    }

    fn output(&mut self, output: Option<&Type>) -> &mut Self {
        match output {
            Some(output) => self.push(" -> ").ty(output),
            None => self,
        }
    }

    /// Ours by the whole path, std's by its last part, others' by crate and last part.
    fn name(&mut self, path: &Path) -> String {
        let Some(summary) = self.krate.paths.get(&path.id) else {
            return path.path.clone();
        };
        let defined = summary.path.join("::");
        if let Some(name) = self.names.get(&(defined.clone(), summary.kind)) {
            return name.clone();
        }
        let (Some(krate), Some(last)) = (summary.path.first(), summary.path.last()) else {
            return path.path.clone();
        };
        if !is_agreed(krate, last, summary.kind) {
            self.foreign.insert(format!("{krate}::{last}"));
        }
        if summary.crate_id == 0 {
            // Public, and nobody outside can name it.
            return defined;
        }
        let standard = STANDARD.contains(&krate.as_str());
        // The two names that a crate has more than once.
        let shared = matches!(last.as_str(), "Error" | "Result");
        let module = summary.path.get(1).map(String::as_str);
        let name = match module {
            Some(module) if shared && !matches!(module, "error" | "result") => {
                format!("{module}::{last}")
            }
            _ => last.clone(),
        };
        match krate.as_str() {
            _ if standard => name,
            "serde_core" => format!("serde::{name}"),
            krate => format!("{krate}::{name}"),
        }
    }
}

/// `self`, `&self` or `&mut self`, if that is what an argument is.
fn receiver(name: &str, input: &Type) -> Option<String> {
    let is_self = |of: &Type| matches!(of, Type::Generic(name) if name == "Self");
    match input {
        _ if name != "self" => None,
        of if is_self(of) => Some("self".into()),
        Type::BorrowedRef {
            lifetime,
            is_mutable,
            type_,
        } if is_self(type_) => Some(borrow(lifetime.as_deref(), *is_mutable) + "self"),
        _ => None,
    }
}

/// `&'a mut `, as far as it applies.
fn borrow(lifetime: Option<&str>, is_mutable: bool) -> String {
    let lifetime = lifetime.map(|lifetime| format!("{lifetime} "));
    let mutable = if is_mutable { "mut " } else { "" };
    format!("&{}{mutable}", lifetime.unwrap_or_default())
}

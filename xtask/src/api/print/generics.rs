//! What stands in `<…>` and after `where`.

use rustdoc_types::{
    AssocItemConstraint, AssocItemConstraintKind, GenericArg, GenericArgs, GenericBound,
    GenericParamDef, GenericParamDefKind, PreciseCapturingArg, Term, TraitBoundModifier,
    WherePredicate,
};

use super::Printer;

impl Printer<'_> {
    /// `<'a, T: Bound = Default>`, without what `impl SchemaFeature` in arguments stands for.
    pub(in super::super) fn parameters(&mut self, parameters: &[GenericParamDef]) -> &mut Self {
        let mut written = parameters.iter().filter(|one| is_written(one)).peekable();
        if written.peek().is_none() {
            return self;
        }
        self.push("<");
        self.list(written, ", ", |this, one| this.parameter(one));
        self.push(">")
    }

    fn parameter(&mut self, parameter: &GenericParamDef) {
        match &parameter.kind {
            GenericParamDefKind::Lifetime { outlives } => {
                self.push(&parameter.name).outlives(outlives);
            }
            GenericParamDefKind::Type {
                bounds, default, ..
            } => {
                self.push(&parameter.name).bounded(bounds);
                if let Some(default) = default {
                    self.push(" = ").ty(default);
                }
            }
            GenericParamDefKind::Const { type_, default } => {
                self.push("const ").push(&parameter.name);
                self.push(": ").ty(type_);
                if let Some(default) = default {
                    self.push(" = ").push(default);
                }
            }
        }
    }

    /// ` where …`, with the bounds that stand at `parameters` first.
    pub(in super::super) fn conditions<'b>(
        &mut self,
        parameters: &[GenericParamDef],
        predicates: impl IntoIterator<Item = &'b WherePredicate>,
    ) -> &mut Self {
        let mut before = " where ";
        for parameter in parameters {
            if let GenericParamDefKind::Type { bounds, .. } = &parameter.kind
                && !bounds.is_empty()
            {
                self.push(before).push(&parameter.name).bounded(bounds);
                before = ", ";
            }
        }
        for predicate in predicates {
            self.push(before).predicate(predicate);
            before = ", ";
        }
        self
    }

    fn predicate(&mut self, predicate: &WherePredicate) -> &mut Self {
        match predicate {
            WherePredicate::BoundPredicate {
                type_,
                bounds,
                generic_params,
            } => self.ranked(generic_params).ty(type_).bounded(bounds),
            WherePredicate::LifetimePredicate { lifetime, outlives } => {
                self.push(lifetime).outlives(outlives)
            }
            WherePredicate::EqPredicate { lhs, rhs } => self.ty(lhs).push(" = ").term(rhs),
        }
    }

    /// `for<'a> `, or nothing.
    pub(super) fn ranked(&mut self, parameters: &[GenericParamDef]) -> &mut Self {
        if parameters.is_empty() {
            return self;
        }
        self.push("for").parameters(parameters).push(" ")
    }

    fn outlives(&mut self, outlives: &[String]) -> &mut Self {
        if outlives.is_empty() {
            return self;
        }
        self.push(": ").push(&outlives.join(" + "))
    }

    /// `: A + B`, or nothing.
    pub(in super::super) fn bounded(&mut self, bounds: &[GenericBound]) -> &mut Self {
        if bounds.is_empty() {
            return self;
        }
        self.push(": ").bounds(bounds)
    }

    pub(super) fn bounds(&mut self, bounds: &[GenericBound]) -> &mut Self {
        self.list(bounds, " + ", |this, bound| this.bound(bound))
    }

    fn bound(&mut self, bound: &GenericBound) {
        match bound {
            GenericBound::TraitBound {
                trait_,
                generic_params,
                modifier,
            } => {
                self.ranked(generic_params).push(match modifier {
                    TraitBoundModifier::None => "",
                    TraitBoundModifier::Maybe => "?",
                    TraitBoundModifier::MaybeConst => "[const] ",
                });
                self.path(trait_);
            }
            GenericBound::Outlives(lifetime) => {
                self.push(lifetime);
            }
            GenericBound::Use(captured) => {
                let names: Vec<&str> = captured.iter().map(captured_name).collect();
                self.push("use<").push(&names.join(", ")).push(">");
            }
        }
    }

    /// What an item is given: `<T, ItemAttribute = U>`, or `(T) -> U`.
    pub(super) fn arguments(&mut self, arguments: Option<&GenericArgs>) -> &mut Self {
        match arguments {
            None | Some(GenericArgs::ReturnTypeNotation) => self,
            Some(GenericArgs::AngleBracketed { args, constraints }) => {
                if args.is_empty() && constraints.is_empty() {
                    return self;
                }
                self.push("<").list(args, ", ", Self::argument);
                if !args.is_empty() && !constraints.is_empty() {
                    self.push(", ");
                }
                self.list(constraints, ", ", Self::constraint).push(">")
            }
            Some(GenericArgs::Parenthesized { inputs, output }) => {
                self.push("(");
                self.list(inputs, ", ", |this, input| {
                    this.ty(input);
                });
                self.push(")").output(output.as_ref())
            }
        }
    }

    fn argument(&mut self, argument: &GenericArg) {
        match argument {
            GenericArg::Lifetime(lifetime) => self.push(lifetime),
            GenericArg::Type(of) => self.ty(of),
            GenericArg::Const(constant) => self.push(&constant.expr),
            GenericArg::Infer => self.push("_"),
        };
    }

    fn constraint(&mut self, constraint: &AssocItemConstraint) {
        self.push(&constraint.name)
            .arguments(constraint.args.as_deref());
        match &constraint.binding {
            AssocItemConstraintKind::Equality(term) => self.push(" = ").term(term),
            AssocItemConstraintKind::Constraint(bounds) => self.bounded(bounds),
        };
    }

    fn term(&mut self, term: &Term) -> &mut Self {
        match term {
            Term::Type(of) => self.ty(of),
            Term::Constant(constant) => self.push(&constant.expr),
        }
    }
}

fn captured_name(captured: &PreciseCapturingArg) -> &str {
    match captured {
        PreciseCapturingArg::Lifetime(name) | PreciseCapturingArg::Param(name) => name,
    }
}

fn is_written(parameter: &GenericParamDef) -> bool {
    !matches!(
        parameter.kind,
        GenericParamDefKind::Type {
            is_synthetic: true,
            ..
        }
    )
}

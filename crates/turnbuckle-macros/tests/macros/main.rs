//! The attributes, used as their users do.

mod arguments;
mod data;
mod functions;
mod group;
mod same;

/// What is refused, and what is said then.
#[test]
fn mistakes_are_told_with_their_cure() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}

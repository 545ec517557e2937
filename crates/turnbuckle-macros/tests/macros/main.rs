//! The attributes, used as their users do.

mod arguments;
mod data;
mod functions;
mod group;
mod same;

/// What is refused, and what is said then.
#[test]
fn compile_errors_match_the_expected_output() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}

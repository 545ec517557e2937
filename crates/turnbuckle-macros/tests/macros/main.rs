//! The attributes, used as their users do.

mod arguments;
mod constraints;
mod data;
mod flatten;
mod foreign;
mod functions;
mod group;
mod names;
mod results;
mod same;

/// Compiler errors for refused code, compared with the expected texts.
#[test]
fn compile_errors_match_the_expected_output() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}

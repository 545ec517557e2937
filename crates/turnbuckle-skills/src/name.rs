//! Rules for the names and descriptions of skills.
//!
//! Specification: Agent Skills, "Specification" (`name` field, `description` field).

use crate::error::InvalidSkill;

const MAX_NAME_CHARS: usize = 64;
const MAX_DESCRIPTION_CHARS: usize = 1024;

/// Checks the name of a skill: 1 to 64 lowercase letters, digits and single hyphens, none at an end.
///
/// # Errors
/// If the name breaks a rule; the error says which.
pub fn check_name(name: &str) -> Result<(), InvalidSkill> {
    let fail = |reason| {
        Err(InvalidSkill::new(format_args!(
            "the name {name:?} {reason}"
        )))
    };
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() {
        fail("is empty")
    } else if name.len() > MAX_NAME_CHARS {
        fail("is longer than 64 characters")
    } else if !name.bytes().all(allowed) {
        fail("has a character other than `a` to `z`, `0` to `9` and `-`")
    } else if name.starts_with('-') || name.ends_with('-') {
        fail("begins or ends with a hyphen")
    } else if name.contains("--") {
        fail("has two hyphens in a row")
    } else {
        Ok(())
    }
}

/// Checks the description of a skill: 1 to 1,024 characters, not all of them white space.
///
/// # Errors
/// If the description is empty or too long.
pub fn check_description(description: &str) -> Result<(), InvalidSkill> {
    if description.trim().is_empty() {
        return Err(InvalidSkill::new("the description is empty"));
    }
    if description.chars().nth(MAX_DESCRIPTION_CHARS).is_some() {
        return Err(InvalidSkill::new(
            "the description is longer than 1024 characters",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // requirement: 57be9532c0b4 c4400a6e67d3
    #[test]
    fn names_are_lowercase_with_single_hyphens() {
        for name in ["a", "pdf-processing", "3d", "x".repeat(64).as_str()] {
            assert_eq!(check_name(name), Ok(()));
        }
        for name in [
            "",
            "-a",
            "a-",
            "a--b",
            "A",
            "a_b",
            "a b",
            "ä",
            "a/b",
            "a.b",
            "x".repeat(65).as_str(),
        ] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    // requirement: 57be9532c0b4
    #[test]
    fn descriptions_have_at_most_1024_characters() {
        assert_eq!(check_description(&"ä".repeat(1024)), Ok(()));
        assert!(check_description(&"a".repeat(1025)).is_err());
        assert!(check_description(" \n").is_err());
    }
}

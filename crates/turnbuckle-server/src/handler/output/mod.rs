//! Outputs: the types that handlers of tools, prompts and resources can return.

pub(crate) mod prompt;
pub(crate) mod resource;
pub(crate) mod tool;

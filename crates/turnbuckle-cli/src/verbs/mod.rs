//! What the tool does, one verb a file.

pub(crate) mod call;
pub(crate) mod complete;
pub(crate) mod info;
pub(crate) mod list;
pub(crate) mod listen;
pub(crate) mod prompt;
pub(crate) mod raw;
pub(crate) mod read;

use clap::Args;

use crate::args::Common;
use crate::failure::Failure;
use crate::target::{Target, Words};

/// A server, and words that say what is wanted of it.
#[derive(Args)]
pub(crate) struct Asked {
    /// TARGET (a URL or a name from a file) unless a command follows after `--`; then what is
    /// wanted
    #[arg(value_name = "TARGET", hide = true)]
    words: Vec<String>,

    #[command(flatten)]
    pub(crate) common: Common,
}

impl Asked {
    /// The server, and the other words.
    pub(crate) fn target(&mut self) -> Result<(Target, Words), Failure> {
        let mut words = Words::new(std::mem::take(&mut self.words));
        let target = Target::of(&self.common.reach, &mut words)?;
        Ok((target, words))
    }
}

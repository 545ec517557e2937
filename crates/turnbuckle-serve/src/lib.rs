#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod error;
mod output;

pub mod sequential_thinking;

pub use error::Error;

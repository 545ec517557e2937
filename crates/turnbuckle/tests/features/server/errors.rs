//! Errors of handlers: masked, and of a type that says what clients read.

use std::io;

use anyhow::Context;
use turnbuckle::prelude::*;

pub(super) fn group() -> Group {
    let masked = Group::new()
        .mask_error_details(true)
        .tools(tools![vault, sells, cellar])
        .prompts(prompts![confession]);
    Group::new()
        .group(masked)
        .tools(tools![ledger])
        .resources(resources![diary])
}

fn read_accounts() -> anyhow::Result<String> {
    let error = io::Error::other("/srv/secret.db is locked");
    Err(error).context("the accounts cannot be read")
}

/// Fails in a group that masks errors.
#[tool]
fn vault() -> anyhow::Result<String> {
    read_accounts()
}

/// Fails in the same group, and shows its error.
#[tool(mask_error_details = false)]
async fn cellar() -> Result<String> {
    Ok(read_accounts()?)
}

/// Fails outside of the group, and masks its error.
#[tool(mask_error_details)]
fn ledger() -> anyhow::Result<String> {
    read_accounts()
}

#[prompt]
fn confession() -> anyhow::Result<String> {
    read_accounts()
}

#[resource("vault://diary", mask_error_details)]
fn diary() -> anyhow::Result<String> {
    read_accounts()
}

/// The errors of a shop.
#[derive(Debug, thiserror::Error, IntoFailure)]
enum ShopError {
    #[error("sold out; `restock` orders more")]
    #[failure(model)]
    SoldOut,
    #[error("a customer buys 9 at most")]
    #[failure(protocol = invalid_params)]
    TooMany,
    #[error("the till is stuck")]
    #[failure(hidden)]
    Till(#[from] io::Error),
    #[error(transparent)]
    #[failure(forward)]
    Other(#[from] anyhow::Error),
}

/// Fails in each way, in a group that masks errors.
#[tool]
fn sells(amount: u32) -> Result<String, ShopError> {
    match amount {
        0 => Err(io::Error::other("/dev/till"))?,
        1 => read_accounts().map_err(ShopError::from),
        2 => Err(ShopError::SoldOut),
        _ => Err(ShopError::TooMany),
    }
}

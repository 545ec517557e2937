#![allow(unused)]

use turnbuckle::prelude::*;
use turnbuckle::{Extract, Invocation};

struct Tenant;

/// A value in the extensions of an HTTP request is cloned.
#[tool]
fn show(tenant: HttpExtension<Tenant>) -> String {
    String::new()
}

struct User;

/// The function of an extractor is async.
impl Extract for User {
    fn extract(invocation: &Invocation<'_>) -> Result<Self> {
        Ok(Self)
    }
}

struct Local;

/// The future of an extractor is `Send`.
impl Extract for Local {
    async fn extract(invocation: &Invocation<'_>) -> Result<Self> {
        let here = std::rc::Rc::new(());
        std::future::ready(()).await;
        drop(here);
        Ok(Self)
    }
}

fn main() {}

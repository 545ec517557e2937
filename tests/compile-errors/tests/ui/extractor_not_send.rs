// Answer: future returned by `extract` is not `Send`

#![allow(unused)]

use turnbuckle::prelude::*;
use turnbuckle::{Extract, Invocation};

struct Local;

impl Extract for Local {
    async fn extract(invocation: &Invocation<'_>) -> Result<Self> {
        let here = std::rc::Rc::new(());
        std::future::ready(()).await;
        drop(here);
        Ok(Self)
    }
}

fn main() {}

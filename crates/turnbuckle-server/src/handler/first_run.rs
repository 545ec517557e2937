//! The first run of a handler, as a future that stores it once. An async block has room for it twice: for what it
//! captured, and for what it awaits.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, ready};

use pin_project_lite::pin_project;
use turnbuckle_wire::era::Reply;

use crate::error::failure::Result;

/// A handler, as far as it converts the outputs of its runs.
pub(super) trait ConvertOutput {
    type Output;

    /// Converts an output into a reply; `uri` is the URI that is read, if any.
    fn convert(&self, output: Self::Output, uri: Option<&str>) -> Result<Reply>;
}

pin_project! {
    /// A run of a handler, whose output is converted into a reply.
    pub(super) struct FirstRun<F, H> {
        #[pin]
        run: F,
        handler: Arc<H>,
        // The URI that is read, if any.
        uri: Option<String>,
    }
}

impl<F, H> FirstRun<F, H> {
    pub(super) fn new(run: F, handler: Arc<H>, uri: Option<String>) -> Self {
        Self { run, handler, uri }
    }
}

impl<F, H> Future for FirstRun<F, H>
where
    F: Future<Output = H::Output>,
    H: ConvertOutput,
{
    type Output = Result<Reply>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let output = ready!(this.run.poll(cx));
        Poll::Ready(this.handler.convert(output, this.uri.as_deref()))
    }
}

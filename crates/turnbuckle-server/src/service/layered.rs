//! How a call goes through the layers around an item: outside in, each passing it on.

use std::pin::Pin;
use std::sync::Arc;

use turnbuckle_session::Handling;
use turnbuckle_wire::era::Reply;

use super::{Answer, AroundCalls, Call, ItemKind};
use crate::failure::Failure;
use crate::handler::{Callable, Request, Terms, told};

/// A call that was passed on.
pub(super) enum Calling {
    /// It is answered; taken when that is told.
    Ready(Option<Reply>),
    /// It is under way.
    Pending(Pin<Box<dyn Future<Output = Reply> + Send>>),
}

impl Call {
    /// Goes to the next layer, or to what is called.
    pub(super) fn pass_on(mut self) -> Calling {
        let next = self.target.layers.get(self.passed).cloned();
        match next {
            Some(layer) => {
                self.passed += 1;
                let terms = self.target.terms;
                let context = self.kept.context.clone();
                let answer = layer.call(self);
                let reply = async move { answer.await.into_reply(terms, &context) };
                Calling::Pending(Box::pin(reply))
            }
            None => match self.kept.call(self.target.inner.clone()) {
                Handling::Ready(reply) => Calling::Ready(Some(reply)),
                Handling::Pending(running) => Calling::Pending(running),
            },
        }
    }
}

/// A layer, with the service in it that passes calls on.
pub(crate) trait Around: Send + Sync {
    fn call(&self, call: Call) -> Pin<Box<dyn Future<Output = Answer> + Send>>;
}

pub(crate) fn around(service: impl AroundCalls) -> Arc<dyn Around> {
    struct Standing<S>(S);
    impl<S: AroundCalls> Around for Standing<S> {
        fn call(&self, call: Call) -> Pin<Box<dyn Future<Output = Answer> + Send>> {
            Box::pin(self.0.clone().answer(call))
        }
    }
    Arc::new(Standing(service))
}

/// Something with layers around it.
pub(crate) struct Layered {
    inner: Arc<dyn Callable>,
    pub(super) kind: ItemKind,
    pub(super) name: Box<str>,
    layers: Vec<Arc<dyn Around>>,
    terms: Terms,
}

impl Layered {
    pub(crate) fn new(
        inner: Arc<dyn Callable>,
        kind: ItemKind,
        name: &str,
        layers: Vec<Arc<dyn Around>>,
        terms: Terms,
    ) -> Self {
        Self {
            inner,
            kind,
            name: name.into(),
            layers,
            terms,
        }
    }
}

impl Callable for Layered {
    fn call(self: Arc<Self>, request: Request<'_>) -> Handling {
        let call = Call {
            target: self,
            passed: 0,
            kept: request.keep(),
        };
        match call.pass_on() {
            Calling::Pending(running) => Handling::Pending(running),
            Calling::Ready(reply) => match reply {
                Some(reply) => reply.into(),
                None => told(Failure::new("there is no answer"), false).into(),
            },
        }
    }
}

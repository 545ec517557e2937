//! The functions of a provider, with the types of their parameters erased.

use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use turnbuckle_types::ProtocolError;
use turnbuckle_wire::revision::Method;

use crate::error::failure::Result;
use crate::error::into_failure::IntoFailure;
use crate::handler::CallKind;
use crate::handler::{Handler, HandlerKind, HandlerOutput};
use crate::items::NoHandler;
use crate::items::resource::Resource;
use crate::request::extract::{AddRequirements, Invocation};
use crate::request::list::ListPage;
use crate::request::read::ReadRequest;

/// The kind of function that lists items of type `T`.
#[derive(Debug)]
pub struct ListFunction<T>(PhantomData<T>);

/// The kind of function that finds an item of type `T` by its name or URI.
#[derive(Debug)]
pub struct FindFunction<T>(PhantomData<T>);

macro_rules! provider_function_kinds {
    ($($Kind:ident => $Output:ty;)*) => {$(
        impl<T: Send + 'static> HandlerKind for $Kind<T> {
            type ReplyOptions = ();
            type Reply = $Output;

            // No request to list items can ask the client, and neither can a provider.
            const METHOD: Method = Method::ListTools;
            const ERRORS_IN_RESULT: bool = false;
            const CALL_KIND: CallKind = CallKind::List;
        }

        impl<T, O, E> HandlerOutput<$Kind<T>> for std::result::Result<O, E>
        where
            T: Send + 'static,
            O: HandlerOutput<$Kind<T>>,
            E: IntoFailure + Send + 'static,
        {
            fn into_handler_reply(self, (): &(), name: Option<&str>) -> Result<$Output> {
                self.map_err(IntoFailure::into_failure)?.into_handler_reply(&(), name)
            }
        }
    )*};
}

provider_function_kinds! {
    ListFunction => ListPage<T>;
    FindFunction => Option<T>;
}

impl<T: Send + 'static> HandlerOutput<ListFunction<T>> for ListPage<T> {
    fn into_handler_reply(self, (): &(), _: Option<&str>) -> Result<Self> {
        Ok(self)
    }
}

impl<T: Send + 'static> HandlerOutput<ListFunction<T>> for Vec<T> {
    fn into_handler_reply(self, (): &(), _: Option<&str>) -> Result<ListPage<T>> {
        Ok(self.into())
    }
}

/// Resources without a handler, which something else reads.
impl HandlerOutput<ListFunction<Resource>> for ListPage<Resource<NoHandler>> {
    fn into_handler_reply(self, (): &(), _: Option<&str>) -> Result<ListPage<Resource>> {
        let unreadable = |request: ReadRequest| -> Result<String> {
            Err(ProtocolError::resource_not_found(request.uri).into())
        };
        let items = self.items.into_iter();
        let page = ListPage::new(items.map(|resource| resource.handler(unreadable)));
        Ok(page.next_cursor(self.next_cursor))
    }
}

impl HandlerOutput<ListFunction<Resource>> for Vec<Resource<NoHandler>> {
    fn into_handler_reply(self, (): &(), _: Option<&str>) -> Result<ListPage<Resource>> {
        HandlerOutput::<ListFunction<Resource>>::into_handler_reply(ListPage::from(self), &(), None)
    }
}

impl<T: Send + 'static> HandlerOutput<FindFunction<T>> for Option<T> {
    fn into_handler_reply(self, (): &(), _: Option<&str>) -> Result<Self> {
        Ok(self)
    }
}

/// The future of one call of a provider's function.
type ProviderRun<'a, O> = Pin<Box<dyn Future<Output = Result<O>> + Send + 'a>>;

/// Extracts the parameters of a provider's function and calls the function.
type Call<O> = Box<dyn for<'a> Fn(&'a Invocation<'a>) -> ProviderRun<'a, O> + Send + Sync>;

/// A function of a provider, with the output `O`.
pub(crate) struct ProviderFunction<O> {
    call: Call<O>,
    pub(crate) needs: AddRequirements,
}

impl<O: Send + 'static> ProviderFunction<O> {
    pub(super) fn new<K, H, M>(function: H) -> Self
    where
        K: HandlerKind<ReplyOptions = (), Reply = O>,
        H: Handler<K, M>,
        M: 'static,
    {
        let function = Arc::new(function);
        Self {
            call: Box::new(move |invocation| {
                let function = function.clone();
                Box::pin(async move {
                    let run = function.start_waiting(invocation).await?;
                    run.await.into_handler_reply(&(), None)
                })
            }),
            needs: H::add_requirements,
        }
    }

    /// Extracts the parameters, one after the other, and calls the function.
    pub(crate) fn call<'a>(&self, invocation: &'a Invocation<'a>) -> ProviderRun<'a, O> {
        (self.call)(invocation)
    }
}

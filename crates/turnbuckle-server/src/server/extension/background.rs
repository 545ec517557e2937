//! Work of extensions beside requests, which begins and ends with the server.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use turnbuckle_session::handler::Signal;
use turnbuckle_session::internal::catch_panic;

/// The time that work has to come to its own end after the server has ended.
const GRACE: Duration = Duration::from_secs(5);

/// The boxed future in which an extension works.
type WorkFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Work that was not started yet. `C` is the context that it gets.
pub(super) struct BackgroundTask<C> {
    extension: Arc<str>,
    work: Box<dyn FnOnce(C) -> WorkFuture + Send>,
}

impl<C> BackgroundTask<C> {
    pub(super) fn new<F, Fut>(extension: &str, work: F) -> Self
    where
        F: FnOnce(C) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self {
            extension: extension.into(),
            work: Box::new(move |context| Box::pin(work(context))),
        }
    }

    /// Runs the work until it is done, panics, or has had its time after the end of the server.
    async fn run(self, context: C, end: Signal) {
        let Self { extension, work } = self;
        let Ok(mut work) = catch_panic(|| work(context)) else {
            return log_panic(&extension);
        };
        let work = std::future::poll_fn(move |cx| match catch_panic(|| work.as_mut().poll(cx)) {
            Ok(polled) => polled.map(Ok),
            Err(_) => Poll::Ready(Err(())),
        });
        let overdue = async {
            end.closing().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            biased;
            done = work => if done.is_err() {
                log_panic(&extension);
            },
            () = overdue => tracing::warn!(
                extension = &*extension,
                "the background work of an extension did not end in {GRACE:?} and was dropped"
            ),
        }
    }
}

/// Logs that work has ended with a panic, which the log has already.
fn log_panic(extension: &str) {
    tracing::error!(
        extension,
        "the background work of an extension has ended with a panic"
    );
}

/// The work of all extensions of one server.
pub(super) struct BackgroundStart<C> {
    tasks: Mutex<Vec<BackgroundTask<C>>>,
    /// True while there is work that was not started.
    pending: AtomicBool,
    end: Signal,
}

impl<C> Default for BackgroundStart<C> {
    fn default() -> Self {
        Self {
            tasks: Mutex::default(),
            pending: AtomicBool::new(false),
            end: Signal::new(),
        }
    }
}

impl<C: Send + 'static> BackgroundStart<C> {
    pub(super) fn add(&mut self, tasks: Vec<BackgroundTask<C>>) {
        let own = self.tasks.get_mut();
        own.unwrap_or_else(PoisonError::into_inner).extend(tasks);
        *self.pending.get_mut() = true;
    }

    /// Starts the work with the context that is made for each, if this is the first time in a runtime.
    pub(super) fn start(&self, context: impl Fn(&Signal) -> C) {
        if !self.pending.load(Ordering::Relaxed) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        self.pending.store(false, Ordering::Relaxed);
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            runtime.spawn(task.run(context(&self.end), self.end.clone()));
        }
    }
}

impl<C> Drop for BackgroundStart<C> {
    fn drop(&mut self) {
        self.end.close();
    }
}

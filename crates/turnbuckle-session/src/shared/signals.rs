//! The signals that end a program: SIGINT (Ctrl-C), SIGTERM, and SIGHUP, the end of the terminal. On
//! other systems than Unix, Ctrl-C alone.
//!
//! Servers on standard streams and on HTTP end by them, and the commands of the tool.

use std::io;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
#[cfg(unix)]
use std::sync::Arc;
#[cfg(unix)]
use std::sync::atomic::AtomicBool;
#[cfg(all(unix, feature = "shutdown-signals"))]
use std::sync::atomic::Ordering;

#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
#[cfg(unix)]
use signal_hook::{SigId, flag, low_level};

#[cfg(unix)]
const SHUTDOWN_SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Handlers of the signals that end a program. Dropping this removes them but does not restore the
/// default actions: the signals stay caught without effect.
#[cfg(unix)]
#[derive(Debug)]
pub struct SignalHandlers(Vec<SigId>);

#[cfg(unix)]
impl SignalHandlers {
    /// Registers handlers that set `flag`, if there is one, and then write a byte to `wake`.
    ///
    /// # Errors
    /// When the system refuses a handler.
    pub fn register(wake: &UnixStream, flag: Option<&Arc<AtomicBool>>) -> io::Result<Self> {
        let mut handlers = Self(Vec::with_capacity(2 * SHUTDOWN_SIGNALS.len()));
        for signal in SHUTDOWN_SIGNALS {
            // Handlers run in the order of registration: the flag is set before anybody is woken.
            if let Some(flag) = flag {
                handlers.0.push(flag::register(signal, flag.clone())?);
            }
            let id = low_level::pipe::register(signal, wake.try_clone()?)?;
            handlers.0.push(id);
        }
        Ok(handlers)
    }
}

#[cfg(unix)]
impl Drop for SignalHandlers {
    fn drop(&mut self) {
        for id in self.0.drain(..) {
            low_level::unregister(id);
        }
    }
}

/// Has the signals end the process at once while `flag` is true.
///
/// # Errors
/// When the system refuses a handler.
#[cfg(unix)]
pub fn end_process_while(flag: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in SHUTDOWN_SIGNALS {
        flag::register_conditional_default(signal, flag.clone())?;
    }
    Ok(())
}

/// The signals that end a program, to be awaited. Once this exists they no longer end the process.
#[cfg(all(unix, feature = "shutdown-signals"))]
#[derive(Debug)]
pub struct ShutdownSignals {
    /// Each signal arrives as a byte.
    receiver: tokio::net::UnixStream,
    /// Set by every signal but SIGINT.
    is_terminated: Arc<AtomicBool>,
    _handlers: [SignalHandlers; 2],
}

#[cfg(all(unix, feature = "shutdown-signals"))]
impl ShutdownSignals {
    /// Starts to catch the signals.
    ///
    /// # Errors
    /// When the system refuses a handler.
    pub fn new() -> io::Result<Self> {
        let (receiver, sender) = UnixStream::pair()?;
        receiver.set_nonblocking(true)?;
        let is_terminated = Arc::new(AtomicBool::new(false));
        // Registered first: the flag is set before anybody is woken.
        let mut flags = SignalHandlers(Vec::new());
        for signal in SHUTDOWN_SIGNALS
            .into_iter()
            .filter(|signal| *signal != SIGINT)
        {
            flags.0.push(flag::register(signal, is_terminated.clone())?);
        }
        Ok(Self {
            receiver: receiver.try_into()?,
            is_terminated,
            _handlers: [flags, SignalHandlers::register(&sender, None)?],
        })
    }

    /// Returns whether a signal other than Ctrl-C came: one that asks the program to end, and not only
    /// what it does now.
    #[must_use]
    pub fn is_terminated(&self) -> bool {
        self.is_terminated.load(Ordering::Relaxed)
    }

    /// Waits for the next signal.
    pub async fn recv(&mut self) {
        while self.receiver.readable().await.is_ok() {
            if self.receiver.try_read(&mut [0]).is_ok() {
                return;
            }
        }
        std::future::pending().await
    }
}

/// Ctrl-C. While it is awaited it does not end the process.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct ShutdownSignals;

#[cfg(not(unix))]
impl ShutdownSignals {
    /// Returns the signals. On this system nothing has to be registered in advance.
    ///
    /// # Errors
    /// Never.
    pub fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Returns false: Ctrl-C is the only signal.
    #[must_use]
    pub fn is_terminated(&self) -> bool {
        false
    }

    /// Waits for the next Ctrl-C. Never returns if the system refuses to report it.
    pub async fn recv(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}

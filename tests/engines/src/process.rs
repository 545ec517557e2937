//! A process that a test has started.

use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process};

/// A process of a test, which is killed when this is dropped.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Starts a process.
    ///
    /// # Panics
    /// If it cannot start.
    #[must_use]
    pub fn start(command: &mut Command) -> Self {
        let child = command.spawn();
        Self(child.unwrap_or_else(|error| panic!("{:?}: {error}", command.get_program())))
    }

    /// Returns whether the process has not ended.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    /// Returns the id of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Halts the process, which keeps its connections and answers nothing.
    pub fn pause(&self) {
        self.send(Signal::STOP);
    }

    /// Lets a halted process go on.
    pub fn resume(&self) {
        self.send(Signal::CONT);
    }

    /// Asks the process to end, and waits for that.
    pub fn stop(&mut self) {
        self.end(Signal::TERM);
    }

    /// Sends a signal that ends the process, and waits for its end.
    pub(crate) fn end(&mut self, signal: Signal) {
        self.send(signal);
        self.0.wait().unwrap();
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    /// Kills the process.
    pub fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    fn send(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

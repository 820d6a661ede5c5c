//! How a long build tells its caller what it is doing.

/// Listens to a build. This library never prints; a command line draws a bar from this.
pub trait Progress: Send + Sync {
    /// A new step begins, such as `making the environment`.
    fn step(&self, message: &str);

    /// A tool that runs in this step wrote a line.
    fn line(&self, _text: &str) {}
}

/// Listens to nothing.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn step(&self, _message: &str) {}
}

//! What differs between systems: who is the box.

#[cfg(target_os = "linux")]
mod platform {
    pub(crate) use crate::boxed::run as run_box;
    pub use crate::boxed::run_user;
}

/// Checked and linked by `cargo xtask cross`; not run by us.
#[cfg(target_os = "macos")]
mod platform {
    pub(crate) use crate::seatbelt::run_box;

    /// Nobody else can be become behind a profile: code of others has the rights of our user,
    /// as far as the profile leaves them.
    pub fn run_user() -> Option<u32> {
        None
    }
}

pub(crate) use platform::run_box;
pub use platform::run_user;

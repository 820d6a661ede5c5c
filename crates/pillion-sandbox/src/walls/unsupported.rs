//! Where there is no Linux, there is neither Landlock nor a filter of system calls: what is
//! written down of them is nothing. Zygotes, which would need it, are not made there.

/// The wall in the file system.
pub mod landlock {
    use crate::policy::Policy;

    /// The wall as numbers: there is none.
    #[derive(Debug, serde::Serialize)]
    pub enum Numbers {}

    /// None.
    pub fn numbers(_policy: &Policy) -> Option<Numbers> {
        None
    }
}

/// Resource limits of one process. The box of this system sets them itself.
pub mod rlimits {
    use crate::policy::Limits;

    /// A limit of a process: which, and how much.
    pub type Rlimit = (u32, u64, u64);

    /// None.
    pub fn numbers(_limits: &Limits) -> Vec<Rlimit> {
        Vec::new()
    }
}

/// The filter of system calls.
pub mod seccomp {
    /// What a program may ask of the kernel.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Filter {
        /// For one program.
        Program {
            /// It can reach the network.
            network: bool,
            /// No other wall keeps it from others.
            alone: bool,
        },
        /// For what a kernel runs.
        Cell {
            /// It can reach the network.
            network: bool,
        },
    }

    /// None: other walls stand here.
    pub fn programs(_filter: Filter) -> Result<Vec<Vec<u8>>, String> {
        Ok(Vec::new())
    }

    /// As it is.
    pub fn bytes(program: &[u8]) -> Vec<u8> {
        program.to_vec()
    }
}

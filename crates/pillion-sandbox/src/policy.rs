//! What a confined program may do.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything that a confined program can write to is below this.
#[cfg(target_os = "linux")]
pub(crate) const LANE: &str = "/lane";
/// Where a confined program finds its folder.
pub const WORK: &str = "/lane/work";
/// Where it has its temporary files, and `/tmp` leads if nothing that it needs is in there.
pub const TMP: &str = "/lane/tmp";
/// Where a zygote finds the folders that it hands on to its children.
pub const HANDED: &str = "/lane/folders";
/// What fits into [`TMP`].
pub const TMP_BYTES: u64 = 64 << 20;
/// Terminals that one program can have at once: all programs of the machine share some thousands.
#[cfg(target_os = "linux")]
pub(crate) const TERMINALS: u32 = 16;
/// What fits into `/dev/shm`.
pub const SHM_BYTES: u64 = 16 << 20;

/// What a confined program may see, write, reach and use up. Everything else it may not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Policy {
    /// Files and folders that it can read and run, besides the system's libraries.
    pub view: Vec<PathBuf>,
    /// It can run the system's programs (`/usr/bin`), still without any privilege.
    pub programs: bool,
    /// The one folder that it can write.
    pub folder: Folder,
    /// Programs in its folder can be run.
    pub runs_own_files: bool,
    /// It can make terminals (`/dev/pts`), which nobody else sees. Only where namespaces are to be
    /// had.
    pub terminals: bool,
    /// It can reach the network: everything, also services of this machine.
    pub network: bool,
    /// What it can use up.
    pub limits: Limits,
}

/// The folder of a confined program. It is at [`WORK`] where namespaces are to be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Folder {
    /// Nothing of it is left afterwards.
    Throwaway,
    /// A folder on disk, which stays.
    Kept(PathBuf),
    /// One of the folders below this one, which is named when the program runs already. Only
    /// where namespaces are to be had.
    Later(PathBuf),
}

/// What a confined program can use up, with everything that it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Memory, in bytes.
    pub memory: u64,
    /// Processes and threads.
    pub processes: u32,
    /// Seconds of processor time, for each process.
    pub cpu_s: u64,
    /// Files that a process has open.
    pub open_files: u64,
    /// Bytes in the folder, and in one file.
    pub disk: u64,
    /// Files and folders in a throw-away folder.
    pub disk_files: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 512 << 20,
            processes: 64,
            cpu_s: 120,
            open_files: 256,
            disk: 256 << 20,
            disk_files: 10_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_comes_back_from_its_text_as_it_was() {
        // A box hears its policy as text.
        for folder in [
            Folder::Throwaway,
            Folder::Kept("/data/a b".into()),
            Folder::Later("/data".into()),
        ] {
            let policy = Policy {
                view: vec!["/usr/lib".into()],
                programs: true,
                folder,
                runs_own_files: false,
                terminals: true,
                network: true,
                limits: Limits {
                    memory: u64::MAX,
                    ..Limits::default()
                },
            };
            let text = serde_json::to_string(&policy).unwrap();
            assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy);
            // What a policy does not say is not taken for anything.
            let unsaid = text.replace(r#""network":true,"#, "");
            assert!(serde_json::from_str::<Policy>(&unsaid).is_err());
        }
    }

    #[test]
    fn the_places_of_a_program_are_apart_from_each_other() {
        let places = [WORK, TMP, HANDED];
        for (at, place) in places.iter().enumerate() {
            for other in places.iter().skip(at + 1) {
                let (place, other) = (PathBuf::from(place), PathBuf::from(other));
                assert!(!place.starts_with(&other) && !other.starts_with(&place));
            }
        }
    }
}

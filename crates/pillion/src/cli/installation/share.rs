//! `pillion self share`: completions and manual pages, where systems look for them below a
//! folder such as `/usr/share` or `~/.local/share`. Every package is made with it, and `pillion
//! self check` looks in the same places.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;
use pillion::{Code, Error, Result};

use crate::cli::caller::from_here;
use crate::cli::{command, output};

/// Where the completions of a shell lie below such a folder.
pub(super) const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/pillion"),
    (Shell::Zsh, "zsh/site-functions/_pillion"),
    (Shell::Fish, "fish/vendor_completions.d/pillion.fish"),
];
/// Where manual pages lie.
const PAGES: &str = "man/man1";

/// Write the completions of all shells and the manual pages, as packages have them.
#[derive(Debug, Args)]
pub(crate) struct Share {
    /// The folder, such as `~/.local/share`, where bash, fish and man find them.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Share {
    pub(super) fn run(self) -> Result<ExitCode> {
        let out = from_here(&self.out);
        let written = completions(&out).and_then(|()| pages(&out));
        written.map_err(|error| {
            let what = format!("cannot write below `{}`: {error}", out.display());
            Error::new(Code::StartFailed, what).hint("name a folder that you can write")
        })?;
        output::say(&format!(
            "completions and manual pages are in {}",
            out.display()
        ));
        Ok(ExitCode::SUCCESS)
    }
}

fn completions(out: &Path) -> io::Result<()> {
    for (shell, place) in COMPLETIONS {
        let file = out.join(place);
        create_above(&file)?;
        std::fs::write(file, script(shell))?;
    }
    Ok(())
}

/// The script that completes our commands in a shell.
pub(crate) fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "pillion", &mut script);
    script
}

fn pages(out: &Path) -> io::Result<()> {
    let folder = out.join(PAGES);
    std::fs::create_dir_all(&folder)?;
    clap_mangen::generate_to(command(), folder)
}

fn create_above(file: &Path) -> io::Result<()> {
    file.parent().map_or(Ok(()), std::fs::create_dir_all)
}

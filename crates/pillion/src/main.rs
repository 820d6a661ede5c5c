//! The `pillion` program.

mod cli;

fn main() -> std::process::ExitCode {
    // First of all: this process may be a guard, which does nothing else.
    pillion::guard::init();
    cli::main()
}

//! The `pillion` program.

mod cli;

fn main() -> std::process::ExitCode {
    // First of all: this process may be a guard or a box, which does nothing else.
    pillion::init();
    cli::main()
}

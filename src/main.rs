//! The command line.

fn main() -> std::process::ExitCode {
    copyist::cli::main()
}

//! The YAML layer, with PyYAML as judge where it is installed.

mod encoding;
mod goldens;
mod plain;
mod python;
mod random;
mod read;
mod write;

//! Errors for requests that migration does not support.

use super::found::Found;
use super::inputs::Job;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::Error;
use crate::formats::Spec;
use crate::store::{origin_of, target_beside};

/// Returns the error for a version that no migration leads to.
pub fn no_step(found: &Found, to: Spec) -> Error {
    let to = to.format.at(to.version().number);
    let (name, way) =
        (found.name(), format!("`copyist convert -t {to}` converts it and reports what is lost"));
    let message = format!("the file is {name}, and no migration leads to {to}; {way}");
    Error::request(Code::WrongVersion, message)
}

/// Returns the error for a target version that is another kind of file than the input.
pub fn not_in_place(found: &Found, to: Spec) -> Error {
    let message = format!(
        "the file is {}, and {} is another kind of file; name an output with `-o` or `--out-dir`",
        found.name(),
        to.format.at(to.version().number)
    );
    Error::request(Code::WrongVersion, message)
}

/// Returns the error for a target of another format.
pub fn other_format(found: &Found, to: Spec) -> Error {
    let message = format!(
        "the file is {}, and migration stays inside one format; `copyist convert -t {}` converts it",
        found.format.at(found.sniffed.version),
        to.format.at(to.version().number),
    );
    Error::request(Code::WrongFormat, message)
}

/// Adds to the finding of an input that nothing can be read from that the session is in the origin
/// beside it, if there is one.
pub fn with_origin_beside(found: Diagnostic, job: &Job) -> Diagnostic {
    let nothing = [Code::Empty, Code::UnknownFormat, Code::Unreadable, Code::NothingBack];
    let input = job.path().filter(|_| nothing.contains(&found.code));
    match input.filter(|path| target_beside(path).is_some()) {
        Some(path) => {
            let origin = origin_of(path);
            let way = format!("name {} to convert the session in it", origin.display());
            Diagnostic { message: format!("{}; {way}", found.message), ..found }
        }
        None => found,
    }
}

//! Parsers for values that are names from the program's tables, which shells can complete.

use super::documents::{DOCUMENTS, Schema};
use crate::diagnostic::Code;
use crate::format::Format;
use crate::formats::{FORMATS, Spec};
use crate::show::Form;
use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Command};
use std::ffi::OsStr;

/// A parser that accepts any value of `parser`, and offers names to shells for completion.
#[derive(Clone, Debug)]
struct Offered<P> {
    parser: P,
    names: fn() -> Vec<PossibleValue>,
}

impl<P: TypedValueParser> TypedValueParser for Offered<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<P::Value, Error> {
        self.parser.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter()))
    }
}

/// Returns the parser for one of these choices: each with its name and a line about it.
pub fn choice<T: Copy + Send + Sync + 'static>(
    all: &'static [(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let names = all.iter().map(|(name, help, _)| PossibleValue::new(*name).help(*help));
    let of =
        |name: String| all.iter().find(|(known, ..)| *known == name).map(|(.., choice)| *choice);
    PossibleValuesParser::new(names).try_map(move |name| of(name).ok_or("no such choice"))
}

/// Returns the parser for a format's name, with or without a version.
pub fn format() -> impl TypedValueParser<Value = Spec> {
    let names = || {
        let names = FORMATS.iter().flat_map(|format| {
            let name = PossibleValue::new(format.name).help(format.summary);
            let versions = format.versions.iter().filter(|_| format.versions.len() > 1);
            let version = |number| format!("{}@{number}", format.name);
            let versions =
                versions.map(move |v| PossibleValue::new(version(v.number)).help(v.summary));
            std::iter::once(name).chain(versions)
        });
        names.collect()
    };
    let parser = |text: &str| Spec::parse(text).map_err(|why| with_similar(text, why, &[]));
    Offered { parser, names }
}

/// Adds the name of a format, or one of the `others`, that is similar to the one that was given.
fn with_similar(text: &str, why: String, others: &[&'static str]) -> String {
    let given = text.split('@').next().unwrap_or_default().to_lowercase();
    let names = FORMATS.iter().flat_map(|format| {
        let names = std::iter::once(&format.name).chain(format.aliases);
        names.map(|name| (strsim::jaro_winkler(&given, name), format.name))
    });
    let others = others.iter().map(|name| (strsim::jaro_winkler(&given, name), *name));
    let best = names.chain(others).max_by(|(a, _), (b, _)| a.total_cmp(b));
    match best.filter(|(similarity, _)| (SIMILAR..1.0).contains(similarity)) {
        Some((_, name)) => format!("{why}; did you mean `{name}`?"),
        None => with_ending(&given, why),
    }
}

/// Adds the formats whose files have this ending, if the user gave one in the place of a format.
fn with_ending(given: &str, why: String) -> String {
    let ending = format!(".{}", given.trim_start_matches('.'));
    let has = |format: &&&Format| format.extensions.contains(&&*ending);
    let names: Vec<_> = FORMATS.iter().filter(has).map(|it| format!("`{}`", it.name)).collect();
    match names.is_empty() {
        true => why,
        false => format!("{why}; files with the ending {ending} are of {}", names.join(", ")),
    }
}

/// Least similarity of a name that is suggested, as clap has it for its own suggestions.
const SIMILAR: f64 = 0.7;

/// Target of a conversion.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// A session in this format.
    Session(Spec),
    /// A view, which is only read.
    View(Form),
}

/// The views that are targets of conversions, each with its description.
const VIEWS: &[(Form, &str)] =
    &[(Form::Html, "pages to read, with a list of them"), (Form::Markdown, "Markdown to read")];

/// Returns the parser for the target of a conversion: a format or a view.
pub fn target() -> impl TypedValueParser<Value = Target> {
    let names = || {
        let sessions = format();
        let sessions = sessions.possible_values().into_iter().flatten();
        let views = VIEWS.iter().map(|(form, help)| PossibleValue::new(form.name()).help(*help));
        sessions.chain(views).collect()
    };
    let parser =
        |name: &str| match VIEWS.iter().find(|(form, _)| name.eq_ignore_ascii_case(form.name())) {
            Some((form, _)) => Ok(Target::View(*form)),
            None => {
                let views: Vec<_> = VIEWS.iter().map(|(form, _)| form.name()).collect();
                let more = |error| format!("{error}; views: {}", views.join(", "));
                let parsed = Spec::parse(name).map(Target::Session);
                parsed.map_err(|why| with_similar(name, more(why), &views))
            }
        };
    Offered { parser, names }
}

/// Returns the parser for the name of a schema: a format, or a document of copyist.
pub fn schema() -> impl TypedValueParser<Value = Schema> {
    let names = || {
        let sessions = format();
        let sessions = sessions.possible_values().into_iter().flatten();
        let documents = DOCUMENTS.iter();
        let documents = documents.map(|it| PossibleValue::new(it.name).help(it.about));
        sessions.chain(documents).collect()
    };
    let parser = |name: &str| {
        let document = DOCUMENTS.iter().find(|document| name.eq_ignore_ascii_case(document.name));
        let names: Vec<_> = DOCUMENTS.iter().map(|document| document.name).collect();
        document.map_or_else(
            || {
                let parsed = Spec::parse(name).map(Schema::Records);
                let more = |why| format!("{why}; also: {}", names.join(", "));
                parsed.map_err(|why| with_similar(name, more(why), &names))
            },
            |document| Ok(Schema::Document(document)),
        )
    };
    Offered { parser, names }
}

/// Returns the parser for the name of a format whose files relatives of its software write their
/// own way.
pub fn dialect() -> impl TypedValueParser<Value = &'static Format> {
    let names = || dialects().map(|format| PossibleValue::new(format.name)).collect();
    let parser = |name: &str| {
        let known = || dialects().map(|format| format.name).collect::<Vec<_>>().join(", ");
        dialects()
            .find(|format| name.eq_ignore_ascii_case(format.name))
            .ok_or_else(|| format!("known is {}", known()))
    };
    Offered { parser, names }
}

fn dialects() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().copied().filter(|format| format.agent.plain.is_some())
}

/// Returns the parser for the name of a code. An unknown code is refused later, when it is looked
/// up.
pub fn code() -> impl TypedValueParser<Value = String> {
    let names = || {
        let codes = Code::ALL.iter();
        codes.map(|code| PossibleValue::new(code.name()).help(code.title())).collect()
    };
    Offered { parser: StringValueParser::new(), names }
}

//! Rules of a JSON schema for the outline of a text. They decide quickly about nearly every record;
//! what they do not decide is left to the schema's validator, which also has the words for faults.

use super::outline::{Outline, sorts};
use crate::json::text;
use regex::bytes::Regex;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::ops::RangeInclusive;

/// The rules of a schema; the first ones are those of a whole text.
#[derive(Debug, Default)]
pub struct Rules(Vec<Rule>);

/// The demands on a value. Those about members and elements are for objects and arrays.
#[derive(Debug, Default)]
struct Rule {
    /// Sorts of value for which a keyword demands what is not decided here.
    undecided: u8,
    /// The sorts that are allowed.
    sorts: Option<u8>,
    /// Whether numbers must be integers.
    integer: bool,
    /// Numbers must be at least this.
    least: Option<i64>,
    /// Numbers of elements that are allowed.
    lengths: Option<RangeInclusive<usize>>,
    pattern: Option<Regex>,
    /// The values that are allowed, strings in quotes.
    values: Option<Vec<String>>,
    members: Vec<(String, Option<usize>)>,
    /// Bits of the members that must be there.
    required: u128,
    further: Option<usize>,
    elements: Option<usize>,
    /// Rules that the same value must follow, all of each list, any, or exactly one.
    all: Vec<usize>,
    any: Vec<Vec<usize>>,
    one: Vec<Vec<usize>>,
    none: Vec<usize>,
    /// Conditions, what follows from them, and what follows if they are false.
    conditions: Vec<[Option<usize>; 3]>,
}

/// Collects the answers of several demands that a value must meet.
struct All(Option<bool>);

impl All {
    /// Adds an answer; returns whether a demand is not met, so that others need no look.
    fn fails(&mut self, answer: Option<bool>) -> bool {
        match answer {
            Some(true) => {}
            None => self.0 = None,
            Some(false) => self.0 = Some(false),
        }
        answer == Some(false)
    }
}

impl Rules {
    /// Makes the rules of a schema.
    pub fn of(schema: &Value) -> Self {
        let mut making = Making { schema, rules: Vec::new(), known: HashMap::new() };
        making.rule(schema);
        Self(making.rules)
    }

    /// Whether a text follows the schema; `None` if that is not decided here.
    pub fn hold(&self, text: &[u8], outline: &mut Outline) -> Option<bool> {
        outline.read(text).then_some(())?;
        Checking { rules: &self.0, text, outline }.value(0, 0)
    }
}

/// A look at one text.
struct Checking<'a> {
    rules: &'a [Rule],
    text: &'a [u8],
    outline: &'a Outline,
}

impl Checking<'_> {
    fn value(&self, rule: usize, place: usize) -> Option<bool> {
        let (rule, item) = (self.rules.get(rule)?, self.outline.item(place));
        let spelling = item.of(self.text);
        if rule.sorts.is_some_and(|sorts| sorts & item.sort == 0) {
            return Some(false);
        }
        let mut all = All(if rule.undecided & item.sort == 0 { Some(true) } else { None });
        let is_number = item.sort == sorts::NUMBER;
        // `1.0` is an integer, too.
        if rule.integer && is_number && spelling.iter().any(|b| matches!(b, b'.' | b'e' | b'E')) {
            all.fails(None);
        }
        if let Some(values) = &rule.values {
            let found = match item.sort {
                sorts::STRING => values.iter().any(|value| {
                    let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
                    inner.is_some_and(|inner| text::is(spelling, inner))
                }),
                _ => values.iter().any(|value| value.as_bytes() == spelling),
            };
            // A number has many spellings.
            if all.fails(if found || !is_number { Some(found) } else { None }) {
                return Some(false);
            }
        }
        let own = match item.sort {
            sorts::OBJECT => self.members(rule, place),
            sorts::ARRAY => self.elements(rule, place),
            sorts::NUMBER => rule.least.map_or(Some(true), |least| {
                Some(std::str::from_utf8(spelling).ok()?.parse::<i64>().ok()? >= least)
            }),
            sorts::STRING => rule.pattern.as_ref().map_or(Some(true), |pattern| {
                let inner = spelling.get(1..spelling.len() - 1)?;
                (!inner.contains(&b'\\')).then(|| pattern.is_match(inner))
            }),
            _ => Some(true),
        };
        if all.fails(own) || self.further(rule, place, &mut all) { Some(false) } else { all.0 }
    }

    /// Checks the rules for the same value; returns whether it breaks one.
    fn further(&self, rule: &Rule, place: usize, all: &mut All) -> bool {
        let own = |rule: &usize| self.value(*rule, place);
        if rule.all.iter().any(|rule| all.fails(own(rule))) {
            return true;
        }
        for [condition, then, or] in &rule.conditions {
            let next = match condition.as_ref().and_then(own) {
                Some(holds) => if holds { then } else { or }.as_ref().map_or(Some(true), own),
                None => None,
            };
            if all.fails(next) {
                return true;
            }
        }
        let any = |rules: &Vec<usize>| match count(rules.iter().map(own)) {
            (1.., _) => Some(true),
            (0, 0) => Some(false),
            _ => None,
        };
        let one = |rules: &Vec<usize>| match count(rules.iter().map(own)) {
            (2.., _) | (0, 0) => Some(false),
            (1, 0) => Some(true),
            _ => None,
        };
        rule.any.iter().any(|rules| all.fails(any(rules)))
            || rule.one.iter().any(|rules| all.fails(one(rules)))
            || rule.none.iter().any(|rule| all.fails(own(rule).map(|holds| !holds)))
    }

    fn elements(&self, rule: &Rule, array: usize) -> Option<bool> {
        let count = || self.outline.elements(array).count();
        if rule.lengths.as_ref().is_some_and(|lengths| !lengths.contains(&count())) {
            return Some(false);
        }
        let Some(rule) = rule.elements else { return Some(true) };
        let mut all = All(Some(true));
        self.outline.elements(array).any(|element| all.fails(self.value(rule, element)));
        all.0
    }

    fn members(&self, rule: &Rule, object: usize) -> Option<bool> {
        if rule.members.is_empty() && rule.further.is_none() {
            return Some(true);
        }
        let (mut all, mut found) = (All(Some(true)), 0);
        for (name, value) in self.outline.members(object) {
            let name = name.of(self.text);
            let known = rule.members.iter().position(|(known, _)| text::is(name, known));
            if let Some(place) = known {
                let bit = 1_u128.checked_shl(place as u32)?;
                // The last of several members of one name counts.
                if found & bit != 0 {
                    return None;
                }
                found |= bit;
            }
            let own = known.and_then(|place| rule.members.get(place)?.1);
            let answer = match own.or(rule.further).map(|rule| self.value(rule, value)) {
                None => Some(true),
                // Whether a later member takes the place of this one is not looked at.
                Some(Some(false)) if own.is_none() => None,
                Some(answer) => answer,
            };
            if all.fails(answer) {
                return if self.is_twice(object, name) { None } else { Some(false) };
            }
        }
        if found & rule.required == rule.required { all.0 } else { Some(false) }
    }

    /// Whether an object may have another member of this name.
    fn is_twice(&self, object: usize, name: &[u8]) -> bool {
        let names = self.outline.members(object).map(|(name, _)| name.of(self.text));
        names.filter(|other| *other == name || other.contains(&b'\\')).count() > 1
    }
}

/// Returns how many answers are yes, and how many are missing.
fn count(answers: impl Iterator<Item = Option<bool>>) -> (usize, usize) {
    answers.fold((0, 0), |(yes, open), answer| match answer {
        Some(holds) => (yes + usize::from(holds), open),
        None => (yes, open + 1),
    })
}

/// Makes rules of a schema.
struct Making<'s> {
    schema: &'s Value,
    rules: Vec<Rule>,
    /// Rules of definitions, by their references.
    known: HashMap<&'s str, usize>,
}

impl<'s> Making<'s> {
    fn rule(&mut self, schema: &'s Value) -> usize {
        let place = self.rules.len();
        self.rules.push(Rule::default());
        let rule = match schema {
            Value::Object(keywords) => self.keywords(keywords),
            Value::Bool(false) => Rule { sorts: Some(0), ..Rule::default() },
            _ => Rule::default(),
        };
        if let Some(own) = self.rules.get_mut(place) {
            *own = rule;
        }
        place
    }

    fn list(&mut self, schemas: &'s Value) -> Vec<usize> {
        schemas.as_array().into_iter().flatten().map(|schema| self.rule(schema)).collect()
    }

    fn keywords(&mut self, keywords: &'s Map<String, Value>) -> Rule {
        let mut rule = Rule::default();
        for (name, value) in keywords {
            match name.as_str() {
                "$schema" | "$id" | "$defs" | "title" | "description" | "examples" | "format"
                | "contentEncoding" | "then" | "else" => {}
                "type" => rule.types(value),
                "const" => rule.choice(std::slice::from_ref(value)),
                "enum" => rule.choice(value.as_array().map(Vec::as_slice).unwrap_or_default()),
                "properties" => {
                    for (name, schema) in value.as_object().into_iter().flatten() {
                        let of_member = self.rule(schema);
                        rule.member(name, Some(of_member));
                    }
                }
                "required" => {
                    for name in value.as_array().into_iter().flatten().filter_map(Value::as_str) {
                        let place = rule.member(name, None);
                        rule.required |= 1_u128.checked_shl(place).unwrap_or_default();
                    }
                }
                "additionalProperties" => rule.further = Some(self.rule(value)),
                "items" => rule.elements = Some(self.rule(value)),
                "allOf" => rule.all.extend(self.list(value)),
                "anyOf" => rule.any.push(self.list(value)),
                "oneOf" => rule.one.push(self.list(value)),
                "not" => rule.none.push(self.rule(value)),
                "if" => {
                    let [then, or] = ["then", "else"]
                        .map(|name| keywords.get(name).map(|schema| self.rule(schema)));
                    rule.conditions.push([Some(self.rule(value)), then, or]);
                }
                "$ref" => match value.as_str().and_then(|name| self.definition(name)) {
                    Some(definition) => rule.all.push(definition),
                    None => rule.undecided = sorts::ANY,
                },
                "minLength" | "maxLength" => rule.undecided |= sorts::STRING,
                "pattern" => match value.as_str().and_then(|pattern| Regex::new(pattern).ok()) {
                    Some(pattern) => rule.pattern = Some(pattern),
                    None => rule.undecided |= sorts::STRING,
                },
                "minItems" | "maxItems" => {
                    let of = |name| keywords.get(name)?.as_u64().map(|count| count as usize);
                    let least = of("minItems").unwrap_or_default();
                    rule.lengths = Some(least..=of("maxItems").unwrap_or(usize::MAX));
                }
                "minimum" if value.is_i64() => rule.least = value.as_i64(),
                "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                    rule.undecided |= sorts::NUMBER;
                }
                _ => rule.undecided = sorts::ANY,
            }
        }
        rule
    }

    fn definition(&mut self, reference: &'s str) -> Option<usize> {
        if let Some(known) = self.known.get(reference) {
            return Some(*known);
        }
        let schema = self.schema.pointer(reference.strip_prefix('#')?)?;
        // A definition may refer to itself.
        self.known.insert(reference, self.rules.len());
        Some(self.rule(schema))
    }
}

impl Rule {
    fn types(&mut self, value: &Value) {
        let names = match value {
            Value::Array(names) => names.as_slice(),
            name => std::slice::from_ref(name),
        };
        let mut allowed = 0;
        for name in names.iter().filter_map(Value::as_str) {
            allowed |= match name {
                "null" => sorts::NULL,
                "boolean" => sorts::BOOLEAN,
                "number" | "integer" => sorts::NUMBER,
                "string" => sorts::STRING,
                "array" => sorts::ARRAY,
                "object" => sorts::OBJECT,
                _ => 0,
            };
        }
        self.sorts = Some(allowed);
        self.integer = names.contains(&Value::from("integer")) && !names.contains(&"number".into());
    }

    fn choice(&mut self, values: &[Value]) {
        let is_plain = |value: &Value| match value {
            Value::String(text) => !text.contains(['"', '\\']) && text.is_ascii(),
            Value::Array(_) | Value::Object(_) => false,
            _ => true,
        };
        if values.iter().all(is_plain) && self.values.is_none() {
            self.values = Some(values.iter().map(Value::to_string).collect());
        } else {
            self.undecided = sorts::ANY;
        }
    }

    /// Adds a member, or a rule to one; returns its place.
    fn member(&mut self, name: &str, rule: Option<usize>) -> u32 {
        let known = self.members.iter().position(|(known, _)| known == name);
        let place = known.unwrap_or(self.members.len());
        match self.members.get_mut(place) {
            Some((_, own)) => *own = (*own).or(rule),
            None => self.members.push((name.to_owned(), rule)),
        }
        if self.members.len() > u128::BITS as usize {
            self.undecided = sorts::ANY;
        }
        place as u32
    }
}

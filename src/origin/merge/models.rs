//! Models that answer in a session, for answers from formats that do not name them.

use crate::json::Json;
use crate::record::{Field, Kind, Node, Record};
use std::collections::HashMap;

/// The models that a session names.
#[derive(Default)]
pub struct Models {
    last: Option<(Json, Json)>,
    /// Provider of each model.
    providers: HashMap<Json, Json>,
}

impl Models {
    /// Notes the model that a record of the source names.
    pub fn note(&mut self, record: &Record) {
        let node = &record.node;
        let names = match record.kind {
            Kind::Session | Kind::ModelChange => true,
            Kind::Message => node.is(Field::Role, "assistant"),
            _ => false,
        };
        let own = |field| node.json(field).filter(|name| is_name(name)).cloned();
        if let (true, Some(provider), Some(model)) =
            (names, own(Field::Provider), own(Field::Model))
        {
            self.providers.insert(model.clone(), provider.clone());
            self.last = Some((provider, model));
        }
    }

    /// Gives a new answer without a model the current model of the session, and an answer with a
    /// model its provider.
    pub fn complete(&self, answer: &mut Node) {
        if !answer.is(Field::Role, "assistant") || answer.json(Field::Provider).is_some() {
            return;
        }
        let (provider, model) = match answer.json(Field::Model) {
            Some(model) => (self.providers.get(model), None),
            None => self.last.as_ref().map(|(provider, model)| (provider, model)).unzip(),
        };
        let (provider, model) = (provider.cloned(), model.cloned());
        answer.put(Field::Provider, provider);
        answer.put(Field::Model, model);
    }
}

fn is_name(name: &Json) -> bool {
    name.text().is_some_and(|name| !name.is_empty() && name != "unknown")
}

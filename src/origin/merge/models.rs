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
    /// Model to which the file changed, and the provider that the file names.
    file_model: Option<Json>,
    file_provider: Option<Json>,
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

    /// Notes the session's record of the file, or a change of the model that is new there.
    pub fn note_file(&mut self, record: &Record) {
        let own = |field| record.node.json(field).filter(|name| is_name(name)).cloned();
        match record.kind {
            Kind::Session => self.file_provider = own(Field::Provider),
            Kind::ModelChange => {
                self.file_model = own(Field::Model);
                self.file_provider = own(Field::Provider).or(self.file_provider.take());
            }
            _ => {}
        }
    }

    /// Gives a new answer without a model the model to which the file changed.
    pub fn complete_model(&self, answer: &mut Node) {
        if answer.is(Field::Role, "assistant") && answer.json(Field::Model).is_none() {
            answer.put(Field::Model, self.file_model.clone());
        }
    }

    /// Gives a new answer without a model the current model of the session, and an answer with a
    /// model its provider.
    pub fn complete(&self, answer: &mut Node) {
        if !answer.is(Field::Role, "assistant") || answer.json(Field::Provider).is_some() {
            return;
        }
        let (provider, model) = match answer.json(Field::Model) {
            Some(model) => (self.provider_of(model), None),
            None => self.last.as_ref().map(|(provider, model)| (provider, model)).unzip(),
        };
        let (provider, model) = (provider.cloned(), model.cloned());
        answer.put(Field::Provider, provider);
        if let Some(model) = model {
            answer.set(Field::Model, model);
        }
    }

    /// Gives a change of the model its provider, if one is known.
    pub fn complete_change(&self, change: &mut Node) {
        if change.json(Field::Provider).is_none()
            && let Some(model) = change.json(Field::Model)
        {
            let provider = self.provider_of(model).cloned();
            change.put(Field::Provider, provider.or(Some(Json::constant("\"unknown\""))));
        }
    }

    fn provider_of(&self, model: &Json) -> Option<&Json> {
        self.providers.get(model).or(self.file_provider.as_ref())
    }
}

fn is_name(name: &Json) -> bool {
    name.text().is_some_and(|name| !name.is_empty() && name != "unknown")
}

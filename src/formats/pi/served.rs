//! The interface of the model with which a session continues.

use crate::format::Interface;

/// The interface of the last model, if it is known. The change to another model names its provider
/// only, and most providers have several interfaces.
#[derive(Debug, Default)]
pub struct Served {
    interface: Option<Interface>,
    provider: Option<String>,
}

impl Served {
    /// Notes an answer of a model, by the names of its provider and its interface.
    pub fn answer(&mut self, provider: Option<String>, api: Option<String>) {
        self.interface = match api.as_deref().unwrap_or_default() {
            "anthropic-messages" => Some(Interface::AnthropicMessages),
            api if api.contains("openai") => Some(Interface::ChatCompletions),
            _ => of_provider(provider.as_deref()),
        };
        self.provider = provider;
    }

    /// Notes the change to a model of this provider.
    pub fn change(&mut self, provider: Option<String>) {
        if provider != self.provider || self.interface.is_none() {
            self.interface = of_provider(provider.as_deref());
        }
        self.provider = provider;
    }

    /// Returns the interface.
    pub fn interface(&self) -> Option<Interface> {
        self.interface
    }
}

fn of_provider(provider: Option<&str>) -> Option<Interface> {
    (provider == Some("anthropic")).then_some(Interface::AnthropicMessages)
}

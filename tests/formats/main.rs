//! What each format is: its own files, its software as judge, the grammars below it.

mod agent_orchestrator;
mod ahead;
mod atif;
mod claude_chains;
mod claude_code;
mod claude_eras;
mod claude_gaps;
mod claude_made;
mod codelia;
mod codex;
mod codex_sent;
#[path = "../common/mod.rs"]
mod common;
mod connectonion;
mod copilot_cli;
mod copilot_real;
mod corpus;
mod gemini_cli;
mod golden;
mod json;
mod opencode;
mod opencode_home;
mod parsed_ahead;
mod pi;
mod rules;
mod scanner;
mod schemas;
mod styles;
mod toys;
mod yaml;

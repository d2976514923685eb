//! The table of branches as a view lists it, and the words in which items name branches.

use super::head::Head;
use super::{Branch, Item};

/// Returns the name of a branch in headings.
pub fn name(branch: &Branch) -> String {
    match branch.number {
        0 => "the current branch".to_owned(),
        number => format!("branch {number}"),
    }
}

/// Notes from item to item whether the branch changes.
#[derive(Debug, Default)]
pub struct Change {
    last: Option<u32>,
}

impl Change {
    /// Returns the branch that begins or goes on at an item, where the item before it is on another
    /// one. Sub-agents are on no branch.
    pub fn at<'h>(&mut self, head: &'h Head, item: &Item) -> Option<&'h Branch> {
        if item.of_sub_agent || !head.is_branched() {
            return None;
        }
        let branch = head.branches.get(item.branch as usize).filter(|own| !own.of_sub_agent)?;
        let last = self.last.replace(item.branch);
        let begins = last.is_none() && item.branch == 0;
        (last != Some(item.branch) && !begins).then_some(branch)
    }
}

/// Returns the heading where the items of a branch begin or go on.
pub fn heading(branch: &Branch) -> String {
    match (branch.number, branch.title.as_str()) {
        (0, _) => "Back on the current branch".to_owned(),
        (number, "") => format!("Branch {number}"),
        (number, title) => format!("Branch {number}: {title}"),
    }
}

/// Describes a branch in one line: its number, where it leaves, and its first question.
pub fn description(branch: &Branch) -> String {
    let entries = if branch.entries == 1 { "entry" } else { "entries" };
    let title = match branch.title.as_str() {
        "" => String::new(),
        title => format!(": {title}"),
    };
    format!("{} ({} {entries}){title}", name(branch), branch.entries)
}

/// Returns the branch of the user from which the item of a sub-agent leaves, and the ordinal of the
/// place there; of any other item its own.
pub fn own_branch(head: &Head, branch: u32, ordinal: u32) -> (u32, u32) {
    let (mut branch, mut at) = (branch, ordinal);
    for _ in 0..head.branches.len() {
        let Some(own) = head.branches.get(branch as usize).filter(|own| own.of_sub_agent) else {
            break;
        };
        (branch, at) = (own.parent.unwrap_or(0), own.fork.unwrap_or(0));
    }
    (branch, at)
}

//! The branches of a session's tree, and the branch of each entry.

use crate::tree::{self, Bits, Path, Stop};
use serde::Serialize;

/// A branch: from a fork, or a root, straight to its end.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Branch {
    /// Number in the session; 0 is the current branch.
    pub number: u32,
    /// Branch that it leaves; `None` for a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// Ordinal of the entry behind which it leaves.
    #[serde(skip)]
    pub fork: Option<u32>,
    /// Ordinal of its first entry.
    #[serde(skip)]
    pub first: u32,
    /// Number of its entries.
    pub entries: u64,
    /// Whether it is the work of a sub-agent, which is no branch for the user.
    pub of_sub_agent: bool,
    /// Number of the turns before it.
    #[serde(skip)]
    pub turns_before: u64,
    /// First question in it, in one line.
    pub title: String,
}

/// The branches, and the branch of each entry.
#[derive(Debug, Default)]
pub struct Table {
    /// The branches, by number.
    pub list: Vec<Branch>,
    /// First ordinals of runs of entries, ascending, with their branches.
    runs: Vec<(u32, u32)>,
    /// Entries behind which branches leave, with these, ascending.
    forks: Vec<(u32, u32)>,
}

/// A fork of which not all children were visited.
struct Fork {
    ordinal: u32,
    branch: u32,
    depth: u32,
}

impl Table {
    /// Divides a tree into branches. `of_sub_agents` are the entries of sub-agents.
    pub fn new(tree: &tree::Branches, main: &Path, of_sub_agents: &Bits) -> Self {
        let mut table = Self { list: vec![Branch::default()], ..Self::default() };
        let mut open: Vec<Fork> = Vec::new();
        let mut before: Option<(Stop, u32)> = None;
        let mut named = false;
        tree.walk(main, &mut |stop| {
            let branch = match (stop.root, stop.begins, before) {
                (true, ..) if stop.depth == 0 && !named => {
                    named = true;
                    table.begin(0, None, stop.ordinal, of_sub_agents)
                }
                (true, ..) => table.begin_new(None, stop.ordinal, of_sub_agents),
                (false, true, _) => match open.pop() {
                    Some(fork) if stop.depth == fork.depth => fork.branch,
                    Some(fork) => {
                        let from = Some((fork.branch, fork.ordinal));
                        open.push(fork);
                        table.begin_new(from, stop.ordinal, of_sub_agents)
                    }
                    None => 0,
                },
                (false, false, Some((_, branch))) => branch,
                (false, false, None) => 0,
            };
            if stop.children > 1 {
                open.push(Fork { ordinal: stop.ordinal, branch, depth: stop.depth });
            }
            let follows =
                before.is_some_and(|(last, own)| own == branch && last.ordinal + 1 == stop.ordinal);
            if !follows {
                table.runs.push((stop.ordinal, branch));
            }
            if let Some(own) = table.list.get_mut(branch as usize) {
                own.entries += 1;
            }
            before = Some((stop, branch));
            true
        });
        table.runs.sort_unstable();
        table.forks.sort_unstable();
        if table.list.iter().all(|branch| branch.parent.is_none() && branch.entries == 1) {
            // Entries without any links are a list.
            let entries = table.list.len() as u64;
            let whole = Branch { entries, ..Branch::default() };
            return Self { list: vec![whole], runs: vec![(0, 0)], ..Self::default() };
        }
        table
    }

    fn begin_new(&mut self, from: Option<(u32, u32)>, first: u32, of_sub_agents: &Bits) -> u32 {
        let number = self.list.len() as u32;
        self.list.push(Branch::default());
        self.begin(number, from, first, of_sub_agents)
    }

    fn begin(
        &mut self,
        number: u32,
        from: Option<(u32, u32)>,
        first: u32,
        of_sub_agents: &Bits,
    ) -> u32 {
        let (parent, fork) = (from.map(|from| from.0), from.map(|from| from.1));
        self.forks.extend(fork.map(|fork| (fork, number)));
        if let Some(branch) = self.list.get_mut(number as usize) {
            let of_sub_agent = of_sub_agents.contains(first);
            *branch = Branch { number, parent, fork, first, of_sub_agent, ..Branch::default() };
        }
        number
    }

    /// Returns the branch of an entry.
    pub fn of(&self, ordinal: u32) -> u32 {
        let after = self.runs.partition_point(|(first, _)| *first <= ordinal);
        after.checked_sub(1).and_then(|place| self.runs.get(place)).map_or(0, |run| run.1)
    }

    /// Returns the branches of the user that leave behind an entry.
    pub fn leaving(&self, ordinal: u32) -> impl Iterator<Item = &Branch> {
        let begin = self.forks.partition_point(|(fork, _)| *fork < ordinal);
        let own = self.forks.iter().skip(begin).take_while(move |(fork, _)| *fork == ordinal);
        let branches = own.filter_map(|(_, branch)| self.list.get(*branch as usize));
        branches.filter(|branch| !branch.of_sub_agent)
    }

    /// Returns the branches on the way to the end of a branch, each with the last entry that is on
    /// the way.
    pub fn way(&self, to: u32) -> Vec<(u32, u32)> {
        let mut way = vec![(to, u32::MAX)];
        let mut here = self.list.get(to as usize);
        while let Some((parent, fork)) = here.and_then(|branch| branch.parent.zip(branch.fork)) {
            way.push((parent, fork));
            here = self.list.get(parent as usize).filter(|_| way.len() <= self.list.len());
        }
        way
    }

    /// Counts the turns before each branch; `questions` are the first entries of all turns,
    /// ascending.
    pub fn count_turns(&mut self, questions: &[u32]) {
        let mut counts: Vec<Vec<u32>> = vec![Vec::new(); self.list.len()];
        for question in questions {
            if let Some(own) = counts.get_mut(self.of(*question) as usize) {
                own.push(*question);
            }
        }
        // A branch leaves one with a lower number, or the current one.
        for number in 1..self.list.len() {
            let before = |branch: &Branch| {
                let (parent, fork) = branch.parent.zip(branch.fork)?;
                let own = counts.get(parent as usize)?.partition_point(|at| *at <= fork) as u64;
                Some(self.list.get(parent as usize)?.turns_before + own)
            };
            let turns = self.list.get(number).and_then(before).unwrap_or(0);
            if let Some(branch) = self.list.get_mut(number) {
                branch.turns_before = turns;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use crate::position::Position;
    use crate::tree::Shape;

    /// A tree of entries `a`, `b` … with these parents.
    fn table(parents: &[&str]) -> Table {
        let mut shape = Shape::default();
        for (id, parent) in ('a'..).zip(parents) {
            let parent =
                if parent.is_empty() { Json::constant("null") } else { Json::string(parent) };
            shape.node(&Json::string(&id.to_string()), Some(&parent), Position::default());
        }
        let tree = shape.finish();
        let path = tree.path(None).unwrap_or_default();
        Table::new(&tree.into_branches(), &path, &Bits::default())
    }

    #[test]
    fn every_entry_has_a_branch() {
        // a ┬ b ┬ c
        //   │   └ d
        //   └ e – f, the current branch
        let mut table = table(&["", "a", "b", "b", "a", "e"]);
        let all: Vec<_> = (0..6).map(|ordinal| table.of(ordinal)).collect();
        assert_eq!(all, [0, 1, 2, 1, 0, 0]);
        let leaving = |at| table.leaving(at).map(|branch| branch.number).collect::<Vec<_>>();
        assert_eq!((leaving(0), leaving(1), leaving(4)), (vec![1], vec![2], vec![]));
        assert_eq!(table.way(2), [(2, u32::MAX), (1, 1), (0, 0)]);
        table.count_turns(&[0, 1, 2, 4]);
        let before: Vec<_> = table.list.iter().map(|branch| branch.turns_before).collect();
        assert_eq!(before, [0, 1, 2]);
        assert_eq!(table.list.iter().map(|branch| branch.entries).sum::<u64>(), 6);
    }

    #[test]
    fn entries_without_links_are_one_branch() {
        let table = table(&["", "", ""]);
        assert_eq!((table.list.len(), table.of(0), table.of(2)), (1, 0, 0));
    }

    #[test]
    fn a_second_root_begins_a_branch() {
        let table = table(&["", "a", "", "c"]);
        assert_eq!((0..4).map(|ordinal| table.of(ordinal)).collect::<Vec<_>>(), [1, 1, 0, 0]);
        assert_eq!(table.way(1), [(1, u32::MAX)]);
    }
}

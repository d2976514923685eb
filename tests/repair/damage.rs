//! Damage of all known kinds, from a seed.

/// Numbers that follow from a seed (splitmix64).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Damages a file in one of the known ways; gives its name.
pub fn damage(session: &mut Vec<u8>, random: &mut Random) -> &'static str {
    let ends: Vec<usize> = memchr::memchr_iter(b'\n', session).collect();
    let line = random.below(ends.len());
    let end = ends.get(line).copied().unwrap_or(0);
    let start = if line == 0 { 0 } else { ends[line - 1] + 1 };
    let at = random.below(session.len());
    match random.below(8) {
        0 => {
            session.splice(end..session.len().min(end + 1), []);
            "glued"
        }
        1 => {
            let to = session.len().min(at + random.below(700));
            session[at..to].fill(0);
            "NUL run"
        }
        2 => {
            if let Some(byte) = session.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
            "flipped bit"
        }
        3 => {
            let last = ends.get(line + random.below(6)).or(ends.last()).copied().unwrap_or(0);
            let block = session[start..(last + 1).min(session.len())].to_vec();
            session.splice(start..start, block);
            "block twice"
        }
        4 => {
            session.splice(start..session.len().min(end + 1), []);
            "lost line"
        }
        5 => {
            session.splice(at..at, [0xff, 0xc3]);
            "invalid UTF-8"
        }
        6 => {
            let cut = start + random.below(end.saturating_sub(start));
            session.splice(cut..session.len().min(end + 1), []);
            "torn and glued"
        }
        _ => {
            // A second writer's line in the middle of another's.
            let inner = session[start..session.len().min(end + 1)].to_vec();
            let into = ends.get(random.below(ends.len())).copied().unwrap_or(0);
            session.splice(into.saturating_sub(20)..into.saturating_sub(20), inner);
            "interleaved"
        }
    }
}

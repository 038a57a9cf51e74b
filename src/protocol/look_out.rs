//! Whether the writer stays awake for a moment before it sleeps, and before it takes the first command that comes.
//!
//! To be woken takes some 30 us, and to wake somebody a few: much beside a quick sync. Callers mostly send the next
//! command as soon as they have their answer. One who sends several sends them one right behind the other, and if the
//! writer runs off with the first, the rest waits for two syncs.

use std::time::Duration;

use super::backoff::Backoff;

/// A group so small was for one or two callers: they are always worth a look-out, which saves a lone client half of its
/// round trip. For more it has to pay off, since it takes the time of a core from them.
const SMALL_GROUP: usize = 2;
/// How long the writer looks out. It does so once after a group: an idle store sleeps.
const LOOK_OUT: Duration = Duration::from_micros(50);

/// What the writer learns from one group to the next.
#[derive(Default)]
pub(crate) struct LookOutPolicy {
    /// The group that was taken last, if there was no look-out after it.
    group: Option<usize>,
    after_large: Backoff,
    company: Backoff,
}

impl LookOutPolicy {
    /// A group of so many commands was taken.
    pub(crate) fn taken(&mut self, commands: usize) {
        self.group = Some(commands);
    }

    /// There is nothing to do: how long to look out, if at all.
    pub(crate) fn next(&mut self) -> Option<Duration> {
        let group = self.group?;
        let is_worth_it = group <= SMALL_GROUP || self.after_large.is_due();
        if !is_worth_it {
            self.group = None;
        }
        is_worth_it.then_some(LOOK_OUT)
    }

    /// Something came while the writer looked out, or nothing. Gives whether what came may be the first of several.
    pub(crate) fn looked_out(&mut self, has_come: bool) -> bool {
        let group = self.group.take();
        if group.is_some_and(|group| group > SMALL_GROUP) {
            self.after_large.tried(has_come);
        }
        has_come && self.company.is_due()
    }

    /// Others came right behind it, or none.
    pub(crate) fn waited_for_company(&mut self, has_come: bool) {
        self.company.tried(has_come);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_look_out_after_a_group_and_none_without() {
        let mut policy = LookOutPolicy::default();
        assert_eq!(policy.next(), None);
        policy.taken(1);
        assert_eq!(policy.next(), Some(LOOK_OUT));
        policy.looked_out(false);
        assert_eq!(policy.next(), None);
    }

    #[test]
    fn large_groups_are_worth_it_while_it_pays_off_and_small_ones_always() {
        let mut policy = LookOutPolicy::default();
        let mut looks_out = |group, has_come| {
            policy.taken(group);
            policy.next().inspect(|_| _ = policy.looked_out(has_come)).is_some()
        };
        assert!(looks_out(64, true) && looks_out(64, true) && looks_out(64, false));
        assert!(!looks_out(64, true) && looks_out(64, false));
        assert!((0..100).all(|_| looks_out(SMALL_GROUP, false)), "they tell nothing of large ones");
        assert_eq!([64; 3].map(|group| looks_out(group, false)), [false, false, true]);
    }

    #[test]
    fn company_is_waited_for_while_it_comes() {
        let mut policy = LookOutPolicy::default();
        let mut waits = |has_come, company| {
            policy.taken(1);
            let waits = policy.next().is_some() && policy.looked_out(has_come);
            if waits {
                policy.waited_for_company(company);
            }
            waits
        };
        assert!(!waits(false, false), "nothing has come");
        assert!(waits(true, true) && waits(true, true) && waits(true, false));
        assert!(!waits(true, true) && waits(true, true));
    }
}

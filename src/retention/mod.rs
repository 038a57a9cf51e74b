//! Rows that go away by themselves: policies, and the chores that carry them out.
//!
//! A policy is data, declared on the builder, so that it holds from the first moment. While the store opens, the schema
//! is read and an index is chosen for each (`plan`, made in the writer's folder): without one a sweep would read the
//! whole table again and again. Then each policy is a chore of the keeper: `sweep` for rules that remove the oldest
//! rows first, `newest` for the newest of each group. What they delete they find anew in each slice, within the
//! transaction that deletes it, so nothing that others do in between makes them remove a row too many, and after a
//! crash there is nothing to take up again.

mod clock;
mod grown;
mod newest;
mod plan;
mod policy;
mod space;
mod sweep;

pub(crate) use clock::WallClock;
pub(crate) use grown::GroupWatch;
pub(crate) use plan::{SweepIndex, SweepPlan, SweepTable};
pub(crate) use policy::Rule;

pub use policy::{Retention, RetentionOf, TimeUnit};

use crate::keeper::Chore;

/// The chore that carries a policy out.
pub(crate) fn chore(plan: SweepPlan, clock: WallClock) -> Box<dyn Chore> {
    match plan.rule {
        Rule::Newest { .. } => Box::new(newest::NewestChore::new(plan)),
        _ => Box::new(sweep::SweepChore::new(plan, clock)),
    }
}

/// The chore that gives freed space back.
pub(crate) fn space_chore() -> Box<dyn Chore> {
    Box::new(space::SpaceChore::new())
}

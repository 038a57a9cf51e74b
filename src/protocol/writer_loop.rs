//! The writer's loop: upkeep, take, carry out, answer, until the queue is closed or the engine must stop.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::foreign_code::panic_message;
use super::group::GroupRun;
use super::ledger::Sequencer;
use super::limits::GroupLimits;
use super::queue::{CommandQueue, Take};
use super::storage::{Readiness, ReasonOf, Storage};

/// Runs the writer until nothing is left to do. An error is the reason why it stopped before that.
///
/// Whatever happens, also a panic of the storage: every command that was admitted is answered when this
/// returns, and after an error the queue refuses everything with its reason.
pub(crate) fn run<S: Storage>(
    queue: &CommandQueue<S::Command>,
    storage: &mut S,
    limits: GroupLimits,
    sequencer: Sequencer,
) -> Result<(), ReasonOf<S>> {
    let mut group = GroupRun::new(limits, sequencer);
    // Unwind safe: after a panic neither the storage nor the group is used again, but to answer.
    let end = catch_unwind(AssertUnwindSafe(|| serve(queue, storage, &limits, &mut group)));
    let reason = match end {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(reason)) => reason,
        Err(payload) => S::panicked(&panic_message(payload)),
    };
    // Refuse first: who hears of the failure and calls again must not be admitted any more.
    queue.stop(reason.clone());
    group.answer_unknown(queue, &reason);
    Err(reason)
}

fn serve<S: Storage>(
    queue: &CommandQueue<S::Command>,
    storage: &mut S,
    limits: &GroupLimits,
    group: &mut GroupRun<S>,
) -> Result<(), ReasonOf<S>> {
    let mut idle = false;
    loop {
        let patience = match storage.upkeep(idle)? {
            Readiness::Ready { patience } => patience,
            Readiness::Stalled(time) => {
                idle = false;
                if queue.pause(time) {
                    break;
                }
                continue;
            }
        };
        let take = queue.take_group(limits, patience, &mut group.gather, &mut group.look_out);
        idle = take == Take::Idle;
        match take {
            Take::Group => group.carry_out(queue, storage)?,
            Take::Idle => {}
            Take::Finished => break,
        }
    }
    group.give_up_unfinished(queue);
    Ok(())
}

//! What one row costs, as the difference of two runs.

use crate::GROUP;
use crate::callgrind::Profile;
use crate::program::Program;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use walwright_benches::Result;

/// Functions of the allocator; who calls the first of them asked for memory.
const ALLOCATORS: &[&str] = &["malloc", "calloc", "realloc"];
/// What stands between the allocator and who asked.
const BETWEEN: &[&str] = &["__rdl_alloc", "__rdl_realloc", "__rust_alloc", "__rust_realloc", "RawVecInner"];

/// What one row costs.
#[derive(Serialize)]
pub struct Cost {
    pub program: &'static str,
    pub instructions: f64,
    /// Of each function by itself.
    #[serde(skip)]
    pub own: BTreeMap<String, f64>,
    /// How often each function calls each other one.
    #[serde(skip)]
    calls: BTreeMap<(String, String), f64>,
}

impl Cost {
    /// Runs `program` with few groups and with more.
    pub fn of(program: Program, folder: &Path, (few, many): (u64, u64)) -> Result<Self> {
        let less = Profile::of(program, few, folder)?;
        let more = Profile::of(program, many, folder)?;
        let rows = ((many - few) * GROUP) as f64;
        let per_row = |more: u64, less: Option<&u64>| (more as f64 - less.map_or(0.0, |n| *n as f64)) / rows;
        let own = |(name, count): (&String, &u64)| (name.clone(), per_row(*count, less.own.get(name)));
        let calls =
            |(edge, count): (&(String, String), &u64)| (edge.clone(), per_row(*count, less.calls.get(edge)));
        Ok(Self {
            program: program.name(),
            instructions: per_row(more.instructions, Some(&less.instructions)),
            own: more.own.iter().map(own).collect(),
            calls: more.calls.iter().map(calls).collect(),
        })
    }

    /// Takes away what something else costs that is part of it.
    pub fn without(&mut self, other: &Self) {
        self.instructions -= other.instructions;
        for (name, cost) in &mut self.own {
            *cost -= other.own.get(name).copied().unwrap_or(0.0);
        }
        for (edge, calls) in &mut self.calls {
            *calls -= other.calls.get(edge).copied().unwrap_or(0.0);
        }
    }

    /// How often the functions whose names hold `name` are called.
    pub fn calls_of(&self, name: &str) -> f64 {
        self.calls.iter().filter(|((_, callee), _)| callee.contains(name)).map(|(_, calls)| calls).sum()
    }

    /// Who asks for memory, and how often; the greediest first.
    pub fn allocations(&self) -> Vec<(String, f64)> {
        let between = |name: &str| BETWEEN.iter().any(|part| name.contains(part));
        let mut found = BTreeMap::new();
        for ((caller, callee), calls) in &self.calls {
            if (ALLOCATORS.contains(&callee.as_str()) || between(callee)) && !between(caller) {
                *found.entry(caller.clone()).or_insert(0.0) += calls;
            }
        }
        let mut found: Vec<_> = found.into_iter().filter(|(_, calls)| *calls >= 0.05).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found
    }
}

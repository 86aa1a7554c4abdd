//! Times steps and prints what became of each. It must not know what a step does.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// The steps so far, in order.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
}

#[derive(Debug)]
enum Outcome {
    Passed(String),
    Failed(String),
}

impl Summary {
    /// Runs one step; what it returns is shown beside its name. Returns whether it passed.
    pub(crate) fn step(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<String>,
    ) -> bool {
        println!("\n== {name}");
        let started = Instant::now();
        let outcome = match work() {
            Ok(note) => Outcome::Passed(note),
            Err(error) => Outcome::Failed(format!("{error:#}")),
        };
        let passed = matches!(outcome, Outcome::Passed(_));
        self.steps.push(Step {
            name,
            outcome,
            took: started.elapsed(),
        });
        passed
    }

    /// Prints every step and fails, naming them, when any failed.
    pub(crate) fn finish(self) -> Result<()> {
        println!("\n== summary");
        for step in &self.steps {
            let (word, note) = match &step.outcome {
                Outcome::Passed(note) => ("ok", note),
                Outcome::Failed(note) => ("FAILED", note),
            };
            println!(
                "{:<10} {word:<6} {:>7.1} s  {note}",
                step.name,
                step.took.as_secs_f64()
            );
        }
        let failed: Vec<_> = self
            .steps
            .iter()
            .filter(|step| step.failed())
            .map(|s| s.name)
            .collect();
        if failed.is_empty() {
            return Ok(());
        }
        bail!("failed: {}", failed.join(", "))
    }
}

impl Step {
    fn failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_fails_and_names_the_steps_that_failed() {
        let mut summary = Summary::default();
        assert!(summary.step("first", || Ok(String::new())));
        assert!(!summary.step("second", || bail!("broken")));
        assert_eq!(summary.finish().unwrap_err().to_string(), "failed: second");
    }

    #[test]
    fn a_summary_of_passed_steps_passes() {
        let mut summary = Summary::default();
        summary.step("only", || Ok("3 passed".to_owned()));
        summary.finish().unwrap();
    }
}

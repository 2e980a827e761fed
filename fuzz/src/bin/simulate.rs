//! The command line of the simulation: hours of storage beside a plain model.

use clap::Parser;
use keyward_fuzz::simulation;

/// Lets storage live for hours of simulated time beside a plain model
#[derive(Parser)]
struct Arguments {
    /// For how long, in hours of simulated time
    #[arg(long, default_value_t = 24)]
    hours: u64,
    /// What chance follows from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[allow(clippy::print_stdout, reason = "this is what the program is for")]
fn main() {
    let Arguments { hours, seed } = Arguments::parse();
    let tally = simulation::run(seed, hours);
    println!("{hours} hours from seed {seed}, nothing found: {tally:?}");
}

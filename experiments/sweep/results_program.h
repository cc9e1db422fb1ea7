// Program that the build rules run to plan grids and to report on runs:
//
//   train_results plan SWEEP.textproto OUT...
//     checks a sweep, and writes the overrides of each arm, one per line;
//   train_results report SWEEP.textproto LABEL OUT.md OUT.csv OUT.html
//       OUT.jsonl RUN...
//     writes an ablation report and the records of its finished runs. The
//     runs must be in the order of ExpandSweep();
//   train_results claims CLAIMS.textproto OUT.md LABEL=STATUS.json...
//     compares published numbers with our results;
//   train_results check STATUS.json BOUND...
//     checks bounds on the metrics of a run.
#ifndef EXPERIMENTS_SWEEP_RESULTS_PROGRAM_H_
#define EXPERIMENTS_SWEEP_RESULTS_PROGRAM_H_

#include "experiments/tasks/plugins.h"

namespace regard {

// Runs the program. Returns the exit code.
int ResultsMain(int argc, char** argv, const Plugins& plugins);

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_RESULTS_PROGRAM_H_

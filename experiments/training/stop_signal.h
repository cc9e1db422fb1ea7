// Ctrl-C and SIGTERM as something to ask about between two steps.
#ifndef EXPERIMENTS_TRAINING_STOP_SIGNAL_H_
#define EXPERIMENTS_TRAINING_STOP_SIGNAL_H_

#include <atomic>

namespace regard {

// From now on SIGINT and SIGTERM only set the flag; a second one ends the
// program at once. The flag lives as long as the program.
const std::atomic<int>* CatchStopSignals();

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_STOP_SIGNAL_H_

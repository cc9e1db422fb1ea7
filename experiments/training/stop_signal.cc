#include "experiments/training/stop_signal.h"

#include <signal.h>

namespace regard {

namespace {

// A handler can reach nothing but a global.
std::atomic<int> stop_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

// A second signal, of either kind, does what it always did.
void Remember(int number) {
  stop_signal = number;
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

}  // namespace

const std::atomic<int>* CatchStopSignals() {
  struct sigaction action = {};
  action.sa_handler = &Remember;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return &stop_signal;
}

}  // namespace regard

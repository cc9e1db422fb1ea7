#include "experiments/stop_signal.h"

#include <signal.h>

namespace regard {

namespace {

// A handler can reach nothing but a global.
std::atomic<int> stop_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void Remember(int signal) { stop_signal = signal; }

}  // namespace

const std::atomic<int>* CatchStopSignals() {
  struct sigaction action = {};
  action.sa_handler = &Remember;
  // The handler is gone once it has run.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return &stop_signal;
}

}  // namespace regard

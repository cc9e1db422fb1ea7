// A profile of training: the time of each operation in each scope, and the
// floating-point operations of its matrix products. Each operation has separate
// entries for its forward and its backward pass.
#ifndef AUTODIFF_PROFILE_H_
#define AUTODIFF_PROFILE_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "absl/types/span.h"
#include "autodiff/tape_observer.h"
#include "autodiff/var.h"

namespace regard {

// Observes one tape. Operations run one after another, so the time between two
// records belongs to the second record.
class TapeProfile : public TapeObserver<float> {
 public:
  struct Entry {
    int64_t calls = 0;
    double seconds = 0;
    double flops = 0;
  };

  using Now = std::chrono::steady_clock::time_point (*)();
  explicit TapeProfile(Now now = &std::chrono::steady_clock::now) : now_(now) {}

  // Starts the clock of the next operation.
  void OnReset() override;
  void OnForwardDone(const char* name, const ScopeName* scope,
                     absl::Span<const Var<float>> outs) override;
  void OnBackwardDone(const char* name, const ScopeName* scope) override;

  // The entries by name, such as "decoder/attention/AdditiveScores forward".
  // Scopes that differ only in their index share an entry.
  const std::map<std::string, Entry>& entries() const { return entries_; }

 private:
  // Adds the time since the last call of OnReset() to the entry `name`, such as
  // "decoder/Add forward". Restarts the clock.
  void AddTimeTo(const std::string& name);

  const Now now_;
  std::map<std::string, Entry> entries_;
  std::chrono::steady_clock::time_point last_;
  int64_t last_flops_ = 0;
};

// Returns the floating-point operations per second of this core, measured now
// with products of large matrices. Takes a few milliseconds.
double MeasuredPeakFlops();

// Returns a table of the sum of the profiles, with the longest entry first.
// `seconds` is the wall time of all steps, which ran on `threads` threads.
// Rates are fractions of `peak`, the rate of one core.
std::string ProfileText(absl::Span<const TapeProfile* const> profiles,
                        double seconds, int threads,
                        double peak = MeasuredPeakFlops());

}  // namespace regard

#endif  // AUTODIFF_PROFILE_H_

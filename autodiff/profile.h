// Where the time of training goes: per operation and scope, forward and
// backward, with floating-point operations of matrix products.
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

// Watches one tape. Operations run one after another, so the time between two
// records is the second one's.
class TapeProfile : public TapeObserver<float> {
 public:
  struct Entry {
    int64_t calls = 0;
    double seconds = 0;
    double flops = 0;
  };

  using Now = std::chrono::steady_clock::time_point (*)();
  explicit TapeProfile(Now now = &std::chrono::steady_clock::now) : now_(now) {}

  // The next operation begins now.
  void OnReset() override;
  void OnForward(const char* name, const ScopeName* scope,
                 absl::Span<const Var<float>> outs) override;
  void OnBackward(const char* name, const ScopeName* scope) override;

  // By "decoder/attention/AdditiveScores forward"; members of a series of
  // scopes count as one.
  const std::map<std::string, Entry>& entries() const { return entries_; }

 private:
  // An operation named "decoder/Add forward" has run.
  void Count(const std::string& name);

  const Now now_;
  std::map<std::string, Entry> entries_;
  std::chrono::steady_clock::time_point last_;
  int64_t last_flops_ = 0;
};

// Floating-point operations a second of the product of large matrices on this
// core, measured now in a few milliseconds.
double MeasuredPeakFlops();

// A table of the profiles added up, longest first. `seconds` is the wall time
// of all steps; `threads` ran them. Rates are shares of `peak` of a core.
std::string ProfileText(absl::Span<const TapeProfile* const> profiles,
                        double seconds, int threads,
                        double peak = MeasuredPeakFlops());

}  // namespace regard

#endif  // AUTODIFF_PROFILE_H_

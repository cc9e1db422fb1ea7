#include "autodiff/profile.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autodiff/kernels/gemm.h"

namespace regard {

namespace {

using Clock = std::chrono::steady_clock;

// Returns the path without the indices of scopes in a series, such as
// "decoder/step/attention/".
std::string Path(const ScopeName* scope) {
  if (scope == nullptr) return "";
  return absl::StrCat(Path(scope->parent), scope->name, "/");
}

}  // namespace

void TapeProfile::OnReset() {
  last_ = now_();
  last_flops_ = GemmFlops();
}

void TapeProfile::OnForwardDone(const char* name, const ScopeName* scope,
                                absl::Span<const Var<float>>) {
  AddTimeTo(absl::StrCat(Path(scope), name, " forward"));
}

void TapeProfile::OnBackwardDone(const char* name, const ScopeName* scope) {
  AddTimeTo(absl::StrCat(Path(scope), name, " backward"));
}

void TapeProfile::AddTimeTo(const std::string& name) {
  const auto now = now_();
  Entry& entry = entries_[name];
  ++entry.calls;
  entry.seconds += std::chrono::duration<double>(now - last_).count();
  entry.flops += static_cast<double>(GemmFlops() - last_flops_);
  // Restarts the clock, so that the search for the entry does not count as time
  // of the next operation.
  OnReset();
}

double MeasuredPeakFlops() {
  constexpr int64_t kSize = 384;
  const std::vector<float> a(kSize * kSize, 1.0f);
  std::vector<float> c(kSize * kSize);
  double best = 0;
  for (int i = 0; i < 8; ++i) {
    const auto start = Clock::now();
    Gemm<float>({a.data(), kSize, kSize}, {a.data(), kSize, kSize},
                {c.data(), kSize, kSize});
    const double seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, 2.0 * kSize * kSize * kSize / seconds);
  }
  return best;
}

std::string ProfileText(absl::Span<const TapeProfile* const> profiles,
                        double seconds, int threads, double peak) {
  std::map<std::string, TapeProfile::Entry> sums;
  TapeProfile::Entry total;
  for (const TapeProfile* profile : profiles) {
    for (const auto& [name, entry] : profile->entries()) {
      for (TapeProfile::Entry* sum : {&sums[name], &total}) {
        sum->calls += entry.calls;
        sum->seconds += entry.seconds;
        sum->flops += entry.flops;
      }
    }
  }
  std::vector<std::pair<std::string, TapeProfile::Entry>> rows(sums.begin(),
                                                               sums.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.seconds > b.second.seconds;
  });
  rows.emplace_back("all operations", total);
  const auto rate = [](double amount, double seconds) {
    return amount / std::max(seconds, 1e-9);
  };
  std::string text =
      absl::StrFormat("%-56s %10s %9s %7s %8s %6s\n", "operation", "calls",
                      "ms", "share", "GFLOP/s", "peak");
  for (const auto& [name, entry] : rows) {
    const double reached = rate(entry.flops, entry.seconds);
    absl::StrAppendFormat(&text, "%-56s %10d %9.1f %6.1f%% %8.1f %5.0f%%\n",
                          name, entry.calls, entry.seconds * 1e3,
                          100 * rate(entry.seconds, total.seconds),
                          reached * 1e-9, 100 * reached / peak);
  }
  absl::StrAppendFormat(
      &text,
      "steps took %.3f s on %d threads, %.1f GFLOP/s in products; the peak of "
      "a core, measured now, is %.1f GFLOP/s\n",
      seconds, threads, rate(total.flops, seconds) * 1e-9, peak * 1e-9);
  return text;
}

}  // namespace regard

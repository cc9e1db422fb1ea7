// Checks bounds on the metrics of a run: check_metrics STATUS.json BOUND...
#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/ablation/bounds.h"
#include "experiments/run/status.h"

namespace regard {
namespace {

int Complain(const absl::Status& status) {
  std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  return 2;
}

int CheckMetrics(int argc, char** argv) {
  const absl::StatusOr<RunStatus> status = ReadStatus(argv[1]);
  if (!status.ok()) return Complain(status.status());
  std::printf("state: %s\n", std::string(StateName(status->state)).c_str());
  int broken = status->state == RunState::kFinished ? 0 : 1;
  for (int i = 2; i < argc; ++i) {
    const absl::StatusOr<MetricBound> bound = ParseBound(argv[i]);
    if (!bound.ok()) return Complain(bound.status());
    const auto metric = status->metrics.find(bound->metric);
    if (metric == status->metrics.end()) {
      std::printf("BROKEN  %s: the run has no such metric\n", argv[i]);
      ++broken;
      continue;
    }
    const bool holds = bound->Holds(metric->second);
    std::printf("%s  %s: is %.6g\n", holds ? "holds " : "BROKEN", argv[i],
                metric->second);
    if (!holds) ++broken;
  }
  return broken == 0 ? 0 : 1;
}

}  // namespace
}  // namespace regard

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: check_metrics STATUS.json BOUND...\n");
    return 2;
  }
  return regard::CheckMetrics(argc, argv);
}

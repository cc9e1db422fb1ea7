// Writes an ablation's report: write_report GRID.json OUT.md OUT.csv OUT.html
#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/ablation/ablation_report.h"
#include "experiments/ablation/grid.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/plugins.h"
#include "files/file.h"

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: write_report GRID MARKDOWN CSV HTML\n");
    return 2;
  }
  const absl::StatusOr<regard::Grid> grid =
      regard::ReadGrid(argv[1], regard::BuiltInPlugins().aggregates);
  absl::Status status = grid.status();
  if (status.ok()) {
    status.Update(
        regard::WriteFileAtomically(argv[2], regard::AblationMarkdown(*grid)));
    status.Update(
        regard::WriteFileAtomically(argv[3], regard::AblationCsv(*grid)));
    status.Update(
        regard::WriteFileAtomically(argv[4], regard::AblationHtml(*grid)));
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  return 1;
}

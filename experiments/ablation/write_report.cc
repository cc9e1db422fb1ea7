// Writes an ablation's report: write_report GRID.json OUT.md OUT.csv OUT.html
#include <cstdio>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/ablation/ablation_report.h"
#include "experiments/ablation/grid.h"
#include "experiments/report/report.h"
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
    const regard::Report report = regard::AblationReport(*grid);
    for (const auto& [path, text] :
         {std::pair(argv[2], regard::ReportMarkdown(report)),
          std::pair(argv[3], regard::AblationCsv(*grid)),
          std::pair(argv[4], regard::ReportHtml(report))}) {
      status.Update(regard::WriteFileAtomically(path, text));
    }
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  return 1;
}

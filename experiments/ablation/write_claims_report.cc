// Writes ours beside theirs:
// write_claims_report CLAIMS.textproto OUT.md LABEL=STATUS.json...
#include <cstdio>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/ablation/claims.pb.h"
#include "experiments/ablation/claims_table.h"
#include "experiments/config/origins.h"
#include "experiments/config/reader.h"
#include "experiments/report/report.h"
#include "experiments/run/status.h"
#include "files/file.h"
#include "nn/config_problems.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

absl::Status WriteClaimsReport(int argc, char** argv) {
  Claims claims;
  REGARD_ASSIGN_OR_RETURN(const ConfigOrigins origins,
                          ReadConfig({argv[1], {}}, {}, &claims));
  ConfigProblems problems;
  ValidateClaims(claims, problems);
  REGARD_RETURN_IF_ERROR(LocateProblems(problems, origins));
  std::map<std::string, RunStatus> runs;
  for (int i = 3; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    if (equals == std::string::npos) {
      return absl::InvalidArgumentError("error: want LABEL=STATUS.json, got " +
                                        argument);
    }
    REGARD_ASSIGN_OR_RETURN(runs[argument.substr(0, equals)],
                            ReadStatus(argument.substr(equals + 1)));
  }
  return WriteFileAtomically(
      argv[2],
      ReportMarkdown({.title = "Published numbers and ours",
                      .sections = {{.blocks = {ClaimsTable(claims, runs)}}}}));
}

}  // namespace
}  // namespace regard

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr,
                 "usage: write_claims_report CLAIMS OUT.md LABEL=STATUS...\n");
    return 2;
  }
  const absl::Status status = regard::WriteClaimsReport(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "experiments/config/command_line.h"
#include "experiments/run/checkpoint.h"
#include "experiments/training/train_program.h"
#include "files/file.h"
#include "tools/programs.h"

namespace regard {

namespace {

constexpr size_t kMostByDefault = 5;

constexpr char kUsage[] =
    "Averages the weights at checkpoints of a run.\n\n"
    "  average --run=DIR [--last=K] [--metric=NAME] [--out=DIR]\n"
    "          [--set PATH=VALUE]... [--threads=N]\n\n"
    "Makes a run folder of its own, measured as at the end of training; wants\n"
    "the data of the run. Set training.keep_checkpoints in a run to have so\n"
    "many checkpoints.";

}  // namespace

int AverageMain(int argc, char** argv, const Plugins& plugins) {
  std::string run;
  std::string out;
  std::string metric;
  int last = 0;
  int threads = 0;
  std::vector<std::string> overrides;
  CommandLine line(kUsage);
  line.Text("run", "DIR", &run, "the run");
  line.Number("last", &last, 1, 1000,
              "how many: the last ones; without it, all, but at most 5");
  line.Former("checkpoints", "--last=N");
  line.Text("metric", "NAME", &metric,
            "the best ones by this metric on dev, such as dev/bleu");
  line.Text("out", "DIR", &out,
            "the folder to make; without it a new one under runs/");
  line.Repeated("set", "PATH=VALUE", &overrides,
                "changes a field of the config; may be repeated");
  line.Number("threads", &threads, 1, 1024,
              "threads; without it, one per core");
  const absl::Status parsed = line.Parse(argc, argv);
  if (!parsed.ok()) return ExitCode(parsed);
  if (run.empty()) {
    return ExitCode(absl::InvalidArgumentError(
        "error: --run=DIR must name the folder of a run"));
  }
  if (last == 0) {
    const absl::StatusOr<FoundCheckpoints> found =
        FindCheckpoints(ResolveUserPath(run), kMostByDefault);
    if (!found.ok()) return ExitCode(WithErrorPrefix(found.status()));
    last = std::max<int>(1, static_cast<int>(found->checkpoints.size()));
  }
  std::string weights = absl::StrCat("training.initial_weights={run: \"",
                                     absl::CEscape(run), "\" average: ", last);
  if (!metric.empty()) {
    absl::StrAppend(&weights, " metric: \"", absl::CEscape(metric), "\"");
  }
  // A training of no updates, with all that follows one.
  std::vector<std::string> arguments = {
      argv[0],
      absl::StrCat("--config=", JoinPath(run, "resolved.textproto")),
  };
  for (const std::string& change : overrides) {
    arguments.push_back(absl::StrCat("--set=", change));
  }
  for (const char* change :
       {"training.epochs=0", "training.average=0", "baseline.override=[]"}) {
    arguments.push_back(absl::StrCat("--set=", change));
  }
  arguments.push_back(absl::StrCat("--set=", weights, "}"));
  if (threads != 0) arguments.push_back(absl::StrCat("--threads=", threads));
  if (!out.empty()) arguments.push_back(absl::StrCat("--run=", out));
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return TrainMain(static_cast<int>(pointers.size()), pointers.data(), plugins,
                   /*default_config=*/"");
}

}  // namespace regard

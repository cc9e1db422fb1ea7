#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "experiments/run/checkpoint.h"
#include "experiments/training/run_pages.h"
#include "experiments/training/train_program.h"
#include "files/file.h"
#include "options/command_line.h"
#include "tools/programs.h"

namespace regard {

namespace {

constexpr size_t kMaxByDefault = 5;

constexpr char kUsage[] =
    "Averages the weights of several checkpoints of a run.\n\n"
    "  average --run=DIR [--last=N] [--metric=NAME] [--out=DIR]\n"
    "          [--set PATH=VALUE]... [--threads=N]\n\n"
    "Creates a run folder with the averaged model and evaluates it as at the\n"
    "end of training, which requires the data of the run. The field\n"
    "training.keep_checkpoints sets how many checkpoints a run keeps.\n\n"
    "Examples:\n"
    "  average --run=runs/pairs\n"
    "  average --run=runs/pairs --last=3 --metric=dev/bleu --out=runs/averaged";

}  // namespace

int AverageMain(int argc, char** argv, const Plugins& plugins) {
  std::string run;
  std::string out;
  std::string metric;
  int last = 0;
  int threads = 0;
  std::vector<std::string> overrides;
  CommandLine line(kUsage);
  line.Text("run", "DIR", &run, kRunHelp);
  line.Number("last", &last, 1, 1000,
              "number of checkpoints to average: the newest, or the best by "
              "--metric",
              "5, or all if there are fewer");
  line.RemovedFlag("checkpoints", "--last=N");
  line.Text("metric", "NAME", &metric,
            "averages the best checkpoints by this metric, such as dev/bleu");
  line.Text("out", "DIR", &out, "run folder to create",
            "a new one under runs/");
  line.Repeated("set", "PATH=VALUE", &overrides, kSetHelp);
  line.Number("threads", &threads, 1, 1024, kThreadsHelp, kThreadsDefault);
  const absl::Status parsed = line.Parse(argc, argv);
  if (!parsed.ok()) return ExitCode(parsed);
  if (run.empty()) {
    return ExitCode(
        absl::InvalidArgumentError("error: --run=DIR must name a run folder"));
  }
  if (last == 0) {
    const absl::StatusOr<FoundCheckpoints> found =
        FindCheckpoints(ResolveUserPath(run), kMaxByDefault);
    if (!found.ok()) return ExitCode(EnsureErrorPrefix(found.status()));
    last = std::max<int>(1, static_cast<int>(found->checkpoints.size()));
  }
  std::string weights = absl::StrCat("training.initial_weights={run: \"",
                                     absl::CEscape(run), "\" average: ", last);
  if (!metric.empty()) {
    absl::StrAppend(&weights, " metric: \"", absl::CEscape(metric), "\"");
  }
  // Makes no optimizer steps, so that only the final evaluation and the report
  // follow.
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
                   /*default_config=*/"", &RunPages());
}

}  // namespace regard

// Trains a grid of runs: sweep --config=FILE --axis PATH=V1,V2 --out=DIR
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "autodiff/worker_pool.h"
#include "experiments/ablation/comparison.h"
#include "experiments/ablation/grid.h"
#include "experiments/ablation/result_picture.h"
#include "experiments/report/progress.h"
#include "experiments/sweep/axis_flag.h"
#include "experiments/sweep/cell_functions.h"
#include "experiments/sweep/expansion.h"
#include "experiments/sweep/imported_runs.h"
#include "experiments/sweep/sweep.pb.h"
#include "experiments/sweep/sweep_cells.h"
#include "experiments/sweep/sweep_run.h"
#include "experiments/tasks/plugins.h"
#include "files/file.h"
#include "files/printable_text.h"
#include "options/command_line.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/programs.h"

namespace regard {
namespace {

constexpr char kUsage[] =
    "Trains every combination of some values with several seeds, in parallel\n"
    "processes, and writes a report on the differences. To continue a "
    "stopped\nsweep, run the same command again.\n\n"
    "  sweep --config=FILE --axis PATH=V1,V2... [--axis ...] --out=DIR\n"
    "        [--seeds=N] [--set PATH=VALUE]... [--metric=NAME] [--jobs=N]\n"
    "        [--threads=N] [--cells=FILE] [--import=DIR] [--replace]\n"
    "        [--commands | --collect]\n"
    "  sweep --grid=FILE --out=DIR ...\n\n"
    "Examples:\n"
    "  sweep --config=configs/phrasebook.textproto --out=runs/scores \\\n"
    "      --axis model.attention=additive,dot --seeds=6\n"
    "  sweep --grid=scores.textproto --out=runs/scores --jobs=8";

struct Arguments {
  std::string config;
  std::string grid;
  std::vector<std::string> axes;
  std::vector<std::string> overrides;
  int seeds = 0;  // 0 selects the number in the file
  std::string metric;
  bool commands = false;
  // With 0 jobs, the number of jobs depends on the cores.
  SweepOptions sweep = {.jobs = 0};
};

absl::Status ParseArguments(int argc, char** argv, Arguments* arguments) {
  SweepOptions& sweep = arguments->sweep;
  CommandLine line(kUsage);
  line.Text("config", "FILE", &arguments->config, kConfigHelp, "as in --grid");
  line.Text("grid", "FILE", &arguments->grid,
            "file that describes the sweep (docs/sweeps.md); flags add to it",
            "the flags describe it");
  line.Repeated("axis", "PATH=V1,V2", &arguments->axes,
                "field and the values to compare, the baseline first; a "
                "message may go without its braces; may be repeated");
  line.Repeated("set", "PATH=VALUE", &arguments->overrides, kSetHelp);
  line.Number("seeds", &arguments->seeds, 1, 1000,
              "number of seeds of each combination; a significant difference "
              "in m comparisons requires at least 1 + log2(20 m) seeds",
              "as in --grid, or 6");
  line.Text("out", "DIR", &sweep.out,
            "directory for the run folders, the report and cells.jsonl; "
            "required");
  line.Text("metric", "NAME", &arguments->metric,
            "metric that the report begins with, such as test/bleu",
            "the task's first");
  line.Number("jobs", &sweep.jobs, 1, 1024,
              "number of runs that train at the same time",
              "the number of cores, divided by --threads");
  line.Number("threads", &sweep.threads, 1, 1024,
              "number of threads of a run; results are bit-identical for any "
              "number");
  line.Text("cells", "FILE", &sweep.cells,
            "cells.jsonl of another sweep, whose runs count as finished");
  line.Text("import", "DIR", &sweep.import_from,
            "directory with finished runs, such as the runs of an ablation() "
            "in bazel-bin; runs that this sweep would train are copied");
  line.Switch(
      "replace", &sweep.replace,
      "trains runs in --out again if their config, data or program differs");
  line.Switch("commands", &arguments->commands,
              "trains nothing; prints a command for each run, for srun or GNU "
              "parallel");
  line.Switch("collect", &sweep.collect,
              "trains nothing; writes the report on the existing runs");
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  if (sweep.out.empty()) {
    return absl::InvalidArgumentError(
        "error: --out=DIR is required: it names the directory of the sweep");
  }
  if (arguments->commands && sweep.collect) {
    return absl::InvalidArgumentError(
        "error: --commands and --collect cannot be given together");
  }
  sweep.out = ResolveUserPath(sweep.out);
  if (!sweep.cells.empty()) sweep.cells = ResolveUserPath(sweep.cells);
  if (!sweep.import_from.empty()) {
    sweep.import_from = ResolveUserPath(sweep.import_from);
  }
  if (sweep.jobs == 0) {
    sweep.jobs = std::max(HardwareThreads() / sweep.threads, 1);
  }
  return absl::OkStatus();
}

// Reads the file of the sweep if there is one, and adds what the flags
// describe.
absl::StatusOr<SweepWithOrigins> ReadSource(const Arguments& arguments) {
  SweepWithOrigins source;
  Sweep& sweep = source.sweep;
  if (!arguments.grid.empty()) {
    REGARD_ASSIGN_OR_RETURN(source, ReadSweep(arguments.grid));
  }
  for (const std::string& text : arguments.axes) {
    REGARD_ASSIGN_OR_RETURN(*sweep.add_axis(), ParseAxisFlag(text));
  }
  for (const std::string& text : arguments.overrides) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("error: --set ", text, ": must be PATH=VALUE"));
    }
    Override* const added = sweep.add_override();
    added->set_path(text.substr(0, equals));
    added->set_value(text.substr(equals + 1));
  }
  if (!arguments.config.empty()) sweep.set_config(arguments.config);
  if (!arguments.metric.empty()) sweep.set_metric(arguments.metric);
  if (arguments.seeds > 0) sweep.set_seeds(arguments.seeds);
  return source;
}

// Prints a note if the sweep has too few seeds for a significant difference.
void NoteTooFewSeeds(const Sweep& sweep, const ExpandedSweep& plan) {
  ResultGrid grid = {.axes = plan.axes};
  for (const SweepArm& arm : plan.arms) {
    grid.runs.emplace_back().coordinates = arm.coordinates;
  }
  const std::string text =
      TooFewSeeds(sweep.seeds(), ComparisonsOfAMetric(grid));
  if (!text.empty()) std::fprintf(stderr, "note: with %s\n", text.c_str());
}

// Writes the report. Prints the result and the paths of its files.
absl::Status Report(const SweepWithOrigins& source, const SweepOptions& options,
                    const SweepCells& cells, const Plugins& plugins) {
  const ResultGrid grid = GridOf(source.sweep, cells, plugins);
  REGARD_RETURN_IF_ERROR(
      EnsureErrorPrefix(WriteSweepReport(options, cells, grid)));
  const std::string words = ResultInWords(grid, CompareWithBaselines(grid));
  if (!words.empty()) {
    std::fprintf(stderr, "%s\n", PrintableText(words).c_str());
  }
  for (const char* name : {"report.html", "report.md", "cells.jsonl"}) {
    std::printf("%s\n", JoinPath(options.out, name).c_str());
  }
  return absl::OkStatus();
}

absl::StatusOr<int> RunSweep(int argc, char** argv, const Plugins& plugins) {
  Arguments arguments;
  REGARD_RETURN_IF_ERROR(ParseArguments(argc, argv, &arguments));
  const SweepOptions& options = arguments.sweep;
  REGARD_ASSIGN_OR_RETURN(const SweepWithOrigins source, ReadSource(arguments));
  const CellFunctions functions = MakeCellFunctions(plugins);
  REGARD_ASSIGN_OR_RETURN(SweepCells cells,
                          PlanSweep(source, options, functions, plugins));
  if (!options.collect) NoteTooFewSeeds(source.sweep, cells.plan);
  if (!options.import_from.empty()) {
    REGARD_ASSIGN_OR_RETURN(const size_t imported,
                            EnsureErrorPrefix(ImportRuns(options, cells)));
    std::fprintf(stderr, "imported %zu runs\n", imported);
  }
  if (arguments.commands) {
    REGARD_ASSIGN_OR_RETURN(
        const std::string commands,
        EnsureErrorPrefix(TrainCommands(source.sweep, options, cells)));
    std::fputs(commands.c_str(), stdout);
    return FlushStandardOutput();
  }
  if (!options.collect) {
    REGARD_ASSIGN_OR_RETURN(
        const int stopped_by,
        EnsureErrorPrefix(TrainCells(source.sweep, options, functions,
                                     ProgressToStandardError(), cells)));
    if (stopped_by != 0) {
      std::fprintf(stderr,
                   "stopped, with everything saved; to continue, run the same "
                   "command again\n");
      return 128 + stopped_by;
    }
  }
  REGARD_RETURN_IF_ERROR(Report(source, options, cells, plugins));
  const int output = FlushStandardOutput();
  return output != 0 ? output : SweepExitCode(cells);
}

}  // namespace

int SweepMain(int argc, char** argv, const Plugins& plugins) {
  const absl::StatusOr<int> code = RunSweep(argc, argv, plugins);
  return code.ok() ? *code : ExitCode(code.status());
}

}  // namespace regard

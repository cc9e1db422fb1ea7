#include "tools/replay_program.h"

#include <signal.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "autodiff/worker_pool.h"
#include "experiments/report/progress.h"
#include "experiments/run/checkpoint.h"
#include "experiments/run/environment.h"
#include "experiments/run/latest_run.h"
#include "experiments/run/metrics_log.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
#include "experiments/tasks/trained_run.h"
#include "experiments/training/trainer.h"
#include "files/file.h"
#include "files/json_file.h"
#include "files/safetensors.h"
#include "google/protobuf/repeated_field.h"
#include "nlohmann/json.hpp"
#include "nn/hook.h"
#include "nn/weights.h"
#include "optimization/interventions/configured_hook.h"
#include "optimization/interventions/intervention.pb.h"
#include "optimization/interventions/site_requests.h"
#include "options/command_line.h"
#include "third_party/abseil_backport/status_macros.h"
#include "tools/output_file.h"

namespace regard {

namespace {

constexpr char kUsage[] =
    "Repeats a part of a run's training and records the values at hook\n"
    "points.\n\n"
    "  replay --run=DIR --from=STEP --to=STEP --site=PATTERN...\n"
    "         [--out=FILE.safetensors|FILE.jsonl] [--threads=N]\n\n"
    "Trains from the last checkpoint before optimizer step --from to the\n"
    "first checkpoint at or after step --to. Fails unless all numbers of\n"
    "metrics.jsonl and the weights at the end are the same as in the run. In\n"
    "a PATTERN, * matches any characters. Statistics of each step go to\n"
    "FILE.jsonl or to standard output. FILE.safetensors gets the arrays,\n"
    "named step-N/shard-S/SITE. Requires the data of the run and does not\n"
    "change the run.\n\n"
    "Examples:\n"
    "  replay --run=runs/pairs --from=91 --to=100 --site='*/weights'\n"
    "  replay --run=runs/pairs --from=9 --to=9 --site='*' "
    "--out=step.safetensors";

struct Arguments {
  std::string run;
  std::string out;
  std::vector<std::string> sites;
  int from = 0;
  int to = 0;
  int threads = 0;

  bool arrays() const { return absl::EndsWith(out, ".safetensors"); }
  // Whether an optimizer step is observed. `step` is the number of steps before
  // it.
  bool Watches(int64_t step) const { return step >= from - 1 && step < to; }
};

absl::Status Wrong(absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat("error: ", message));
}

absl::Status ParseArguments(int argc, char** argv, Arguments* arguments) {
  constexpr int kMaxSteps = 2000000000;
  CommandLine line(kUsage);
  line.Text("run", "DIR", &arguments->run, kRunHelp,
            "the latest run under runs/");
  line.Number(
      "from", &arguments->from, 1, kMaxSteps,
      "number of the first optimizer step to record; steps count from 1");
  line.Number("to", &arguments->to, 1, kMaxSteps,
              "last optimizer step to record");
  line.Repeated("site", "PATTERN", &arguments->sites,
                "hook points to record; may be repeated");
  line.Text("out", "FILE", &arguments->out,
            "file for the statistics (.jsonl) or the arrays (.safetensors)",
            "statistics on standard output");
  line.Number("threads", &arguments->threads, 1, 1024, kThreadsHelp,
              kThreadsDefault);
  REGARD_RETURN_IF_ERROR(line.Parse(argc, argv));
  if (arguments->from == 0 || arguments->to < arguments->from) {
    return Wrong(
        "--from=STEP and --to=STEP are required; --from must be at most --to");
  }
  if (arguments->sites.empty()) {
    return Wrong("--site=PATTERN is required, such as --site='*/weights'");
  }
  if (arguments->threads == 0) arguments->threads = HardwareThreads();
  if (!arguments->run.empty()) return absl::OkStatus();
  if (const absl::StatusOr<std::string> latest = LatestRun(); latest.ok()) {
    std::fprintf(stderr, "%s\n", LatestRunNote(*latest).c_str());
    arguments->run = *latest;
  }
  return absl::OkStatus();
}

// Returns the differences between this program and the program that started the
// run.
std::string EnvironmentDifferences(const std::string& run) {
  const absl::StatusOr<std::vector<std::string>> differences =
      ProgramDifferences(run);
  if (!differences.ok()) return "\nthe run's environment.json cannot be read";
  if (differences->empty()) {
    return "\nenvironment.json does not differ from this program";
  }
  return absl::StrCat("\nenvironment.json differs from this program:\n  ",
                      absl::StrJoin(*differences, "\n  "));
}

// Repeats the training of a run from one of its checkpoints to another.
class Replay {
 public:
  Replay(const Arguments& arguments, TrainedRun run, std::unique_ptr<Task> task)
      : arguments_(arguments), run_(std::move(run)), task_(std::move(task)) {
    for (const std::string& site : arguments.sites) {
      for (int i = SiteStatistic::ENTROPY; i <= SiteStatistic::FIRST_KEY_SHARE;
           ++i) {
        SiteStatistic& statistic = *statistics_.Add();
        statistic.set_site(site);
        statistic.set_statistic(static_cast<SiteStatistic::Statistic>(i));
        statistic.set_every(1);
      }
    }
    for (int i = 0; i < run_.config.num_shards(); ++i) {
      recorders_.push_back(
          std::make_unique<SiteValueRecorder<float>>(arguments.sites));
      hooks_.push_back(std::make_unique<ConfiguredHook<float>>(
          SiteRequestsView{no_interventions_, statistics_},
          run_.config.seed()));
    }
  }

  absl::Status Train(const Plugins& plugins) {
    REGARD_RETURN_IF_ERROR(Prepare());
    std::atomic<int> stop = 0;
    Trainer trainer(run_.config, *task_, plugins,
                    {.threads = arguments_.threads,
                     .omit_times = true,
                     .stop_signal = &stop,
                     .hook = [this](int64_t step, int shard) {
                       return HookFor(step, shard);
                     }});
    REGARD_RETURN_IF_ERROR(trainer.Restore(begin_));
    TrainingCallbacks callbacks;
    callbacks.updated = [&](const StepMeasurements& update) {
      if (arguments_.Watches(update.step - 1)) Record(update.step);
      if (update.step == end_.step) stop = SIGINT;
    };
    callbacks.recorded = [this](const MetricsRecord& record) {
      return CheckRecord(record);
    };
    callbacks.checkpointed = [this](const CheckpointContent& content) {
      return content.step == end_.step ? CheckWeights(content)
                                       : absl::OkStatus();
    };
    REGARD_RETURN_IF_ERROR(trainer.Run(std::move(callbacks)).status());
    // If max_minutes ended the run, metrics.jsonl has further records from the
    // end of the run, which the replay lacks.
    const bool ended_by_time = run_.config.training().max_minutes() > 0;
    if (!digest_.empty() && (next_ == records_.size() || ended_by_time)) {
      return absl::OkStatus();
    }
    return Differs(trainer.step(),
                   "the replay ended before it repeated all records of "
                   "metrics.jsonl and the last checkpoint");
  }

  absl::Status Write() const {
    std::fprintf(
        stderr,
        "%s: repeated steps %s to %s from the checkpoint of step %s. All %zu "
        "numbers of metrics.jsonl and the weights of step %s are equal: %s\n",
        run_.path.c_str(), absl::StrCat(begin_.step + 1).c_str(),
        absl::StrCat(end_.step).c_str(), absl::StrCat(begin_.step).c_str(),
        numbers_, absl::StrCat(end_.step).c_str(), digest_.c_str());
    if (!arguments_.arrays()) {
      if (!arguments_.out.empty()) {
        return EnsureErrorPrefix(
            WriteFileAtomically(ResolveUserPath(arguments_.out), lines_));
      }
      std::fputs(lines_.c_str(), stdout);
      return absl::OkStatus();
    }
    std::vector<NamedTensorView> views;
    for (const auto& [name, seen] : arrays_) {
      views.push_back({name, Extents(seen.shape), seen.value});
    }
    return EnsureErrorPrefix(WriteSafetensorsFile(
        ResolveUserPath(arguments_.out), views, {}, SystemFiles()));
  }

 private:
  // Finds the first and the last step, and the records of the run in between.
  absl::Status Prepare() {
    const SiteShapes sites =
        RecordSiteShapes(task_->model(), run_.config.seed(), arguments_.sites);
    for (const std::string& pattern : arguments_.sites) {
      bool found = false;
      for (const auto& site : sites) found |= MatchesSite(pattern, site.first);
      if (!found) return Wrong(NoSuchSiteMessage(sites, pattern));
    }
    REGARD_ASSIGN_OR_RETURN(const FoundCheckpoints kept,
                            FindCheckpoints(run_.path, SIZE_MAX));
    std::vector<int64_t> steps;
    bool begins = false;
    bool ends = false;
    for (const CheckpointInfo& checkpoint : kept.checkpoints) {  // newest first
      steps.insert(steps.begin(), checkpoint.step);
      if (checkpoint.step >= arguments_.to) {
        end_ = checkpoint;
        ends = true;
      } else if (checkpoint.step < arguments_.from && !begins) {
        begin_ = checkpoint;
        begins = true;
      }
    }
    if (!begins || !ends) {
      return Wrong(absl::StrCat(
          run_.path, " has no checkpoint ",
          begins ? absl::StrCat("of step ", arguments_.to, " (--to) or later")
                 : absl::StrCat("before step ", arguments_.from, " (--from)"),
          "; it has the checkpoints of steps ", absl::StrJoin(steps, ", "),
          ". training.keep_checkpoints sets how many a run keeps"));
    }
    REGARD_ASSIGN_OR_RETURN(
        std::vector<MetricsRecord> records,
        ReadMetricsLog(JoinPath(run_.path, "metrics.jsonl")));
    for (MetricsRecord& record : records) {
      if (record.step > begin_.step && record.step <= end_.step) {
        records_.push_back(std::move(record));
      }
    }
    return absl::OkStatus();
  }

  Hook<float>* HookFor(int64_t step, int shard) {
    if (!arguments_.Watches(step)) return nullptr;
    if (arguments_.arrays()) return recorders_[shard].get();
    return hooks_[shard]->BeginUpdate(step);
  }

  // Stores the observed values of an optimizer step.
  void Record(int64_t step) {
    AccumulatedStatistics sums;
    for (size_t shard = 0; shard < hooks_.size(); ++shard) {
      hooks_[shard]->TakeStatistics(&sums);
      for (const auto& seen : recorders_[shard]->seen()) {
        const std::string of_shard =
            absl::StrCat("shard-", shard, "/", seen.site);
        const std::string first = absl::StrCat("step-", step, "/");
        std::string name = absl::StrCat(first, of_shard);
        // The name already exists if the step has several batches
        // (optimizer.accumulate_batches). Appends the index of the batch.
        for (int i = 1; arrays_.count(name) > 0; ++i) {
          name = absl::StrCat(first, "batch-", i, "/", of_shard);
        }
        arrays_.emplace(std::move(name), seen);
      }
      recorders_[shard]->Clear();
    }
    std::map<std::string, double> statistics;
    for (const auto& [name, sum] : sums) statistics[name] = sum.Value();
    lines_ += JsonText({{"step", step}, {"metrics", statistics}}) + "\n";
  }

  absl::Status Differs(int64_t step, absl::string_view what) const {
    return absl::FailedPreconditionError(
        absl::StrCat(run_.path, ": error: step ", step, ": ", what,
                     "; the replay must repeat the run exactly",
                     EnvironmentDifferences(run_.path)));
  }

  absl::Status CheckRecord(const MetricsRecord& record) {
    if (next_ == records_.size() || records_[next_].step != record.step) {
      return Differs(record.step,
                     "metrics.jsonl of the run lacks a record of this step");
    }
    const MetricsRecord& before = records_[next_++];
    for (const auto& [name, value] : record.metrics) {
      const auto found = before.metrics.find(name);
      if (found == before.metrics.end()) {
        return Differs(record.step,
                       absl::StrCat("the run did not record ", name));
      }
      ++numbers_;
      if (found->second == value ||
          (std::isnan(value) && std::isnan(found->second))) {
        continue;
      }
      return Differs(record.step,
                     absl::StrFormat("%s is %.17g, but %.17g in the run", name,
                                     value, found->second));
    }
    if (before.metrics.size() == record.metrics.size()) {
      return absl::OkStatus();
    }
    return Differs(record.step,
                   "the run recorded more metrics than the replay");
  }

  absl::Status CheckWeights(const CheckpointContent& content) {
    REGARD_ASSIGN_OR_RETURN(const SafetensorsReader reader,
                            SafetensorsReader::Open(end_.WeightsPath()));
    for (const NamedTensorView& view : content.weights) {
      std::vector<float> before(view.values.size());
      REGARD_RETURN_IF_ERROR(
          reader.Read(view.name, view.shape, absl::MakeSpan(before)));
      if (std::memcmp(before.data(), view.values.data(),
                      before.size() * sizeof(float)) != 0) {
        return Differs(content.step, absl::StrCat("the weights ", view.name,
                                                  " differ from the run"));
      }
    }
    digest_ = WeightsDigest(content.weights);
    return absl::OkStatus();
  }

  const Arguments& arguments_;
  const TrainedRun run_;
  const std::unique_ptr<Task> task_;
  const google::protobuf::RepeatedPtrField<Intervention> no_interventions_;
  google::protobuf::RepeatedPtrField<SiteStatistic> statistics_;
  // One hook of each kind per shard.
  std::vector<std::unique_ptr<SiteValueRecorder<float>>> recorders_;
  std::vector<std::unique_ptr<ConfiguredHook<float>>> hooks_;
  CheckpointInfo begin_;
  CheckpointInfo end_;
  // Records of the run between its two checkpoints.
  std::vector<MetricsRecord> records_;
  size_t next_ = 0;     // index into the records
  size_t numbers_ = 0;  // number of equal numbers
  std::string digest_;  // weights digest at the end
  std::string lines_;
  std::map<std::string, SiteValueRecorder<float>::Seen> arrays_;
};

absl::Status ReplayPart(int argc, char** argv, const Plugins& plugins) {
  Arguments arguments;
  REGARD_RETURN_IF_ERROR(ParseArguments(argc, argv, &arguments));
  REGARD_ASSIGN_OR_RETURN(TrainedRun run,
                          OpenTrainedRun(arguments.run, &plugins));
  if (run.pretrained.has_value()) {
    return Wrong(absl::StrCat(run.path,
                              " is a Hugging Face model folder; only the "
                              "training of a run can be replayed"));
  }
  REGARD_ASSIGN_OR_RETURN(
      std::unique_ptr<Task> task,
      BuildTask(run.config, plugins,
                [&](const std::string& name) { return run.ReadText(name); }));
  REGARD_ASSIGN_OR_RETURN(const Environment digests, ReadRunDigests(run.path));
  for (const auto& [field, digest] : task->data_digests()) {
    const auto found = digests.data.find(field);
    if (found != digests.data.end() && found->second == digest) continue;
    return Wrong(absl::StrCat(field, " has changed since the training of ",
                              run.path, ": its SHA-256 is now ", digest,
                              "; restore the data of the training"));
  }
  if (!arguments.out.empty()) {
    REGARD_RETURN_IF_ERROR(CheckOutputFile(
        "--out", ResolveUserPath(arguments.out), {".jsonl", ".safetensors"}));
  }
  Replay replay(arguments, std::move(run), std::move(task));
  REGARD_RETURN_IF_ERROR(replay.Train(plugins));
  return replay.Write();
}

}  // namespace

int ReplayMain(int argc, char** argv, const Plugins& plugins) {
  FlushDenormalsToZero();
  return ExitCode(ReplayPart(argc, argv, plugins));
}

}  // namespace regard

#include "experiments/sweep/sweep_run.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "evaluation/statistics.h"
#include "experiments/ablation/ablation_report.h"
#include "experiments/report/report.h"
#include "experiments/run/status.h"
#include "experiments/sweep/cell_processes.h"
#include "experiments/sweep/cell_records.h"
#include "experiments/sweep/sweep_table.h"
#include "files/file.h"
#include "google/protobuf/text_format.h"
#include "options/command_line.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

constexpr absl::Duration kRedraw = absl::Milliseconds(500);

std::string HostName() {
  utsname name = {};
  return uname(&name) == 0 ? name.nodename : "";
}

absl::string_view FolderOf(absl::string_view path) {
  return path.substr(0, path.rfind('/'));
}

// Returns the last nonempty line of a log.
std::string LastLine(const std::string& log) {
  const absl::StatusOr<std::string> text = ReadFile(log);
  if (!text.ok()) return "";
  const std::vector<std::string> lines =
      absl::StrSplit(*text, '\n', absl::SkipWhitespace());
  return lines.empty() ? "" : lines.back();
}

absl::StatusOr<RunStatus> StatusOf(const CellWithState& cell) {
  return ReadStatus(JoinPath(cell.folder, "status.json"));
}

// Returns the results of a finished cell.
absl::StatusOr<CellResult> ResultOf(const SweepCells& cells,
                                    const CellWithState& cell) {
  if (cell.state == SweepCellState::kRecorded) return cell.finished;
  REGARD_ASSIGN_OR_RETURN(const RunStatus status, StatusOf(cell));
  return CellResult{.key = cell.key.Digest(),
                    .arm = cells.plan.arms[cell.arm].name,
                    .seed = cell.seed,
                    .metrics = status.metrics,
                    .weights_digest = status.weights_digest,
                    .core_seconds = cell.record.core_seconds,
                    .host = cell.record.host};
}

absl::Status WriteResults(const SweepOptions& options,
                          const SweepCells& cells) {
  REGARD_ASSIGN_OR_RETURN(const std::string text, FinishedText(cells));
  return WriteFileAtomically(JoinPath(options.out, "cells.jsonl"), text);
}

// Maximum time to wait for the lock of a sweep. The runs of a killed sweep keep
// the lock until they have saved their state.
constexpr absl::Duration kLockPatience = absl::Seconds(10);

// Locks the directory of a sweep. Child processes inherit the lock.
absl::StatusOr<Descriptor> LockSweep(const std::string& out) {
  REGARD_RETURN_IF_ERROR(MakeDirectories(out, SystemFiles()));
  const std::string path = JoinPath(out, "lock");
  Descriptor lock(path, O_RDWR | O_CREAT | O_NOFOLLOW, SystemFiles());
  if (lock.number() < 0) return WriteError(path, "open", errno);
  const absl::Time patient_until = absl::Now() + kLockPatience;
  while (flock(lock.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR && errno != EWOULDBLOCK) {
      return WriteError(path, "lock", errno);
    }
    if (absl::Now() > patient_until) {
      return absl::FailedPreconditionError(absl::StrCat(
          out, ": another process trains this sweep; wait until it has ended"));
    }
    absl::SleepFor(absl::Milliseconds(100));
  }
  return lock;
}

// Writes the description of the sweep in a form that --grid can read.
absl::Status WriteSweep(const Sweep& sweep, const SweepOptions& options) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(sweep, &text);
  return WriteFileAtomically(
      JoinPath(options.out, "sweep.textproto"),
      absl::StrCat("# proto-file: experiments/sweep/sweep.proto\n"
                   "# proto-message: regard.Sweep\n\n",
                   text));
}

// Makes the directory of a cell, and writes its record.
absl::Status PrepareCell(const CellWithState& cell) {
  REGARD_RETURN_IF_ERROR(
      MakeDirectories(std::string(FolderOf(cell.folder)), SystemFiles()));
  return WriteCellTrainingRecord(cell.RecordPath(), cell.record);
}

// Removes the files of a cell whose run has another config, data or program.
absl::Status ClearCell(CellWithState& cell) {
  for (const std::string& path :
       {cell.folder, cell.RecordPath(), cell.LogPath()}) {
    REGARD_RETURN_IF_ERROR(RemoveTree(path, SystemFiles()));
  }
  cell.state = SweepCellState::kWaiting;
  cell.reason.clear();
  return absl::OkStatus();
}

class CellTrainer {
 public:
  CellTrainer(const Sweep& sweep, const SweepOptions& options,
              const CellFunctions& functions, const ProgressOutput& output,
              SweepCells& cells)
      : sweep_(sweep),
        options_(options),
        functions_(functions),
        cells_(cells),
        output_(output),
        table_(output),
        started_(output.now()) {}

  absl::StatusOr<int> Train() {
    for (size_t i = 0; i < cells_.cells.size(); ++i) {
      if (cells_.cells[i].state == SweepCellState::kWaiting) {
        queue_.push_back(i);
      }
    }
    CellProcesses processes;
    while (true) {
      while (processes.stop_signal() == 0 && next_ < queue_.size() &&
             processes.running() < static_cast<size_t>(options_.jobs)) {
        REGARD_RETURN_IF_ERROR(Start(processes, queue_[next_++]));
      }
      Draw(processes.stop_signal() != 0);
      if (processes.running() == 0) break;
      for (const CellProcesses::Ended& ended : processes.Wait(kRedraw)) {
        REGARD_RETURN_IF_ERROR(End(ended, processes.stop_signal() != 0));
      }
    }
    return processes.stop_signal();
  }

 private:
  absl::Status Start(CellProcesses& processes, size_t index) {
    CellWithState& cell = cells_.cells[index];
    cell.record.key = cell.key;
    cell.record.exit_code = 0;
    cell.record.failure.clear();
    REGARD_RETURN_IF_ERROR(PrepareCell(cell));
    running_.insert(index);
    const std::vector<std::string> arguments =
        cells_.TrainArguments(cell, sweep_, options_.threads);
    return processes.Start(index, cell.LogPath(), [this, &arguments] {
      return functions_.train(arguments);
    });
  }

  absl::Status End(const CellProcesses::Ended& ended, bool stopping) {
    CellWithState& cell = cells_.cells[ended.cell];
    running_.erase(ended.cell);
    cell.record.exit_code = ended.exit_code;
    cell.record.core_seconds += ended.core_seconds;
    cell.record.host = HostName();
    const absl::StatusOr<RunStatus> status = StatusOf(cell);
    const std::string name = cells_.Name(cell);
    if (ended.exit_code == 0 && status.ok() &&
        status->state == RunState::kFinished) {
      cell.state = SweepCellState::kFinished;
      NoteMetric(cell);
      ++finished_;
      Message(absl::StrCat("finished ", name, ": ", MetricText(*status)));
    } else if (!stopping) {
      cell.state = SweepCellState::kFailed;
      cell.record.failure = LastLine(cell.LogPath());
      cell.reason = cell.record.failure;
      if (cell.reason.empty()) {
        cell.reason = absl::StrCat("exit code ", ended.exit_code);
      }
      Message(absl::StrCat("failed ", name, ": ", cell.reason, " (see ",
                           cell.LogPath(), ")"),
              /*always=*/true);
    }
    REGARD_RETURN_IF_ERROR(
        WriteCellTrainingRecord(cell.RecordPath(), cell.record));
    return WriteResults(options_, cells_);
  }

  // Prints a message. If `always` is false, prints nothing on a terminal,
  // because the live table shows the same information.
  void Message(const std::string& text, bool always = false) {
    if (!table_.live()) {
      output_.write(absl::StrCat(text, " (", CountEnded(), " of ",
                                 cells_.cells.size(), ")\n"));
    } else if (always) {
      table_.Message(text);
    }
  }

  size_t CountEnded() const {
    return std::ranges::count_if(cells_.cells, [](const CellWithState& cell) {
      return cell.IsFinished() || cell.state == SweepCellState::kFailed;
    });
  }

  // Chooses the metric to show, unless an earlier cell has determined it.
  void NoteMetric(const CellWithState& cell) {
    if (!metric_.empty()) return;
    ResultGrid grid = {.primary = sweep_.metric()};
    absl::StatusOr<ComparedRun> run = ReadRunSummary(cell.folder);
    if (run.ok()) grid.runs.push_back(*std::move(run));
    metric_ = PrimaryMetric(grid);
  }

  std::string MetricText(const RunStatus& status) const {
    const auto found = status.metrics.find(metric_);
    if (found == status.metrics.end()) return "no metric";
    return absl::StrCat(metric_, " ", FormatMetric(found->second));
  }

  std::string CellText(size_t index) const {
    const CellWithState& cell = cells_.cells[index];
    if (cell.state == SweepCellState::kFailed) return "failed";
    if (cell.IsFinished()) {
      const absl::StatusOr<CellResult> result = ResultOf(cells_, cell);
      if (!result.ok()) return "unreadable";
      const auto found = result->metrics.find(metric_);
      return found == result->metrics.end() ? "done"
                                            : FormatMetric(found->second);
    }
    if (running_.count(index) == 0) return ".";
    const absl::StatusOr<RunStatus> status = StatusOf(cell);
    return status.ok() && status->step > 0 ? absl::StrCat("step ", status->step)
                                           : "begins";
  }

  std::string Summary(bool stopping) const {
    std::string text =
        absl::StrCat(CountEnded(), " of ", cells_.cells.size(), " runs ended, ",
                     running_.size(), " in training");
    if (stopping) return absl::StrCat(text, "; saving and stopping");
    const size_t left = queue_.size() - next_ + running_.size();
    if (finished_ == 0 || left == 0) return text;
    const absl::Duration rest = (output_.now() - started_) /
                                static_cast<double>(finished_) *
                                static_cast<double>(left);
    const absl::Duration unit =
        rest < absl::Minutes(2) ? absl::Seconds(10) : absl::Minutes(1);
    return absl::StrCat(text, ", about ",
                        absl::FormatDuration(absl::Ceil(rest, unit)), " left");
  }

  void Draw(bool stopping) {
    if (!table_.live()) return;
    if (metric_.empty()) {
      for (const CellWithState& cell : cells_.cells) {
        if (cell.state == SweepCellState::kFinished) NoteMetric(cell);
      }
    }
    SweepTable table;
    std::map<std::pair<size_t, uint64_t>, size_t> index;
    for (size_t i = 0; i < cells_.cells.size(); ++i) {
      index[{cells_.cells[i].arm, cells_.cells[i].seed}] = i;
    }
    for (int s = 0; s < sweep_.seeds(); ++s) {
      table.seeds.push_back(absl::StrCat(sweep_.first_seed() + s));
    }
    for (size_t arm = 0; arm < cells_.plan.arms.size(); ++arm) {
      table.arms.push_back(cells_.plan.arms[arm].name);
      std::vector<std::string>& row = table.cells.emplace_back();
      for (int s = 0; s < sweep_.seeds(); ++s) {
        row.push_back(CellText(index.at({arm, sweep_.first_seed() + s})));
      }
    }
    table.summary = Summary(stopping);
    table_.Draw(table);
  }

  const Sweep& sweep_;
  const SweepOptions& options_;
  const CellFunctions& functions_;
  SweepCells& cells_;
  const ProgressOutput& output_;
  LiveTable table_;
  const absl::Time started_;
  std::vector<size_t> queue_;  // cells to train
  size_t next_ = 0;            // index into the queue
  std::set<size_t> running_;
  size_t finished_ = 0;  // number of cells that this call has finished
  std::string metric_;
};

}  // namespace

absl::StatusOr<int> TrainCells(const Sweep& sweep, const SweepOptions& options,
                               const CellFunctions& functions,
                               const ProgressOutput& output,
                               SweepCells& cells) {
  REGARD_ASSIGN_OR_RETURN(const Descriptor lock, LockSweep(options.out));
  REGARD_RETURN_IF_ERROR(WriteSweep(sweep, options));
  for (CellWithState& cell : cells.cells) {
    if (cell.state == SweepCellState::kOther) {
      REGARD_RETURN_IF_ERROR(ClearCell(cell));
    }
  }
  return CellTrainer(sweep, options, functions, output, cells).Train();
}

absl::StatusOr<std::string> TrainCommands(const Sweep& sweep,
                                          const SweepOptions& options,
                                          SweepCells& cells) {
  std::string text;
  REGARD_RETURN_IF_ERROR(MakeDirectories(options.out, SystemFiles()));
  REGARD_RETURN_IF_ERROR(WriteSweep(sweep, options));
  for (CellWithState& cell : cells.cells) {
    if (cell.state == SweepCellState::kOther) {
      REGARD_RETURN_IF_ERROR(ClearCell(cell));
    }
    if (cell.state != SweepCellState::kWaiting) continue;
    cell.record.key = cell.key;
    REGARD_RETURN_IF_ERROR(PrepareCell(cell));
    absl::StrAppend(&text, "regard train");
    for (const std::string& argument :
         cells.TrainArguments(cell, sweep, options.threads)) {
      const bool plain = std::ranges::all_of(argument, [](unsigned char c) {
        return absl::ascii_isalnum(c) ||
               absl::string_view("-_./=:,+").find(static_cast<char>(c)) !=
                   absl::string_view::npos;
      });
      absl::StrAppend(
          &text, " ",
          plain
              ? argument
              : absl::StrCat(
                    "'", absl::StrJoin(absl::StrSplit(argument, '\''), "'\\''"),
                    "'"));
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

ResultGrid GridOf(const Sweep& sweep, const SweepCells& cells,
                  const Plugins& plugins) {
  const std::string file = sweep.config().substr(sweep.config().rfind('/') + 1);
  ResultGrid grid = {
      .label = sweep.config(),
      .name =
          sweep.name().empty() ? file.substr(0, file.find('.')) : sweep.name(),
      .question = sweep.question(),
      .metrics = {sweep.metrics().begin(), sweep.metrics().end()},
      .primary = sweep.metric(),
      .axes = cells.plan.axes};
  for (const CellWithState& cell : cells.cells) {
    ComparedRun run;
    if (cell.state == SweepCellState::kRecorded) {
      run.status = {.state = RunState::kFinished,
                    .metrics = cell.finished.metrics,
                    .weights_digest = cell.finished.weights_digest};
      run.metric_infos =
          plugins.tasks.Find(cells.configs[cell.arm].config.model())->metrics;
    } else if (cell.state == SweepCellState::kOther ||
               cell.state == SweepCellState::kFailed) {
      run.missing = cell.state == SweepCellState::kFailed
                        ? absl::StrCat("failed: ", cell.reason)
                        : cell.reason;
    } else if (!PathExists(cell.folder)) {
      run.missing = "not trained yet";
    } else {
      absl::StatusOr<ComparedRun> read =
          ReadFinishedRun(cell.folder, plugins.aggregates);
      if (read.ok()) run = *std::move(read);
      if (!read.ok()) run.missing = std::string(read.status().message());
    }
    run.label = cells.Name(cell);
    run.seed = absl::StrCat(cell.seed);
    run.coordinates = cells.plan.arms[cell.arm].coordinates;
    grid.runs.push_back(std::move(run));
  }
  // Sorts the report by arm, because cells are trained in the order of seeds.
  std::ranges::stable_sort(grid.runs, {}, &ComparedRun::coordinates);
  return grid;
}

absl::StatusOr<std::string> FinishedText(const SweepCells& cells) {
  std::vector<CellResult> finished;
  for (const CellWithState& cell : cells.cells) {
    if (!cell.IsFinished()) continue;
    REGARD_ASSIGN_OR_RETURN(finished.emplace_back(), ResultOf(cells, cell));
  }
  return CellResultsText(finished);
}

absl::Status WriteSweepReport(const SweepOptions& options,
                              const SweepCells& cells, const ResultGrid& grid) {
  REGARD_RETURN_IF_ERROR(MakeDirectories(options.out, SystemFiles()));
  REGARD_RETURN_IF_ERROR(WriteResults(options, cells));
  const Report report = AblationReport(grid);
  REGARD_RETURN_IF_ERROR(WriteFileAtomically(
      JoinPath(options.out, "report.html"), ReportHtml(report)));
  return WriteFileAtomically(JoinPath(options.out, "report.md"),
                             ReportMarkdown(report));
}

int SweepExitCode(const SweepCells& cells) {
  int code = 0;
  for (const CellWithState& cell : cells.cells) {
    if (cell.state != SweepCellState::kFailed) continue;
    if (cell.record.exit_code == kExitDiverged) {
      if (code == 0) code = kExitDiverged;
    } else if (code == 0 || code == kExitDiverged) {
      // The cell ended with invalid input, a failure of the machine, or a
      // signal.
      code = cell.record.exit_code == kExitWrongInput ? kExitWrongInput
                                                      : kExitFailed;
    }
  }
  return code;
}

}  // namespace regard

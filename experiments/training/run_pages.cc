#include "experiments/training/run_pages.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "experiments/report/attention_file.h"
#include "experiments/report/reported_run.h"
#include "experiments/report/run_report.h"
#include "experiments/report/terminal_text.h"
#include "experiments/run/run_folder.h"
#include "experiments/training/event_log.h"
#include "files/tensorboard/event_writer.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

class Pages : public RunPresenter {
 public:
  absl::StatusOr<std::unique_ptr<TrainingEvents>> BeginEvents(
      const StartedRun& run) const override {
    tensorboard::EventWriterOptions options;
    options.folder = run.folder.File("tensorboard");
    options.resumed_step = run.resumed_step;
    REGARD_ASSIGN_OR_RETURN(EventLog log,
                            EventLog::Open(options, run.total_steps, run.config,
                                           run.task, run.metrics));
    return std::make_unique<EventLog>(std::move(log));
  }

  absl::StatusOr<std::string> WriteReportAndGetText(
      const RunFolder& folder, ReportedRun report) const override {
    REGARD_RETURN_IF_ERROR(folder.Write(
        "attention.json", AttentionJson(report.showcase.heat_maps)));
    REGARD_RETURN_IF_ERROR(folder.Write("report.html", RunReportHtml(report)));
    report.run_path = folder.path();
    report.report_path = folder.File("report.html");
    return RunReportText(report, TerminalStyle());
  }
};

}  // namespace

const RunPresenter& RunPages() {
  static const Pages* const pages = new Pages;
  return *pages;
}

}  // namespace regard

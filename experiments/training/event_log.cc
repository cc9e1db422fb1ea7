#include "experiments/training/event_log.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/experiment.pb.h"
#include "experiments/report/figure.h"
#include "experiments/report/terminal_text.h"
#include "experiments/run/metric.h"
#include "files/file.h"
#include "files/sha256.h"
#include "files/tensorboard/summary.h"
#include "nn/parameters.h"
#include "options/resolved.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

using tensorboard::EscapeMarkdown;
using Value = tensorboard::Summary::Value;

// Maximum number of weights in an image. Larger images would only waste space.
constexpr size_t kMaxCells = size_t{1} << 18;

double Seconds(absl::Time time) {
  return absl::ToDoubleSeconds(time - absl::UnixEpoch());
}

// Returns a name for all runs whose configs differ only in the seed.
std::string GroupOf(Experiment config) {
  config.clear_seed();
  return Sha256Hex(config.DebugString());
}

std::string Words(const std::string& text) {
  return EscapeMarkdown(PrintableText(text));
}

std::string SamplesTable(const Samples& samples) {
  std::string table =
      absl::StrCat("| ", Words(samples.input),
                   " | model | reference |\n| --- | --- | --- |\n");
  for (const ExampleTexts& sample : samples.rows) {
    absl::StrAppend(&table, "| ", Words(sample.input), " | ",
                    Words(sample.output), " | ", Words(sample.reference),
                    " |\n");
  }
  return table;
}

// Returns a text with the labels of a map, because its image shows none.
std::string ImageDescription(const LabelledMatrix& map) {
  constexpr size_t kMaxNamed = 60;
  std::string text = Words(FullTitle(map));
  if (map.rows.size() <= kMaxNamed && map.columns.size() <= kMaxNamed) {
    absl::StrAppend(&text, "\n\nrows: ", Words(absl::StrJoin(map.rows, " ")),
                    "\n\ncolumns: ", Words(absl::StrJoin(map.columns, " ")));
  }
  return text;
}

void AddHistograms(const EvaluatedModel& evaluated,
                   std::vector<Value>* values) {
  const ParameterStore<float>& parameters = evaluated.forward.parameters();
  const auto add = [&](absl::string_view what, absl::Span<const float> slab,
                       const ParameterInfo& info) {
    values->push_back(tensorboard::HistogramValue(
        absl::StrCat(what, "/", info.name),
        slab.subspan(static_cast<size_t>(info.offset),
                     static_cast<size_t>(info.size()))));
  };
  for (const ParameterInfo& info : parameters.parameters()) {
    add("weights", parameters.values(), info);
    if (evaluated.gradient.empty() || !info.options.trainable) continue;
    add("gradients", evaluated.gradient, info);
  }
}

void AddShowcase(const Showcase& showcase, std::vector<Value>* values) {
  if (!showcase.samples.rows.empty()) {
    values->push_back(
        tensorboard::TextValue("samples", SamplesTable(showcase.samples)));
  }
  for (size_t m = 0; m < showcase.heat_maps.size(); ++m) {
    const LabelledMatrix& map = showcase.heat_maps[m];
    const size_t cells = map.rows.size() * map.columns.size();
    if (cells == 0 || cells > kMaxCells) continue;
    for (size_t head = 0; head < map.heads.size(); ++head) {
      const HeatMapImage image = DrawHeatMap(map, head);
      std::string tag = absl::StrCat("attention/sample_", m + 1);
      if (map.heads.size() > 1) absl::StrAppend(&tag, "_head_", head);
      values->push_back(tensorboard::ImageValue(
          tag, ImageDescription(map), image.height, image.width, image.rgb));
    }
  }
}

}  // namespace

EventLog::EventLog(const tensorboard::EventWriterOptions& options,
                   tensorboard::EventWriter writer, int64_t total_steps,
                   const Task& task, absl::Span<const MetricInfo> metrics)
    : clock_(options.clock),
      writer_(std::move(writer)),
      total_steps_(std::max<int64_t>(total_steps, 1)),
      task_(task),
      metrics_(metrics.begin(), metrics.end()),
      last_picture_(PictureIndex(options.resumed_step.value_or(0))) {}

absl::StatusOr<EventLog> EventLog::Open(
    const tensorboard::EventWriterOptions& options, int64_t total_steps,
    const Experiment& config, const Task& task,
    absl::Span<const MetricInfo> metrics) {
  REGARD_ASSIGN_OR_RETURN(
      tensorboard::EventWriter writer,
      tensorboard::EventWriter::Create(options, SystemFiles()));
  EventLog log(options, std::move(writer), total_steps, task, metrics);
  REGARD_RETURN_IF_ERROR(log.writer_.Add(
      options.resumed_step.value_or(0),
      tensorboard::SessionStartValue(ConfigSettings(config), GroupOf(config),
                                     Seconds(options.clock()))));
  REGARD_RETURN_IF_ERROR(log.writer_.Flush());
  return log;
}

absl::Status EventLog::OnMetrics(const MetricsRecord& record) {
  for (const auto& [name, value] : record.metrics) {
    const MetricInfo* info = FindMetric(metrics_, name);
    const std::string description =
        info == nullptr ? "" : EscapeMarkdown(MetricDescription(*info));
    REGARD_RETURN_IF_ERROR(writer_.Add(
        record.step, tensorboard::ScalarValue(name, static_cast<float>(value),
                                              description)));
  }
  return writer_.Flush();
}

// Returns the index of the segment that contains `step`, if the run is divided
// into kMaxPictures equal segments.
int64_t EventLog::PictureIndex(int64_t step) const {
  return step * kMaxPictures / total_steps_;
}

absl::Status EventLog::OnEvaluation(const EvaluatedModel& evaluated) {
  const int64_t picture = PictureIndex(evaluated.step);
  if (picture == last_picture_ && !evaluated.final) return absl::OkStatus();
  last_picture_ = picture;
  std::vector<Value> values;
  AddHistograms(evaluated, &values);
  AddShowcase(task_.Show(evaluated.forward, /*final=*/false), &values);
  for (Value& value : values) {
    REGARD_RETURN_IF_ERROR(writer_.Add(evaluated.step, std::move(value)));
  }
  return writer_.Flush();
}

absl::Status EventLog::End(bool success, int64_t step) {
  REGARD_RETURN_IF_ERROR(writer_.Add(
      step, tensorboard::SessionEndValue(success, Seconds(clock_()))));
  return writer_.Close();
}

}  // namespace regard

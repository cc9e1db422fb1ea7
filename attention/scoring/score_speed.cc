// Prints a Markdown table of the time of self-attention with each built-in
// score, relative to scaled_dot. The times cover the forward and the backward
// pass on one thread.
//
//   score_speed [ROUNDS]
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "attention/attend.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/scoring_function.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "autodiff/testing/interleaved_times.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "options/config_problems.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

constexpr int kRounds = 41;
constexpr double kSeconds = 0.02;  // seconds per score and round
constexpr int64_t kBatch = 4;
constexpr int64_t kHeads = 4;
// By default, `location` supports at most 64 keys.
constexpr int64_t kTime = 64;
constexpr int64_t kWidth = 64;  // width of a head

constexpr ScoreWidths kWidths = {
    .heads = kHeads, .query = kWidth, .key = kWidth};

// Attention that computes only the context, with gradients of queries, keys,
// values and parameters.
class Workload {
 public:
  Workload(const AttentionRegistry& registry, const Attention& config)
      : layer_(registry, config, store_.Root(), kWidths) {
    store_.Finalize(/*seed=*/1);
    gradients_ = std::make_unique<GradientSlab<float>>(store_);
    forward_ =
        std::make_unique<Forward<float>>(tape_, store_, gradients_.get());
    tape_.set_training(true);
    for (size_t i = 0; i < values_.size(); ++i) {
      values_[i] = std::sin(static_cast<float>(i));
    }
  }

  void Step() {
    forward_->BeginStep();
    const auto leaf = [&](size_t i) {
      return tape_.Leaf(values_.data(), grads_.data() + i * values_.size(),
                        kShape);
    };
    AttendInputs<float> inputs;
    inputs.context_only = true;
    inputs.score.queries = leaf(0);
    inputs.score.keys = layer_.Prepare(*forward_, {.keys = leaf(1)});
    inputs.values = leaf(2);
    forward_->Backward({Sum(layer_.Attend(*forward_, inputs).context)}, {1.0});
  }

 private:
  const Shape kShape = {kBatch, kHeads, kTime, kWidth};

  ParameterStore<float> store_;
  AttentionLayer<float> layer_;
  std::unique_ptr<GradientSlab<float>> gradients_;
  Tape<float> tape_;
  std::unique_ptr<Forward<float>> forward_;
  std::vector<float> values_ =
      std::vector<float>(static_cast<size_t>(kShape.size()));
  std::vector<float> grads_ = std::vector<float>(3 * values_.size());
};

struct Row {
  std::string score;
  std::string formula;
  std::unique_ptr<Workload> workload;
};

// Returns a row for each member of the oneof `score`, with its default options,
// and a row for each of two formulas.
std::vector<Row> Rows(const AttentionRegistry& registry) {
  std::vector<Row> rows;
  const auto add = [&](const Attention& config, const std::string& score,
                       const std::string& formula) {
    ConfigProblems problems;
    registry.Validate(config, kWidths, problems);
    REGARD_CHECK(problems.ok()) << score;
    rows.push_back(
        {score, formula, std::make_unique<Workload>(registry, config)});
  };
  const auto* const members = Attention::descriptor()->FindOneofByName("score");
  for (int i = 0; i < members->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* const field = members->field(i);
    const std::string name(field->name());
    if (name == "outside" || name == "formula") continue;
    Attention config;
    config.GetReflection()->MutableMessage(&config, field);
    const ScorerInfo* const info = registry.Find(config);
    REGARD_CHECK(info != nullptr) << name;
    add(config, name, info->description);
  }
  for (const char* const formula : {"q . k / sqrt(d)", "v . tanh(W q + U k)"}) {
    Attention config;
    config.mutable_formula()->set_score(formula);
    add(config, "formula", formula);
  }
  return rows;
}

int Main(int argc, char** argv) {
  const int rounds = RoundsFromArguments(argc, argv, kRounds);
  if (rounds == 0) return 2;
  const AttentionRegistry registry = BuiltInScores();
  const std::vector<Row> rows = Rows(registry);
  std::vector<std::function<void()>> workloads;
  size_t baseline = 0;
  for (const Row& row : rows) {
    if (row.score == "scaled_dot") baseline = workloads.size();
    workloads.emplace_back([&row] { row.workload->Step(); });
  }
  const std::vector<WorkloadTime> times =
      TimeInterleaved(workloads, baseline, rounds, kSeconds);
  std::string table =
      "| score | formula | time / time of scaled_dot (quartiles) |\n"
      "| --- | --- | --- |\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    absl::StrAppend(&table, "| ", rows[i].score, " | `",
                    absl::StrReplaceAll(rows[i].formula, {{"|", "\\|"}}),
                    "` | ", times[i].RatioText(), " |\n");
  }
  std::fputs(table.c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace regard

int main(int argc, char** argv) { return regard::Main(argc, argv); }

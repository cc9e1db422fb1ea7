#include "language/token_classifier.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "attention/transformer/transformer.pb.h"
#include "attention/transformer/validation.h"
#include "autodiff/arena.h"
#include "autodiff/ops/gather.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/tape.h"
#include "evaluation/batches.h"
#include "seq2seq/decoder_lens.h"
#include "seq2seq/output_head.h"
#include "seq2seq/padded_ids.h"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr int64_t kEvaluationTokens = 8192;  // number of tokens read at once
// The maximum number of tokens of an example that are shown.
constexpr size_t kShownTokens = 100;

int64_t CountLabels(const LabelledSequence& sequence) {
  return std::count_if(sequence.labels.begin(), sequence.labels.end(),
                       [](int32_t label) { return label != kNoLabel; });
}

int64_t LongestOf(absl::Span<const LabelledSequence> sequences) {
  int64_t longest = 0;
  for (const LabelledSequence& sequence : sequences) {
    longest = std::max(longest, std::ssize(sequence.tokens));
  }
  return longest;
}

std::string Joined(absl::Span<const int32_t> numbers) {
  return absl::StrCat(absl::StrJoin(numbers.subspan(0, kShownTokens), " "),
                      numbers.size() > kShownTokens ? " ..." : "");
}

std::vector<int32_t> LabelsOf(const LabelledSequence& sequence) {
  std::vector<int32_t> labels;
  std::ranges::copy_if(sequence.labels, std::back_inserter(labels),
                       [](int32_t label) { return label != kNoLabel; });
  return labels;
}

}  // namespace

void ValidateTokenClassifier(const TokenClassifierConfig& config,
                             const AttentionRegistry& scorers,
                             ConfigProblems& problems) {
  const ConfigProblems::Scope scope(problems, "transformer");
  ValidateTransformer(scorers, config.transformer(), /*memory_width=*/0,
                      Direction::kCausal, problems);
  ValidateHasNoSource("a token classifier", config.transformer(), problems);
}

TokenClassifier::TokenClassifier(const TokenClassifierConfig& config,
                                 const AttentionRegistry& scorers,
                                 LabelledTokenSplits data,
                                 const ModelOptions& options)
    : Model(options.loss),
      data_(std::move(data)),
      decoder_(config.transformer(), scorers,
               {.vocabulary = data_.vocabulary, .special_ids = kNoSpecialIds},
               parameters_.Root()) {
  if (options.finalize) parameters_.Finalize(options.seed);
}

void TokenClassifier::ValidateData(ConfigProblems& problems) const {
  const int64_t longest = std::max(
      {LongestOf(data_.train), LongestOf(data_.dev), LongestOf(data_.test)});
  if (decoder_.longest_position() >= longest) return;
  problems.Add(
      "transformer",
      absl::StrCat("reads at most ", decoder_.longest_position(),
                   " positions, but a sequence of the data has ", longest,
                   "; set position_embedding.longest, or "
                   "another position encoding"));
}

int64_t TokenClassifier::num_examples() const {
  return std::ssize(data_.train);
}

int64_t TokenClassifier::CountWork(absl::Span<const int64_t> examples) const {
  int64_t labels = 0;
  for (const int64_t example : examples) {
    labels += CountLabels(data_.train[static_cast<size_t>(example)]);
  }
  return labels;
}

SequenceLengths TokenClassifier::Lengths(int64_t example) const {
  return {std::ssize(data_.train[static_cast<size_t>(example)].tokens), 0};
}

Var<float> TokenClassifier::Readouts(
    Forward<float>& forward, absl::Span<const LabelledSequence> sequences,
    absl::Span<const int64_t> chosen, absl::Span<const int32_t>* labels) const {
  Arena& arena = forward.tape().arena();
  const auto sequence = [&](int64_t row) -> const LabelledSequence& {
    return sequences[static_cast<size_t>(chosen[static_cast<size_t>(row)])];
  };
  const auto rows = static_cast<int64_t>(chosen.size());
  // No position attends to the padding after it.
  const PaddedIds ids = PadSequences(rows, /*pad=*/0, arena, [&](int64_t row) {
    return absl::MakeConstSpan(sequence(row).tokens);
  });
  int64_t count = 0;
  for (int64_t row = 0; row < rows; ++row) count += CountLabels(sequence(row));
  auto* const positions = arena.New<int32_t>(count);
  auto* const targets = arena.New<int32_t>(count);
  int64_t next = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const std::vector<int32_t>& of_row = sequence(row).labels;
    for (size_t i = 0; i < of_row.size(); ++i) {
      if (of_row[i] == kNoLabel) continue;
      positions[next] =
          static_cast<int32_t>(row * ids.time + static_cast<int64_t>(i));
      targets[next++] = of_row[i];
    }
  }
  *labels = {targets, static_cast<size_t>(count)};
  const Var<float> readout = decoder_.Run(forward, {.sources = rows}, ids.ids);
  return Gather(readout.Reshape({readout.rows(), readout.cols()}),
                {positions, static_cast<size_t>(count)}, {count});
}

void TokenClassifier::Loss(Forward<float>& forward,
                           absl::Span<const int64_t> examples,
                           absl::Span<const double>,
                           absl::Span<Var<float>> sums) const {
  absl::Span<const int32_t> labels;
  const Var<float> readouts = Readouts(forward, data_.train, examples, &labels);
  sums[0] = decoder_.head().Loss(forward, readouts, labels,
                                 loss_options().label_smoothing);
}

EvaluatedSet TokenClassifier::Classify(
    Forward<float>& forward,
    absl::Span<const LabelledSequence> sequences) const {
  struct BatchPredictions {
    double loss = 0;
    std::vector<int32_t> best = {};  // one for each label

    auto members() { return std::tie(loss, best); }
  };
  EvaluatedSet set = {
      .length_unit = "tokens",
      .metrics = {{.name = "accuracy", .of_single_examples = true}}};
  double loss = 0;
  double count = 0;
  const auto prediction = [&](Forward<float>& passes,
                              absl::Span<const int64_t> examples) {
    absl::Span<const int32_t> labels;
    const Var<float> readouts = Readouts(passes, sequences, examples, &labels);
    BatchPredictions answers;
    answers.loss =
        ScoreTokens(decoder_.head(), passes, readouts, labels, &answers.best)
            .loss;
    return answers;
  };
  const auto add = [&](absl::Span<const int64_t> examples,
                       const BatchPredictions& answers) {
    loss += answers.loss;
    auto best = answers.best.begin();
    for (const int64_t example : examples) {
      const LabelledSequence& sequence =
          sequences[static_cast<size_t>(example)];
      const std::vector<int32_t> labels = LabelsOf(sequence);
      const std::vector<int32_t> output(best, best + std::ssize(labels));
      best += std::ssize(labels);
      double correct = 0;
      for (size_t i = 0; i < labels.size(); ++i) {
        correct += output[i] == labels[i] ? 1 : 0;
      }
      count += static_cast<double>(labels.size());
      set.metrics[0].Add({correct, static_cast<double>(labels.size())});
      set.examples.push_back({.input = Joined(sequence.tokens),
                              .reference = Joined(labels),
                              .output = Joined(output),
                              .length = std::ssize(sequence.tokens)});
    }
  };
  const auto size = static_cast<int64_t>(sequences.size());
  const int64_t most = std::max<int64_t>(
      1, kEvaluationTokens / std::max<int64_t>(1, LongestOf(sequences)));
  ForEachBatch(forward, size, most, prediction, add);
  set.totals = {{"loss", loss / std::max(1.0, count)}};
  return set;
}

std::vector<EvaluatedSet> TokenClassifier::Evaluate(Forward<float>& forward,
                                                    Split split) const {
  if (split == Split::kTrain) return {};
  const auto& sequences = split == Split::kDev ? data_.dev : data_.test;
  if (sequences.empty()) return {};
  return {Classify(forward, sequences)};
}

absl::StatusOr<LabelledSequence> TokenClassifier::Read(
    const PredictionRequest& request) const {
  REGARD_RETURN_IF_ERROR(CheckIsText(request));
  if (request.example >= 0) {
    const auto& sequences = data_.test.empty() ? data_.dev : data_.test;
    REGARD_RETURN_IF_ERROR(CheckExample(request, sequences.size()));
    return sequences[static_cast<size_t>(request.example)];
  }
  LabelledSequence sequence;
  for (const absl::string_view word :
       absl::StrSplit(request.text, ' ', absl::SkipWhitespace())) {
    int32_t token = 0;
    if (!absl::SimpleAtoi(word, &token) || token < 0 ||
        token >= data_.vocabulary) {
      return absl::InvalidArgumentError(
          absl::StrCat("tokens are numbers in [0, ", data_.vocabulary - 1,
                       "]; got '", word, "'"));
    }
    sequence.tokens.push_back(token);
  }
  if (sequence.tokens.empty()) {
    return absl::InvalidArgumentError("the text must have at least one token");
  }
  if (std::ssize(sequence.tokens) > decoder_.longest_position()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model reads at most ", decoder_.longest_position(),
                     " tokens; the text has ", sequence.tokens.size()));
  }
  sequence.labels.assign(sequence.tokens.size(), kNoLabel);
  sequence.labels.back() = 0;  // the label to predict
  return sequence;
}

absl::StatusOr<Prediction> TokenClassifier::Predict(
    Forward<float>& forward, const PredictionRequest& request,
    const PredictionOutputLimits& options) const {
  REGARD_ASSIGN_OR_RETURN(const LabelledSequence sequence, Read(request));
  forward.BeginStep();
  absl::Span<const int32_t> labels;
  const Var<float> readouts = Readouts(forward, {sequence}, {0}, &labels);
  const Var<float> predicted =
      LogSoftmax(decoder_.head().Logits(forward, readouts));
  Prediction prediction = {.input = Joined(sequence.tokens)};
  if (request.example >= 0) prediction.reference = Joined(LabelsOf(sequence));
  std::vector<std::string> best;
  for (int64_t row = 0; row < predicted.rows(); ++row) {
    prediction.choices.push_back(RankedChoices(
        predicted.span().subspan(static_cast<size_t>(row * predicted.cols()),
                                 static_cast<size_t>(predicted.cols())),
        options.most_choices,
        [](size_t label) { return absl::StrCat(label); }));
    best.push_back(prediction.choices.back()[0].name);
  }
  prediction.text = absl::StrJoin(best, " ");
  return prediction;
}

absl::StatusOr<TraceablePrediction<float>> TokenClassifier::Trace(
    Forward<float>& forward, const PredictionRequest& request,
    const TraceOptions& options) const {
  if (options.beam > 0 || options.target.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.beam > 0 ? "beam" : "target",
                     ": does not apply to a token classifier, which explains "
                     "the labels that it predicts"));
  }
  REGARD_ASSIGN_OR_RETURN(LabelledSequence sequence, Read(request));
  REGARD_RETURN_IF_ERROR(
      CheckTracedSize("input", sequence.tokens.size(), options.most_tokens));
  std::vector<std::string> names;
  for (const int32_t token : sequence.tokens) {
    names.push_back(absl::StrCat(token));
  }
  // The trace explains the model's own predictions.
  REGARD_ASSIGN_OR_RETURN(const Prediction prediction,
                          Predict(forward, request, {.most_choices = 1}));
  TraceablePrediction<float> traced;
  TraceDescription& traced_labels = traced.labels;
  traced_labels.input = Joined(sequence.tokens);
  traced_labels.prediction = prediction.text;
  traced_labels.sequences.push_back({.name = "tokens", .labels = names});
  size_t next = 0;
  for (size_t i = 0; i < sequence.labels.size(); ++i) {
    if (sequence.labels[i] == kNoLabel) continue;
    const std::string& best = prediction.choices[next++][0].name;
    REGARD_CHECK(absl::SimpleAtoi(best, &sequence.labels[i])) << best;
    traced_labels.outputs.push_back({best, static_cast<int64_t>(i)});
  }
  traced_labels.sites = {{"*", 0, 0}};
  traced_labels.chosen = std::ssize(prediction.choices) - 1;
  traced_labels.successive = true;
  traced_labels.alignment = "decoder/layers[*]/self/attention/weights";
  traced.pass = [this, sequence](Forward<float>& with) {
    absl::Span<const int32_t> labels;
    const Var<float> readouts = Readouts(with, {sequence}, {0}, &labels);
    return PickPerRow(LogSoftmax(decoder_.head().Logits(with, readouts)),
                      labels);
  };
  traced.lens = MakeLogitLens<float>(
      decoder_, names, [](size_t label) { return absl::StrCat(label); });
  return traced;
}

}  // namespace regard

#include "language/text_classifier.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "attention/kernels/weighted_values.h"
#include "attention/transformer/initialization.h"
#include "autodiff/ops/dropout.h"
#include "autodiff/ops/loss.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/tape.h"
#include "evaluation/batches.h"
#include "language/bert_trace.h"
#include "language/cut_note.h"
#include "language/masked_text.h"
#include "seq2seq/padded_ids.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// The number of special tokens: [CLS] and [SEP], and another [SEP] for a pair.
constexpr int64_t kShortestText = 2;
constexpr int64_t kShortestPair = 3;

// Returns the text, or both texts of a pair joined by `separator`.
std::string Joined(const LabelledText& text, absl::string_view separator) {
  if (!text.second.has_value()) return text.text;
  return absl::StrCat(text.text, separator, *text.second);
}

std::vector<absl::string_view> TextsOf(const LabelledText& text) {
  std::vector<absl::string_view> texts = {text.text};
  if (text.second.has_value()) texts.push_back(*text.second);
  return texts;
}

// The number of texts that an evaluation reads at once.
constexpr int64_t kEvaluationTexts = 64;

}  // namespace

void ValidateTextClassifier(const TextClassifierConfig& config,
                            const AttentionRegistry& scorers,
                            ConfigProblems& problems) {
  problems.CheckOwnRanges(config);
  if (config.has_pretrained() && config.pretrained().empty()) {
    problems.Add("pretrained", "must name a run");
  }
  const ConfigProblems::Scope scope(problems, "bert");
  if (config.pooling() == TextClassifierConfig::POOLER &&
      !config.bert().pooler()) {
    problems.Add("pooler", "must be true for pooling: POOLER");
  }
  ValidateBert(config.bert(), scorers, problems);
  const PositionEmbeddingConfig positions =
      BertTransformer(config.bert()).position_embedding();
  if (positions.kind() == PositionEmbeddingConfig::LEARNED &&
      positions.longest() == 1) {
    problems.Add(
        "transformer.position_embedding.longest",
        "must be at least 2: a text begins and ends with a special token");
  }
  const ConfigProblems::Scope inner(problems, "masked_words");
  ValidateMaskedWords(config.bert().masked_words(), problems);
}

TextClassifier::TextClassifier(const TextClassifierConfig& config,
                               const AttentionRegistry& scorers,
                               WordPiece pieces, LabelledSplits data,
                               const ModelOptions& options)
    : BertBasedModel(options.loss),
      config_(config),
      pieces_(std::move(pieces)),
      data_(std::move(data)),
      names_(data_.labels),
      bert_(config.bert(), scorers, pieces_.size(), parameters_.Root()),
      classifier_(
          parameters_.Root().Sub("classifier"), bert_.width(),
          static_cast<int64_t>(data_.labels.size()),
          LinearInitialization(BertTransformer(config.bert()).initialization(),
                               /*bias=*/true)),
      train_(Encode(data_.train)) {
  if (options.finalize) parameters_.Finalize(options.seed);
}

void TextClassifier::ValidateData(ConfigProblems& problems) const {
  if (bert_.longest_position() < kShortestText) {
    problems.Add("bert.transformer.attention.attention",
                 absl::StrCat("must support at least ", kShortestText,
                              " positions, for [CLS] and [SEP]; supports only ",
                              bert_.longest_position()));
    return;
  }
  for (const auto* split : {&data_.train, &data_.dev, &data_.test}) {
    if (split->empty()) continue;
    // A data source contains only single texts or only pairs, so checking one
    // text is enough.
    const std::string reason = ReasonToReject(split->front());
    if (!reason.empty()) return problems.Add("bert", reason);
  }
}

std::string TextClassifier::ReasonToReject(const LabelledText& text) const {
  if (!text.second.has_value()) {
    return longest() >= kShortestText
               ? ""
               : "the model must read at least 2 tokens, [CLS] and [SEP]";
  }
  if (config_.bert().types() < 2) {
    return "pairs of texts require types: 2 or more; with types: 1, the model "
           "reads only single texts";
  }
  if (longest() >= kShortestPair) return "";
  return absl::StrCat("the model reads at most ", longest(),
                      " tokens, but a pair of texts has at least ",
                      kShortestPair);
}

int64_t TextClassifier::longest() const {
  return std::min<int64_t>(config_.bert().masked_words().block(),
                           bert_.longest_position());
}

auto TextClassifier::Encode(const LabelledText& text) const -> Example {
  if (text.second.has_value()) {
    EncodedPair pair = pieces_.EncodePair(text.text, *text.second, longest());
    return {std::move(pair.ids), pair.second, text.label};
  }
  std::vector<int32_t> ids = pieces_.Encode(text.text, longest());
  const auto size = std::ssize(ids);
  return {std::move(ids), size, text.label};
}

auto TextClassifier::Encode(absl::Span<const LabelledText> texts) const
    -> std::vector<Example> {
  std::vector<Example> examples;
  for (const LabelledText& text : texts) {
    if (!ReasonToReject(text).empty()) return {};
    examples.push_back(Encode(text));
  }
  return examples;
}

Var<float> TextClassifier::Logits(Forward<float>& forward,
                                  const std::vector<Example>& texts,
                                  absl::Span<const int64_t> examples,
                                  absl::Span<const int32_t>* labels) const {
  Arena& arena = forward.tape().arena();
  const auto size = static_cast<int64_t>(examples.size());
  const auto text = [&](int64_t row) -> const Example& {
    return texts[static_cast<size_t>(examples[static_cast<size_t>(row)])];
  };
  auto* const targets = arena.New<int32_t>(size);
  for (int64_t row = 0; row < size; ++row) targets[row] = text(row).label;
  *labels = {targets, examples.size()};
  const PaddedIds ids = PadSequences(
      size, pieces_.separator(), arena,
      [&](int64_t row) { return absl::MakeConstSpan(text(row).ids); });
  BertBatch batch = {.size = size, .ids = ids.ids, .lengths = ids.lengths};
  auto* const types = arena.New<int32_t>(size * ids.time);
  bool pairs = false;
  for (int64_t row = 0; row < size; ++row) {
    for (int64_t i = 0; i < ids.time; ++i) {
      const bool second = i >= text(row).second && i < ids.lengths[row];
      types[row * ids.time + i] = second ? 1 : 0;
      pairs = pairs || second;
    }
  }
  if (pairs) batch.types = {types, static_cast<size_t>(size * ids.time)};
  return Head(forward, bert_(forward, batch), batch.lengths);
}

Var<float> TextClassifier::Head(Forward<float>& forward, Var<float> hidden,
                                absl::Span<const int32_t> lengths) const {
  const Var<float> read = config_.pooling() == TextClassifierConfig::POOLER
                              ? bert_.Pool(forward, hidden)
                              : MeanOfFirstRows(hidden, lengths);
  const Var<float> readout =
      Dropout(read, static_cast<float>(config_.dropout()), "classifier");
  return forward.Site("logits",
                      classifier_(forward, forward.Site("readout", readout)));
}

void TextClassifier::Loss(Forward<float>& forward,
                          absl::Span<const int64_t> examples,
                          absl::Span<const double>,
                          absl::Span<Var<float>> sums) const {
  absl::Span<const int32_t> labels;
  const Var<float> logits = Logits(forward, train_, examples, &labels);
  sums[0] = CrossEntropy(logits, labels,
                         {.label_smoothing = loss_options().label_smoothing});
}

EvaluatedSet TextClassifier::Classify(
    Forward<float>& forward, absl::Span<const LabelledText> texts) const {
  const std::vector<Example> encoded = Encode(texts);
  EvaluatedSet set = {.metrics = {{"accuracy"}}};
  double loss = 0;
  struct BatchPredictions {
    double loss = 0;
    std::vector<int32_t> best = {};

    auto members() { return std::tie(loss, best); }
  };
  const auto prediction = [&](Forward<float>& passes,
                              absl::Span<const int64_t> examples) {
    absl::Span<const int32_t> labels;
    const Var<float> logits = Logits(passes, encoded, examples, &labels);
    const auto row_of = [&](const Var<float>& rows, size_t i) {
      const absl::Span<const float> all = rows.span();
      return all.subspan(i * data_.labels.size(), data_.labels.size());
    };
    BatchPredictions answers;
    for (size_t i = 0; i < labels.size(); ++i) {
      answers.best.push_back(names_.BestCanonicalLabel(row_of(logits, i)));
    }
    if (names_.note().empty()) {
      answers.loss = static_cast<double>(CrossEntropy(logits, labels).item());
      return answers;
    }
    const Var<float> predicted = LogSoftmax(logits);
    for (size_t i = 0; i < labels.size(); ++i) {
      answers.loss += names_.Loss(row_of(predicted, i), labels[i]);
    }
    return answers;
  };
  const auto add = [&](absl::Span<const int64_t> examples,
                       const BatchPredictions& answers) {
    loss += answers.loss;
    for (size_t i = 0; i < examples.size(); ++i) {
      const LabelledText& text = texts[static_cast<size_t>(examples[i])];
      const int32_t best = answers.best[i];
      set.metrics[0].Add(
          {best == names_.CanonicalLabel(text.label) ? 1.0 : 0.0, 1});
      set.examples.push_back(
          {.input = Joined(text, " | "),
           .reference = data_.labels[static_cast<size_t>(text.label)],
           .output = data_.labels[static_cast<size_t>(best)]});
    }
  };
  const auto size = static_cast<int64_t>(texts.size());
  ForEachBatch(forward, size, kEvaluationTexts, prediction, add);
  set.totals = {{"loss", loss / static_cast<double>(size)}};
  return set;
}

std::vector<float> TextClassifier::Predict(Forward<float>& forward,
                                           const LabelledText& text) const {
  const std::vector<Example> encoded = {Encode(text)};
  forward.BeginStep();
  absl::Span<const int32_t> labels;
  const Var<float> predicted =
      LogSoftmax(Logits(forward, encoded, {0}, &labels));
  return {predicted.span().begin(), predicted.span().end()};
}

absl::StatusOr<LabelledText> TextClassifier::Read(
    const PredictionRequest& request) const {
  REGARD_RETURN_IF_ERROR(CheckIsText(request));
  if (request.example >= 0) {
    const std::vector<LabelledText>& texts =
        data_.test.empty() ? data_.dev : data_.test;
    REGARD_RETURN_IF_ERROR(CheckExample(request, texts.size()));
    return texts[static_cast<size_t>(request.example)];
  }
  REGARD_ASSIGN_OR_RETURN(const auto parts, ParseTextOrPair(request.text));
  LabelledText text = {.text = std::string(parts[0]), .label = -1};
  if (parts.size() == 2) text.second = std::string(parts[1]);
  const std::string reason = ReasonToReject(text);
  if (!reason.empty()) return absl::InvalidArgumentError(reason);
  return text;
}

absl::StatusOr<Prediction> TextClassifier::Predict(
    Forward<float>& forward, const PredictionRequest& request,
    const PredictionOutputLimits& options) const {
  const std::vector<std::string>& labels = data_.labels;
  REGARD_ASSIGN_OR_RETURN(const LabelledText text, Read(request));
  Prediction prediction = {.input = Joined(text, "\t")};
  prediction.notes = TruncationNotes(pieces_, TextsOf(text), longest());
  if (text.label >= 0) {
    prediction.reference = labels[static_cast<size_t>(text.label)];
  }
  prediction.choices.push_back(
      RankedChoices(Predict(forward, text), options.most_choices,
                    [&](size_t label) { return labels[label]; }));
  prediction.text = prediction.choices[0][0].name;
  return prediction;
}

absl::StatusOr<TraceablePrediction<float>> TextClassifier::Trace(
    Forward<float>& forward, const PredictionRequest& request,
    const TraceOptions& options) const {
  REGARD_RETURN_IF_ERROR(CheckNoTarget(options));
  REGARD_ASSIGN_OR_RETURN(const LabelledText text, Read(request));
  const std::vector<Example> encoded = {Encode(text)};
  REGARD_RETURN_IF_ERROR(
      CheckTracedSize("input", encoded[0].ids.size(), options.most_tokens));
  TraceablePrediction<float> traced = {
      .labels = BertTraceDescription(pieces_, encoded[0].ids)};
  TraceDescription& labels = traced.labels;
  labels.input = Joined(text, "\t");
  labels.notes = TruncationNotes(pieces_, TextsOf(text), longest());
  for (const std::string& name : data_.labels) labels.outputs.push_back({name});
  const std::vector<float> predicted = Predict(forward, text);
  labels.chosen =
      std::max_element(predicted.begin(), predicted.end()) - predicted.begin();
  labels.prediction = data_.labels[static_cast<size_t>(labels.chosen)];
  traced.pass = [this, encoded](Forward<float>& with) {
    absl::Span<const int32_t> ignored;
    const Var<float> logits = LogSoftmax(Logits(with, encoded, {0}, &ignored));
    return logits.Reshape({logits.cols()});
  };
  traced.lens = {.sites = kBertResiduals,
                 .rows = {"the class"},
                 .log_probabilities =
                     [this](Forward<float>& with, Var<float> residual) {
                       const Var<float> hidden =
                           bert_.stack().ApplyFinalNorm(with, residual);
                       Arena& arena = with.tape().arena();
                       auto* const length = arena.New<int32_t>(1);
                       *length = static_cast<int32_t>(hidden.dim(1));
                       return LogSoftmax(Head(with, hidden, {length, 1}));
                     },
                 .name = [this](size_t label) { return data_.labels[label]; }};
  return traced;
}

std::vector<EvaluatedSet> TextClassifier::Evaluate(Forward<float>& forward,
                                                   Split split) const {
  if (split == Split::kTrain) return {};
  const std::vector<LabelledText>& texts =
      split == Split::kDev ? data_.dev : data_.test;
  if (texts.empty()) return {};
  return {Classify(forward, texts)};
}

}  // namespace regard

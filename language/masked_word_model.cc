#include "language/masked_word_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "attention/transformer/initialization.h"
#include "autodiff/ops/gather.h"
#include "autodiff/ops/loss.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/tape.h"
#include "evaluation/batches.h"
#include "language/bert_trace.h"
#include "language/cut_note.h"
#include "language/text_pairs.h"
#include "seq2seq/output_head.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// The fraction of tokens that evaluations predict. Does not depend on the
// config.
constexpr double kEvaluationShare = 0.15;
// The seed of the masks in evaluations. Does not depend on the config.
constexpr uint64_t kEvaluationSeed = 0x7E57;
// The number of ids that an evaluation reads at once if no example has more.
constexpr int64_t kEvaluationIds = 4096;

// Returns the outputs at the predicted positions, [positions, width].
Var<float> AtPositions(Var<float> hidden, absl::Span<const int32_t> positions) {
  return Gather(hidden.Reshape({hidden.rows(), hidden.cols()}), positions,
                {static_cast<int64_t>(positions.size())});
}

std::vector<int64_t> CountIds(const EncodedText& text, int32_t vocabulary) {
  std::vector<int64_t> counts(static_cast<size_t>(vocabulary));
  for (const int32_t id : text.ids) ++counts[static_cast<size_t>(id)];
  return counts;
}

}  // namespace

void ValidateMaskedWordModel(const BertConfig& config,
                             const AttentionRegistry& scorers,
                             ConfigProblems& problems) {
  ValidateBert(config, scorers, problems);
  const MaskedWordsConfig& masked = config.masked_words();
  if (masked.next_sentence() && !config.pooler()) {
    problems.Add("pooler", "must be true with next_sentence: true");
  }
  if (masked.next_sentence() && config.types() < 2) {
    problems.Add("types", "must be at least 2 with next_sentence: true");
  }
  const ConfigProblems::Scope scope(problems, "masked_words");
  ValidateMaskedWords(masked, problems);
}

std::vector<bool> MaskedWordModel::MaskableTokens() const {
  // Without a training text, as in a model folder, all tokens are known.
  const int64_t least =
      train_ids_.ids.empty() ? 0 : config_.masked_words().min_frequency();
  std::vector<bool> known;
  for (int32_t id = 0; id < pieces_.size(); ++id) {
    known.push_back(!pieces_.IsSpecial(id) &&
                    counts_[static_cast<size_t>(id)] >= least);
  }
  return known;
}

MaskedWordModel::MaskedWordModel(const BertConfig& config,
                                 const AttentionRegistry& scorers,
                                 WordPiece pieces, const TextSplits& text,
                                 const ModelOptions& options)
    : BertBasedModel(options.loss),
      config_(config),
      options_(options),
      pieces_(std::move(pieces)),
      train_ids_(EncodeLines(pieces_, text.train)),
      dev_ids_(EncodeLines(pieces_, text.dev)),
      test_ids_(EncodeLines(pieces_, text.test)),
      counts_(CountIds(train_ids_, pieces_.size())),
      known_(MaskableTokens()),
      train_(pieces_, config.masked_words(), train_ids_, known_, options.seed),
      dev_(pieces_, config.masked_words(), dev_ids_, known_, kEvaluationSeed),
      test_(pieces_, config.masked_words(), test_ids_, known_, kEvaluationSeed),
      bert_(config, scorers, pieces_.size(), parameters_.Root()),
      head_(BertTransformer(config), bert_.embedding(), kNoSpecialIds,
            parameters_.Root().Sub("masked_words")) {
  const MaskedWordsConfig& masked = config.masked_words();
  if (masked.next_sentence()) {
    next_sentence_.emplace(
        parameters_.Root().Sub("next_sentence"), bert_.width(), 2,
        LinearInitialization(BertTransformer(config).initialization(),
                             /*bias=*/true));
    AddLossTerm("next_sentence_loss", masked.next_sentence_weight());
  }
  if (options.finalize) parameters_.Finalize(options.seed);
}

int64_t MaskedWordModel::longest() const {
  return std::min<int64_t>(config_.masked_words().block(),
                           bert_.longest_position());
}

void MaskedWordModel::ValidateData(ConfigProblems& problems) const {
  const MaskedWordsConfig& masked = config_.masked_words();
  if (pieces_.mask() < 0) {
    problems.Add("masked_words.vocabulary", "must contain the token [MASK]");
  }
  if (bert_.longest_position() < masked.block()) {
    problems.Add(
        "masked_words.block",
        absl::StrCat("must be at most ", bert_.longest_position(),
                     ", the number of positions that the model supports"));
  }
  const bool any = std::any_of(known_.begin(), known_.end(),
                               [](bool known) { return known; });
  if (!any) {
    problems.Add("masked_words",
                 "requires at least one known token that can be masked; the "
                 "vocabulary has none");
  }
}

int64_t MaskedWordModel::CountWork(absl::Span<const int64_t> examples) const {
  int64_t count = 0;
  for (const int64_t example : examples) count += train_.NumPredicted(example);
  return count;
}

void MaskedWordModel::Loss(Forward<float>& forward,
                           absl::Span<const int64_t> examples,
                           absl::Span<const double>,
                           absl::Span<Var<float>> sums) const {
  Tape<float>& tape = forward.tape();
  const MaskedWordsConfig& masked = config_.masked_words();
  const MaskedBatch batch =
      train_.MakeBatch(examples,
                       {.share = masked.share(),
                        .mask_share = masked.mask_share(),
                        .random_share = masked.random_share(),
                        .seed = options_.seed,
                        .step = tape.random().step},
                       tape.arena());
  const Var<float> hidden = bert_(forward, batch.input);
  sums[0] = batch.targets.empty()
                ? tape.Full({}, 0.0F)
                : head_.Loss(forward, AtPositions(hidden, batch.positions),
                             batch.targets, options_.loss.label_smoothing);
  if (!next_sentence_.has_value()) return;
  sums[1] = CrossEntropy(
      (*next_sentence_)(forward, bert_.Pool(forward, hidden)), batch.apart);
}

MaskedText::Masking MaskedWordModel::EvaluationMasking() {
  return {.share = kEvaluationShare,
          .mask_share = 1,
          .random_share = 0,
          .seed = kEvaluationSeed,
          .step = 0};
}

std::string MaskedWordModel::JoinTokens(absl::Span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) {
    if (id == pieces_.classifier()) continue;
    absl::StrAppend(&text, text.empty() ? "" : " ", pieces_.Token(id));
  }
  return text;
}

EvaluatedSet MaskedWordModel::Predict(
    Forward<float>& forward, const MaskedText& text,
    absl::Span<const int64_t> examples) const {
  double known_total = 0;
  for (size_t id = 0; id < counts_.size(); ++id) {
    if (known_[id]) known_total += static_cast<double>(counts_[id]);
  }
  EvaluatedSet set;
  MetricOverExamples token_accuracy = {"token_accuracy"};
  MetricOverExamples next_accuracy = {"next_sentence_accuracy"};
  TokenScoreSums sum;
  double unigram = 0;
  double next_loss = 0;
  struct Example : ExampleTexts {
    auto members() { return std::tie(input, reference, output); }
  };
  struct Measured {
    TokenScoreSums scores;
    std::vector<int32_t> targets;
    std::vector<Example> examples;
    // For each example, the number of correct predictions and the number of all
    // predictions.
    std::vector<std::array<double, 2>> right;
    double next_loss = 0;
    std::vector<double> next_right;

    auto members() {
      return std::tie(scores, targets, examples, right, next_loss, next_right);
    }
  };
  const auto measure = [&](Forward<float>& passes,
                           absl::Span<const int64_t> numbers) {
    Measured measured;
    const MaskedBatch batch =
        text.MakeBatch(examples.subspan(numbers[0], numbers.size()),
                       EvaluationMasking(), passes.tape().arena());
    const Var<float> hidden = bert_(passes, batch.input);
    std::vector<int32_t> predicted;
    if (!batch.targets.empty()) {
      measured.scores =
          ScoreTokens(head_, passes, AtPositions(hidden, batch.positions),
                      batch.targets, &predicted);
    }
    measured.targets.assign(batch.targets.begin(), batch.targets.end());
    const size_t time = batch.input.ids.size() / numbers.size();
    size_t masked = 0;
    for (size_t row = 0; row < numbers.size(); ++row) {
      // The targets and predictions, ordered by position.
      std::map<int32_t, std::pair<int32_t, int32_t>> tokens;
      for (; masked < predicted.size() &&
             static_cast<size_t>(batch.positions[masked]) < (row + 1) * time;
           ++masked) {
        tokens[batch.positions[masked]] = {batch.targets[masked],
                                           predicted[masked]};
      }
      ExampleTexts& example = measured.examples.emplace_back();
      example.input = JoinTokens(
          batch.input.ids.subspan(row * time, batch.input.lengths[row]));
      double correct = 0;
      for (const auto& [position, token] : tokens) {
        const char* const space = example.output.empty() ? "" : " ";
        absl::StrAppend(&example.reference, space, JoinTokens({token.first}));
        absl::StrAppend(&example.output, space, JoinTokens({token.second}));
        correct += token.first == token.second ? 1 : 0;
      }
      measured.right.push_back({correct, static_cast<double>(tokens.size())});
    }
    if (!next_sentence_.has_value()) return measured;
    const Var<float> logits =
        (*next_sentence_)(passes, bert_.Pool(passes, hidden));
    measured.next_loss =
        static_cast<double>(CrossEntropy(logits, batch.apart).item());
    for (size_t i = 0; i < batch.apart.size(); ++i) {
      const float* const row = logits.data() + 2 * i;
      measured.next_right.push_back(
          (row[1] > row[0]) == (batch.apart[i] == 1) ? 1 : 0);
    }
    return measured;
  };
  const auto add = [&](auto, Measured&& measured) {
    sum += measured.scores;
    for (const int32_t target : measured.targets) {
      unigram -=
          std::log(static_cast<double>(counts_[static_cast<size_t>(target)]) /
                   known_total);
    }
    for (size_t row = 0; row < measured.examples.size(); ++row) {
      set.examples.push_back(std::move(measured.examples[row]));
      token_accuracy.Add({measured.right[row][0], measured.right[row][1]});
    }
    next_loss += measured.next_loss;
    for (const double right : measured.next_right) {
      next_accuracy.Add({right, 1});
    }
  };
  const auto size = static_cast<int64_t>(examples.size());
  const int64_t at_once =
      std::max<int64_t>(1, kEvaluationIds / config_.masked_words().block());
  ForEachBatch(forward, size, at_once, measure, add);
  if (sum.count > 0) {
    const auto count = static_cast<double>(sum.count);
    set.totals["loss"] = sum.loss / count;
    if (known_total > 0) set.totals["unigram_loss"] = unigram / count;
    set.metrics.push_back(std::move(token_accuracy));
  }
  if (next_sentence_.has_value()) {
    set.totals["next_sentence_loss"] = next_loss / static_cast<double>(size);
    set.metrics.push_back(std::move(next_accuracy));
  }
  return set;
}

absl::StatusOr<MaskedWordModel::EncodedInput> MaskedWordModel::ReadTyped(
    absl::string_view text) const {
  std::vector<absl::string_view> parts = {text};
  if (next_sentence_.has_value()) {
    REGARD_ASSIGN_OR_RETURN(parts, ParseTextOrPair(text));
  }
  EncodedInput input = {.pair = parts.size() > 1};
  if (const int least = input.pair ? 3 : 2; longest() < least) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model reads at most ", longest(),
                     " tokens, but an input has at least ", least));
  }
  input.notes = TruncationNotes(pieces_, parts, longest());
  if (!input.pair) {
    input.ids = pieces_.Encode(text, longest());
    return input;
  }
  EncodedPair pair = pieces_.EncodePair(parts[0], parts[1], longest());
  input.ids = std::move(pair.ids);
  input.types.resize(input.ids.size(), 1);
  std::fill_n(input.types.begin(), pair.second, 0);
  return input;
}

absl::StatusOr<MaskedWordModel::EncodedInput> MaskedWordModel::Read(
    Forward<float>& forward, const PredictionRequest& request) const {
  REGARD_RETURN_IF_ERROR(CheckIsText(request));
  forward.BeginStep();
  EncodedInput input;
  if (request.example < 0) {
    REGARD_ASSIGN_OR_RETURN(input, ReadTyped(request.text));
    input.text = request.text;
  } else {
    const MaskedText& text = test_.size() > 0 ? test_ : dev_;
    REGARD_RETURN_IF_ERROR(
        CheckExample(request, static_cast<size_t>(text.size())));
    const MaskedBatch masked = text.MakeBatch(
        {request.example}, EvaluationMasking(), forward.tape().arena());
    input.types.assign(masked.input.types.begin(), masked.input.types.end());
    input.ids.assign(masked.input.ids.begin(), masked.input.ids.end());
    input.text = JoinTokens(input.ids);
    // The targets, ordered by position.
    std::map<int32_t, int32_t> targets;
    for (size_t i = 0; i < masked.targets.size(); ++i) {
      targets[masked.positions[i]] = masked.targets[i];
    }
    std::vector<int32_t> whole = input.ids;
    for (const auto& [position, id] : targets) {
      whole[static_cast<size_t>(position)] = id;
    }
    input.reference = JoinTokens(whole);
  }
  for (size_t i = 0; i < input.ids.size(); ++i) {
    if (input.ids[i] == pieces_.mask()) {
      input.positions.push_back(static_cast<int32_t>(i));
    }
  }
  return input;
}

absl::Status MaskedWordModel::NoMaskError(
    const PredictionRequest& request) const {
  if (request.example >= 0) {
    return absl::InvalidArgumentError(
        "no token of this example is masked: only known tokens can be masked");
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "expected a text with [MASK] among its first ", longest(), " tokens",
      next_sentence_.has_value() ? ", or a pair separated by a tab" : "",
      "; got '", request.text, "'"));
}

Prediction MaskedWordModel::PredictPair(
    Forward<float>& forward, const EncodedInput& input,
    const PredictionOutputLimits& options) const {
  const Var<float> hidden =
      bert_(forward, {.size = 1, .ids = input.ids, .types = input.types});
  const Var<float> predicted =
      LogSoftmax((*next_sentence_)(forward, bert_.Pool(forward, hidden)));
  Prediction prediction = {.input = input.text, .notes = input.notes};
  prediction.choices.push_back(
      RankedChoices(predicted.span(), options.most_choices,
                    [](size_t id) { return std::string(kPairClasses[id]); }));
  prediction.text =
      kPairClasses[predicted.span()[0] < predicted.span()[1] ? 1 : 0];
  return prediction;
}

Var<float> MaskedWordModel::MaskLogProbabilities(
    Forward<float>& forward, const EncodedInput& input) const {
  const Var<float> hidden =
      bert_(forward, {.size = 1, .ids = input.ids, .types = input.types});
  return LogSoftmax(
      head_.Logits(forward, AtPositions(hidden, input.positions)));
}

std::string MaskedWordModel::FilledText(const PredictionRequest& request,
                                        const EncodedInput& input,
                                        absl::Span<const int32_t> words) const {
  if (request.example >= 0) {
    std::vector<int32_t> ids = input.ids;
    for (size_t i = 0; i < words.size(); ++i) {
      ids[static_cast<size_t>(input.positions[i])] = words[i];
    }
    return JoinTokens(ids);
  }
  if (!input.pair) return pieces_.FillIn(request.text, words);
  // Counts the masks that remain in the first text, which may be truncated.
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(request.text, '\t');
  const auto of_first = static_cast<size_t>(
      std::ranges::count_if(input.positions, [&](int32_t position) {
        return input.types[static_cast<size_t>(position)] == 0;
      }));
  return absl::StrCat(pieces_.FillIn(parts.first, words.first(of_first)), "\t",
                      pieces_.FillIn(parts.second, words.subspan(of_first)));
}

absl::StatusOr<Prediction> MaskedWordModel::Predict(
    Forward<float>& forward, const PredictionRequest& request,
    const PredictionOutputLimits& options) const {
  REGARD_ASSIGN_OR_RETURN(const EncodedInput input, Read(forward, request));
  if (input.positions.empty()) {
    if (input.pair) return PredictPair(forward, input, options);
    return NoMaskError(request);
  }
  Prediction prediction = {
      .input = input.text, .reference = input.reference, .notes = input.notes};
  const Var<float> predicted = MaskLogProbabilities(forward, input);
  std::vector<int32_t> words;
  for (size_t i = 0; i < input.positions.size(); ++i) {
    const auto row =
        predicted.span().subspan(i * predicted.cols(), predicted.cols());
    words.push_back(static_cast<int32_t>(
        std::max_element(row.begin(), row.end()) - row.begin()));
    prediction.choices.push_back(RankedChoices(
        row, options.most_choices,
        [&](size_t id) { return pieces_.Token(static_cast<int32_t>(id)); }));
  }
  prediction.text = FilledText(request, input, words);
  return prediction;
}

absl::StatusOr<TraceablePrediction<float>> MaskedWordModel::Trace(
    Forward<float>& forward, const PredictionRequest& request,
    const TraceOptions& options) const {
  REGARD_RETURN_IF_ERROR(CheckNoTarget(options));
  REGARD_ASSIGN_OR_RETURN(const EncodedInput input, Read(forward, request));
  REGARD_RETURN_IF_ERROR(
      CheckTracedSize("input", input.ids.size(), options.most_tokens));
  TraceablePrediction<float> traced = {
      .labels = BertTraceDescription(pieces_, input.ids)};
  TraceDescription& labels = traced.labels;
  labels.input = input.text;
  labels.notes = input.notes;
  if (input.positions.empty()) {
    // The trace must show the typed text, so the text must not be truncated.
    const auto size = std::ssize(pieces_.Tokenize(request.text));
    if (size + (input.pair ? 3 : 2) > longest()) return NoMaskError(request);
    labels.prediction = absl::StrJoin(labels.sequences[0].labels, " ");
    traced.pass = [this, input](Forward<float>& with) {
      bert_(with, {.size = 1, .ids = input.ids, .types = input.types});
      return Var<float>();
    };
    return traced;
  }
  const auto name = [this](size_t id) {
    return pieces_.Token(static_cast<int32_t>(id));
  };
  const Var<float> predicted = MaskLogProbabilities(forward, input);
  std::vector<int32_t> likeliest;
  for (size_t i = 0; i < input.positions.size(); ++i) {
    const auto row =
        predicted.span().subspan(i * predicted.cols(), predicted.cols());
    likeliest.push_back(static_cast<int32_t>(
        std::max_element(row.begin(), row.end()) - row.begin()));
    const int32_t position = input.positions[i];
    labels.outputs.push_back(
        {name(static_cast<size_t>(likeliest.back())), position});
    traced.lens.rows.push_back(absl::StrCat("[MASK] at ", position));
  }
  labels.prediction = FilledText(request, input, likeliest);
  labels.alignment = "bert/layers[*]/self/attention/weights";
  traced.pass = [this, input, likeliest](Forward<float>& with) {
    return PickPerRow(MaskLogProbabilities(with, input), likeliest);
  };
  traced.lens.sites = kBertResiduals;
  traced.lens.name = name;
  traced.lens.log_probabilities = [this, positions = input.positions](
                                      Forward<float>& with, Var<float> x) {
    const Var<float> hidden = bert_.stack().ApplyFinalNorm(with, x);
    return LogSoftmax(head_.Logits(with, AtPositions(hidden, positions)));
  };
  return traced;
}

std::vector<EvaluatedSet> MaskedWordModel::Evaluate(Forward<float>& forward,
                                                    Split split) const {
  if (split == Split::kTrain) return {};
  const MaskedText& text = split == Split::kDev ? dev_ : test_;
  if (text.size() == 0) return {};
  std::vector<int64_t> all(static_cast<size_t>(text.size()));
  std::iota(all.begin(), all.end(), 0);
  return {Predict(forward, text, all)};
}

}  // namespace regard

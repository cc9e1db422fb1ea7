#include "language/text_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/tape.h"
#include "evaluation/batches.h"
#include "language/generator.h"
#include "language/prefix_matching.h"
#include "seq2seq/decoder_lens.h"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// The number of ids that an evaluation reads at once, unless one window has
// more.
constexpr int64_t kEvaluationIds = 4096;

}  // namespace

TextVocabulary VocabularyOf(const TextSplits& text,
                            const LanguageModelConfig& config) {
  if (!text.vocabulary.empty()) {
    return TextVocabulary::Parse(text.vocabulary, "", config).value();
  }
  if (config.unit() == LanguageModelConfig::WORDS) {
    return TextVocabulary::Of(text.train, config);
  }
  return TextVocabulary::Of(absl::StrCat(text.train, text.dev, text.test),
                            config);
}

DecoderBatch MakeTextBatch(absl::Span<const int32_t> ids,
                           absl::Span<const TextWindow> windows, Arena& arena) {
  const auto rows = static_cast<int64_t>(windows.size());
  const auto part = [&](int64_t row, int64_t shift) {
    const auto [first, length, skipped] = windows[static_cast<size_t>(row)];
    REGARD_CHECK(first >= 0 &&
                 first + length < static_cast<int64_t>(ids.size()))
        << "ids " << first << " to " << first + length << " of " << ids.size();
    return ids.subspan(static_cast<size_t>(first + shift),
                       static_cast<size_t>(length));
  };
  const DecoderBatch batch = {
      PadSequences(rows, /*pad=*/0, arena,
                   [&](int64_t row) { return part(row, 0); }),
      PadSequences(rows, /*pad=*/-1, arena, [&](int64_t row) {
        return part(row, 1);
      }).ids};
  for (int64_t row = 0; row < rows; ++row) {
    std::fill_n(batch.target.data() + row * batch.input.time,
                windows[static_cast<size_t>(row)].skipped, -1);
  }
  return batch;
}

TrainableLanguageModel::TrainableLanguageModel(
    const LanguageModelConfig& config, const AttentionRegistry& scorers,
    const TextSplits& text, const ModelOptions& options)
    : Model(options.loss),
      config_(config),
      stride_(config.stride() > 0 ? config.stride() : config.block()),
      model_(config, scorers, VocabularyOf(text, config), options.seed,
             options.finalize),
      only_test_(text.train.empty() && !text.test.empty()),
      train_(model_.vocabulary().Encode(text.train)),
      train_lines_(LinesOf(train_)),
      dev_(model_.vocabulary().Encode(text.dev)),
      test_(model_.vocabulary().Encode(text.test)) {}

std::vector<TextWindow> TrainableLanguageModel::LinesOf(
    const EncodedText& text) {
  std::vector<TextWindow> windows;
  for (size_t i = 1; i < text.lines.size(); ++i) {
    const int64_t first = text.lines[i - 1];
    windows.push_back({first, text.lines[i] - first - 1});
  }
  return windows;
}

std::string TrainableLanguageModel::Problem() const {
  const int64_t block = model_.block();
  const int64_t positions = model_.decoder().longest_position();
  if (positions < block) {
    return absl::StrCat(
        "must be at most ", positions,
        ", the number of positions that the attention's score supports");
  }
  if (num_examples() <= 0 && !only_test_) {
    return model_.vocabulary().lines()
               ? "requires at least one line to train on; the text has none"
               : absl::StrCat("requires ", block + 1,
                              " ids to train on; the text has ",
                              train_.ids.size());
  }
  int64_t longest = 0;
  for (const EncodedText* text : {&train_, &dev_, &test_}) {
    for (const TextWindow& line : LinesOf(*text)) {
      longest = std::max(longest, line.length);
    }
  }
  if (longest > block) {
    return absl::StrCat("must be at least ", longest,
                        ", the length of the longest line with its <bos>");
  }
  return "";
}

int64_t TrainableLanguageModel::num_examples() const {
  if (model_.vocabulary().lines()) {
    return static_cast<int64_t>(train_lines_.size());
  }
  // The last id is predicted, but not read.
  const auto last =
      static_cast<int64_t>(train_.ids.size()) - 1 - model_.block();
  return last < 0 ? 0 : last / stride_ + 1;
}

TextWindow TrainableLanguageModel::WindowOf(int64_t example) const {
  if (!model_.vocabulary().lines()) return {example * stride_, model_.block()};
  return train_lines_[static_cast<size_t>(example)];
}

absl::StatusOr<TrainableLanguageModel::EncodedInput>
TrainableLanguageModel::Read(const PredictionRequest& request) const {
  REGARD_RETURN_IF_ERROR(CheckIsText(request));
  EncodedInput encoded;
  if (request.example < 0) {
    REGARD_ASSIGN_OR_RETURN(encoded.prompt,
                            model_.vocabulary().EncodePrompt(request.text));
    return encoded;
  }
  const EncodedText& text = test_.ids.empty() ? dev_ : test_;
  const size_t size = text.ids.size();
  const bool lines = !text.lines.empty();
  const auto block = static_cast<size_t>(model_.block());
  REGARD_RETURN_IF_ERROR(CheckExample(
      request, lines ? text.lines.size() - 1 : (size + block - 1) / block));
  const auto i = static_cast<size_t>(request.example);
  const auto first = lines ? static_cast<size_t>(text.lines[i]) : i * block;
  const size_t end = lines ? static_cast<size_t>(text.lines[i + 1])
                           : std::min(size, first + block);
  const auto ids = absl::MakeConstSpan(text.ids).subspan(first, end - first);
  const size_t half = (ids.size() + 1) / 2;
  encoded.prompt.assign(ids.begin(), ids.begin() + half);
  encoded.rest = ids.subspan(half);
  return encoded;
}

absl::StatusOr<Prediction> TrainableLanguageModel::Predict(
    Forward<float>& forward, const PredictionRequest& request,
    const PredictionOutputLimits& options) const {
  REGARD_ASSIGN_OR_RETURN(const EncodedInput encoded, Read(request));
  Prediction prediction = {
      .input = model_.vocabulary().OneLine(encoded.prompt),
      .reference = model_.vocabulary().OneLine(encoded.rest)};
  GenerationOptions generation;
  generation.length = options.length;
  generation.search.mutable_sampling()->set_top_k(1);
  const auto made = Generate(model_, forward, {encoded.prompt}, generation);
  prediction.text = model_.vocabulary().OneLine(made[0][0].ids);
  const int64_t block = model_.block();
  if (std::ssize(encoded.prompt) > block) {
    prediction.notes.push_back(absl::StrCat(
        "the text has ", encoded.prompt.size(), " ids, but only the last ",
        std::max<int64_t>(1, block / 2), " are read; the model reads at most ",
        block, " at once"));
  }
  // A model without <eos> always stops at the limit, so it gets no note.
  if (made[0][0].at_limit && model_.vocabulary().special_ids().end >= 0) {
    prediction.notes.push_back(absl::StrCat(
        "the continuation stopped at its limit of ", options.length, " ids"));
  }
  return prediction;
}

absl::StatusOr<TraceablePrediction<float>> TrainableLanguageModel::Trace(
    Forward<float>& forward, const PredictionRequest& request,
    const TraceOptions& options) const {
  if (options.beam > 0) {
    return absl::InvalidArgumentError(
        "beam: does not apply to a language model, which has no beam search");
  }
  REGARD_ASSIGN_OR_RETURN(EncodedInput encoded, Read(request));
  std::vector<int32_t>& ids = encoded.prompt;
  if (request.example >= 0) {
    ids.resize(std::min(ids.size(), static_cast<size_t>(options.most_tokens)));
  }
  const size_t prompt = ids.size();
  if (options.target.has_value()) {
    // The target continues the text, so it does not begin with <bos>.
    const auto target = model_.vocabulary().EncodePrompt(*options.target);
    if (!target.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("target: ", target.status().message()));
    }
    const bool begins = model_.vocabulary().lines();
    ids.insert(ids.end(), target->begin() + (begins ? 1 : 0), target->end());
  }
  const bool given = ids.size() > prompt;
  const int32_t next = ids.back();
  if (given) ids.pop_back();  // the last id is predicted, not read
  REGARD_RETURN_IF_ERROR(
      CheckTracedSize(given ? "input and target" : "input", ids.size(),
                      std::min(options.most_tokens, model_.block())));
  int32_t last = next;
  if (!given) {
    forward.BeginStep();
    const Var<float> readout =
        model_.decoder().Run(forward, {.sources = 1}, ids);
    const Var<float> logits = model_.decoder().head().Logits(forward, readout);
    const auto row = logits.span().last(static_cast<size_t>(logits.cols()));
    last = static_cast<int32_t>(std::max_element(row.begin(), row.end()) -
                                row.begin());
  }
  TraceablePrediction<float> traced = TraceIds(ids, last);
  traced.labels.target = options.target;
  return traced;
}

TraceablePrediction<float> TrainableLanguageModel::TraceIds(
    std::vector<int32_t> ids, int32_t last) const {
  const TextVocabulary& vocabulary = model_.vocabulary();
  const TransformerDecoder<float>& decoder = model_.decoder();
  const auto label = [&vocabulary](size_t id) -> std::string {
    std::string token = vocabulary.Token(static_cast<int32_t>(id));
    // A single space would be invisible as a label.
    if (token == " ") return "\u2423";
    return absl::StrReplaceAll(token, {{"\n", "\u21b5"}});
  };
  std::vector<int32_t> targets(ids.begin() + 1, ids.end());
  targets.push_back(last);
  TraceablePrediction<float> traced;
  TraceDescription& labels = traced.labels;
  labels.input = vocabulary.OneLine(ids);
  labels.prediction = vocabulary.OneLine({last});
  TracedSequence& text = labels.sequences.emplace_back();
  text.name = "text";
  for (const int32_t id : ids) text.labels.push_back(label(id));
  for (size_t i = 0; i < targets.size(); ++i) {
    labels.outputs.push_back({label(targets[i]), static_cast<int64_t>(i)});
  }
  labels.sites = {{"*", 0, 0}};
  labels.chosen = static_cast<int64_t>(targets.size()) - 1;
  labels.successive = true;
  labels.alignment = "decoder/layers[*]/self/attention/weights";
  traced.pass = [&decoder, ids, targets](Forward<float>& forward) {
    const Var<float> readout = decoder.Run(forward, {.sources = 1}, ids);
    return PickPerRow(LogSoftmax(decoder.head().Logits(forward, readout)),
                      targets);
  };
  traced.lens = MakeLogitLens<float>(decoder, text.labels, label);
  return traced;
}

int64_t TrainableLanguageModel::CountWork(
    absl::Span<const int64_t> examples) const {
  int64_t ids = 0;
  for (const int64_t example : examples) ids += WindowOf(example).length;
  return ids;
}

Var<float> TrainableLanguageModel::Readout(Forward<float>& forward,
                                           const DecoderBatch& batch) const {
  return model_.decoder().Run(forward, {.sources = batch.input.rows},
                              batch.input.ids);
}

void TrainableLanguageModel::Loss(Forward<float>& forward,
                                  absl::Span<const int64_t> examples,
                                  absl::Span<const double>,
                                  absl::Span<Var<float>> sums) const {
  Arena& arena = forward.tape().arena();
  const absl::Span<TextWindow> windows(
      arena.New<TextWindow>(static_cast<int64_t>(examples.size())),
      examples.size());
  for (size_t i = 0; i < examples.size(); ++i) {
    windows[i] = WindowOf(examples[i]);
  }
  const DecoderBatch batch = MakeTextBatch(train_.ids, windows, arena);
  sums[0] = model_.decoder().head().Loss(forward, Readout(forward, batch),
                                         batch.target,
                                         loss_options().label_smoothing);
}

std::vector<TextWindow> TrainableLanguageModel::EvaluationWindows(
    const EncodedText& text) const {
  if (model_.vocabulary().lines()) return LinesOf(text);
  std::vector<TextWindow> windows;
  const int64_t block = model_.block();
  const int64_t stride =
      config_.evaluation_stride() > 0 ? config_.evaluation_stride() : block;
  const auto end = static_cast<int64_t>(text.ids.size()) - 1;
  // Ids before `done` already have a prediction.
  int64_t done = 0;
  for (int64_t first = 0; done < end; first += stride) {
    const int64_t length = std::min(block, end - first);
    windows.push_back({first, length, done - first});
    done = first + length;
  }
  return windows;
}

int64_t TrainableLanguageModel::PredictedCharacters(
    const EncodedText& text, absl::Span<const TextWindow> windows) const {
  int64_t characters = 0;
  for (const auto& [first, length, skipped] : windows) {
    characters += model_.vocabulary().CountCharacters(
        absl::MakeConstSpan(text.ids).subspan(
            static_cast<size_t>(first + skipped + 1),
            static_cast<size_t>(length - skipped)));
  }
  return characters;
}

std::vector<EvaluatedSet> TrainableLanguageModel::Evaluate(
    Forward<float>& forward, Split split) const {
  if (split == Split::kTrain) return {};
  const EncodedText& text = split == Split::kDev ? dev_ : test_;
  const std::vector<TextWindow> windows = EvaluationWindows(text);
  if (windows.empty()) return {};
  std::vector<absl::Span<const TextWindow>> batches;
  for (size_t begin = 0; begin < windows.size();) {
    size_t end = begin + 1;
    int64_t longest = windows[begin].length;
    while (end < windows.size()) {
      longest = std::max(longest, windows[end].length);
      const auto count = static_cast<int64_t>(end - begin) + 1;
      if (count * longest > kEvaluationIds) break;
      ++end;
    }
    batches.push_back(absl::MakeConstSpan(windows).subspan(begin, end - begin));
    begin = end;
  }
  TokenScoreSums sum;
  ForEachBatch(
      forward, std::ssize(batches), /*most=*/1,
      [&](Forward<float>& passes, absl::Span<const int64_t> one) {
        const DecoderBatch batch =
            MakeTextBatch(text.ids, batches[static_cast<size_t>(one[0])],
                          passes.tape().arena());
        return ScoreTokens(model_.decoder().head(), passes,
                           Readout(passes, batch), batch.target);
      },
      [&](auto, const TokenScoreSums& scores) { sum += scores; });
  const auto count = static_cast<double>(sum.count);
  const double loss = sum.loss / count;
  EvaluatedSet set;
  set.totals = {{"loss", loss},
                {"perplexity", std::exp(loss)},
                {"token_accuracy", static_cast<double>(sum.correct) / count}};
  const int64_t characters =
      model_.vocabulary().words() ? 0 : PredictedCharacters(text, windows);
  if (characters > 0) {
    set.totals["bits_per_character"] =
        sum.loss / static_cast<double>(characters) / std::log(2.0);
  }
  if (MeasuresPrefixMatching(config_)) {
    set.totals["prefix_matching"] = PrefixMatching(model_, forward, text);
  }
  return {set};
}

}  // namespace regard

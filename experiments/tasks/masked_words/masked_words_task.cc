#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "data/text/text_source.h"
#include "data/text/token_vocabulary.h"
#include "experiments/tasks/masked_words/bert_maps.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "language/bert.h"
#include "language/masked_text.h"
#include "language/masked_word_model.h"
#include "nn/config_problems.h"

namespace regard {

namespace {

constexpr int64_t kSamples = 5;
// Tokens of the heat maps.
constexpr int64_t kMapTokens = 32;

class MaskedWordsTask : public Task {
 public:
  using Options = BertConfig;
  using Data = TextData;

  static std::vector<MetricInfo> Metrics() {
    return {
        {"loss", "nats per masked token", "cross-entropy", Better::kLower},
        {"unigram_loss", "nats per masked token",
         "cross-entropy of the words' frequencies in training", Better::kLower},
        {"token_accuracy", "", "share of masked tokens predicted right",
         Better::kHigher},
        {"next_sentence_loss", "nats per pair",
         "cross-entropy of whether the second piece follows the first",
         Better::kLower},
        {"next_sentence_accuracy", "",
         "share of pairs told apart from those that follow each other",
         Better::kHigher}};
  }

  static void Validate(const Options& options, const TaskContext& context,
                       ConfigProblems& problems) {
    ValidateBert(options, context.scorers, problems);
    const ConfigProblems::Scope scope(problems, "masked_words");
    ValidateMaskedWords(options.masked_words(), problems);
  }

  MaskedWordsTask(const Options& options, Data data, const TaskContext& context)
      : Task(Metrics(), std::move(data.digests)),
        vocabulary_(ReadTokenVocabulary(
            options.masked_words().vocabulary(), data.splits.train,
            TokenOptions(options.masked_words()),
            options.masked_words().min_frequency())),
        model_(options, context.scorers, vocabulary_.pieces, data.splits,
               {.loss = LossOptionsOf(context.config.loss()),
                .seed = context.config.seed()}) {
    if (!vocabulary_.digest.empty()) {
      AddDigest("model.bert.masked_words.vocabulary", vocabulary_.digest);
    }
  }

  Model<float>& model() override { return model_; }
  bool has_dev() const override { return model_.has_dev(); }

  void ValidateData(ConfigProblems& problems) const override {
    if (!vocabulary_.problem.empty()) {
      problems.Add("model.bert.masked_words.vocabulary", vocabulary_.problem);
      return;
    }
    const ConfigProblems::Scope scope(problems, "model.bert");
    model_.ValidateData(problems);
  }

  Showcase Show(Forward<float>& forward, bool final) const override;

  std::map<std::string, std::string> Files() const override {
    return {{kVocabularyFile, model_.pieces().ToText()}};
  }

 private:
  std::string TextOf(absl::Span<const int32_t> ids) const;
  void AddSample(Forward<float>& forward, int64_t example,
                 Showcase* showcase) const;
  void AddHeatMaps(Forward<float>& forward, const MaskedBatch& batch,
                   Showcase* showcase) const;

  const TokenVocabulary vocabulary_;
  MaskedWordModel model_;
};

std::string MaskedWordsTask::TextOf(absl::Span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) {
    if (id == model_.pieces().classifier()) continue;
    absl::StrAppend(&text, text.empty() ? "" : " ", model_.pieces().Token(id));
  }
  return text;
}

// An example with each masked token, what it was and what the model puts there.
void MaskedWordsTask::AddSample(Forward<float>& forward, int64_t example,
                                Showcase* showcase) const {
  const auto masking = MaskedWordModel::EvaluationMasking();
  forward.BeginStep();
  const MaskedBatch batch =
      model_.shown().MakeBatch({example}, masking, forward.tape().arena());
  if (batch.targets.empty()) return;
  const Var<float> hidden = model_.bert()(forward, batch.input);
  const Var<float> logits = model_.head().Logits(
      forward, MaskedWordModel::AtPositions(hidden, batch.positions));
  std::vector<int32_t> right;
  std::vector<int32_t> predicted;
  for (size_t i = 0; i < batch.targets.size(); ++i) {
    const float* const row = logits.data() + i * logits.cols();
    predicted.push_back(
        static_cast<int32_t>(std::max_element(row, row + logits.cols()) - row));
    right.push_back(batch.targets[i]);
  }
  // In the order of the text.
  std::vector<size_t> order(right.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return batch.positions[a] < batch.positions[b];
  });
  Sample sample;
  sample.input = TextOf(batch.input.ids);
  for (const size_t i : order) {
    const char* const space = sample.output.empty() ? "" : " ";
    absl::StrAppend(&sample.reference, space, TextOf({right[i]}));
    absl::StrAppend(&sample.output, space, TextOf({predicted[i]}));
  }
  sample.correct = sample.output == sample.reference;
  showcase->samples.rows.push_back(std::move(sample));
  if (showcase->heat_maps.empty()) AddHeatMaps(forward, batch, showcase);
}

// The self-attention of each layer.
void MaskedWordsTask::AddHeatMaps(Forward<float>& forward,
                                  const MaskedBatch& batch,
                                  Showcase* showcase) const {
  const auto time =
      std::min(static_cast<int64_t>(batch.input.ids.size()), kMapTokens);
  const BertBatch one = {
      .size = 1,
      .ids = batch.input.ids.subspan(0, static_cast<size_t>(time)),
      .types = batch.input.types.subspan(
          0, batch.input.types.empty() ? 0 : static_cast<size_t>(time))};
  for (LabelledMatrix& map :
       BertMaps(model_.bert(), model_.pieces(), forward, one)) {
    absl::StrAppend(&map.title, ": ", TextOf(one.ids));
    showcase->heat_maps.push_back(std::move(map));
  }
}

Showcase MaskedWordsTask::Show(Forward<float>& forward, bool /*final*/) const {
  Showcase showcase;
  showcase.summary =
      absl::StrFormat("Masked words: %d tokens to learn from, %d different.",
                      model_.train_ids().ids.size(), model_.pieces().size());
  showcase.samples.title = "Masked words";
  showcase.samples.input = "text";
  const int64_t size = model_.shown().size();
  const int64_t samples = std::min(kSamples, size);
  for (int64_t i = 0; i < samples; ++i) {
    AddSample(forward, size * i / samples, &showcase);
  }
  return showcase;
}

}  // namespace

REGARD_PLUGINS(MaskedWords) {
  plugins.tasks.Add<MaskedWordsTask>("predicts masked words of a text");
}

}  // namespace regard

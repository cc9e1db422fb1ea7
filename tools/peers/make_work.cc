#include "tools/peers/make_work.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/nadaraya_watson.h"
#include "attention/nadaraya_watson.pb.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "data/text/wordpiece.h"
#include "language/bert.h"
#include "language/bert.pb.h"
#include "language/sentence_embedder.h"
#include "nn/parameters.h"
#include "optimization/model.h"
#include "tools/peers/attention_work.h"
#include "tools/peers/gpt2_work.h"
#include "tools/peers/language_models.h"
#include "tools/peers/pair_models.h"
#include "tools/peers/step_data.h"
#include "tools/peers/training_work.h"
#include "tools/peers/translators.h"
#include "tools/peers/vit_work.h"

namespace regard {

namespace {

// The number of shards of a batch, in these workloads: translation, texts,
// images, additive scores and multi-head attention.
constexpr int kShards = 2;

std::unique_ptr<Model<float>> MakeRegressionModel(const WorkOptions& options) {
  CurvePoints curve;
  for (const float number : UniformData(1, options.batch)) {
    curve.x.push_back(static_cast<double>((number + 0.5F) * 5));
  }
  std::sort(curve.x.begin(), curve.x.end());
  const std::vector<float> noise = UniformData(2, options.batch);
  for (size_t i = 0; i < curve.x.size(); ++i) {
    curve.y.push_back(
        static_cast<double>(static_cast<float>(curve.x[i]) * 0.5F + noise[i]));
  }
  Attention attention;
  attention.mutable_parametric_gaussian();
  return std::make_unique<NadarayaWatsonModel<float>>(
      BuiltInScorers(), attention, NadarayaWatson(),
      CurveSplits{.train = curve, .test = curve},
      ModelOptions{.loss = {}, .seed = 1});
}

// A chain of products and sums of 8 numbers, with its backward pass. Measures
// the overhead of the tape, because there is almost nothing to compute.
class OverheadWork : public TimedWork {
 public:
  explicit OverheadWork(int64_t operations) : operations_(operations) {}

  ParameterStore<float>& parameters() override { return parameters_; }

  void Step() override {
    tape_.Reset();
    const std::vector<float>& start = start_;
    const Var<float> factor = tape_.Full({kNumbers}, 0.999F);
    const Var<float> term = tape_.Full({kNumbers}, 0.001F);
    const Var<float> x = tape_.Input({kNumbers}, start);
    Var<float> y = x;
    for (int64_t i = 0; i < operations_ / 2; ++i) {
      y = y * factor;
      y = y + term;
    }
    const Var<float> sum = Sum(y);
    tape_.Backward(sum);
    value_ = static_cast<double>(sum.item());
    double squares = 0;
    for (int64_t i = 0; i < x.size(); ++i) {
      const auto g = static_cast<double>(x.grad_data()[i]);
      squares += g * g;
    }
    gradient_norm_ = std::sqrt(squares);
  }

  std::vector<double> NumbersToCompare() override {
    Step();
    return {value_, gradient_norm_};
  }

 private:
  static constexpr int64_t kNumbers = 8;

  const int64_t operations_;
  const std::vector<float> start_ = std::vector<float>(kNumbers, 0.5F);
  ParameterStore<float> parameters_;
  Tape<float> tape_;
  double value_ = 0;
  double gradient_norm_ = 0;
};

BertConfig BertOf(const WorkOptions& options) {
  BertConfig config;
  config.set_pooler(false);
  TransformerConfig& transformer = *config.mutable_transformer();
  transformer = TransformerOf(options);
  transformer.mutable_attention()->set_bias(true);
  transformer.mutable_initialization()->set_zero_bias(false);
  return config;
}

// Computes sentence embeddings with a BERT model, like //tools:embed. A batch
// contains sentences of equal length, given as ids. NumbersToCompare() returns
// the embedding of the last sentence.
class EmbeddingWork : public TimedWork {
 public:
  explicit EmbeddingWork(const WorkOptions& options)
      : bert_(BertOf(options), BuiltInScorers(), options.source_vocabulary,
              parameters_.Root()),
        // The tokenizer needs only special tokens, because sentences are given
        // as ids.
        pieces_(WordPiece::Create({"[PAD]", "[UNK]", "[CLS]", "[SEP]"},
                                  "tokens", WordPieceOptions())
                    .value()) {
    parameters_.Finalize(/*seed=*/1);
    const auto time = static_cast<size_t>(options.source_time);
    const std::vector<int32_t> ids = TextData(
        options.batch * options.source_time, options.source_vocabulary);
    for (size_t begin = 0; begin < ids.size(); begin += time) {
      const auto sentence = absl::MakeConstSpan(ids).subspan(begin, time);
      sentences_.emplace_back(sentence.begin(), sentence.end());
    }
    vectors_.resize(sentences_.size() * static_cast<size_t>(bert_.width()));
    threads_ = options.threads;
  }

  ParameterStore<float>& parameters() override { return parameters_; }

  void Step() override {
    // The first step creates it, after the precision of the parameters is set.
    if (embedder_ == nullptr) {
      embedder_ = std::make_unique<SentenceEmbedder>(
          bert_, parameters_, pieces_, bert_.longest_position(), threads_);
    }
    embedder_->EmbedIds(sentences_, absl::MakeSpan(vectors_));
  }

  std::vector<double> NumbersToCompare() override {
    Step();
    return {vectors_.end() - bert_.width(), vectors_.end()};
  }

 private:
  ParameterStore<float> parameters_;
  const Bert<float> bert_;
  const WordPiece pieces_;
  std::vector<std::vector<int32_t>> sentences_;
  std::vector<float> vectors_;
  int threads_ = 1;
  std::unique_ptr<SentenceEmbedder> embedder_;
};

}  // namespace

std::unique_ptr<TimedWork> MakeWork(const WorkOptions& options) {
  const auto train = [&](std::unique_ptr<Model<float>> model, int shards,
                         bool update) {
    return std::make_unique<TrainingWork>(std::move(model), shards,
                                          options.threads, update);
  };
  if (options.kind == "regression") {
    return train(MakeRegressionModel(options), /*shards=*/1, /*update=*/true);
  }
  if (options.kind == "translation" || options.kind == "transformer") {
    return train(MakeTranslationModel(options), kShards, /*update=*/true);
  }
  if (options.kind == "additive") {
    return train(MakeAdditivePairModel(options), kShards, /*update=*/false);
  }
  if (options.kind == "multi_head") {
    return train(MakeMultiHeadModel(options), kShards, /*update=*/false);
  }
  if (options.kind == "search" || options.kind == "transformer_search") {
    return MakeSearchWork(options);
  }
  if (options.kind == "attention" || options.kind == "attention_forward") {
    return MakeAttentionWork(options);
  }
  if (options.kind == "language_model") {
    return train(MakeTextModel(options), kShards, /*update=*/true);
  }
  if (options.kind == "image") {
    return train(MakeImageModel(options), kShards, /*update=*/true);
  }
  if (options.kind == "classification") return MakeClassificationWork(options);
  if (options.kind == "generation") return MakeGenerationWork(options);
  if (options.kind == "continuation") return MakeGpt2Work(options);
  if (options.kind == "embedding") {
    return std::make_unique<EmbeddingWork>(options);
  }
  if (options.kind == "overhead") {
    return std::make_unique<OverheadWork>(options.batch);
  }
  return nullptr;
}

}  // namespace regard

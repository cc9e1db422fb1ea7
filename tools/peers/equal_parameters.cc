// Prints a Markdown table of training times per target token on one thread. It
// compares a Transformer with a recurrent encoder-decoder with attention. The
// two models have the same number of parameters. They come from
// //configs/ablations/transformer:transformer_recurrent, and the batch comes
// from the phrasebook.
//
//   equal_parameters [ROUNDS]
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/testing/interleaved_times.h"
#include "data/pairs/sentence_source.h"
#include "data/parallel_corpus.h"
#include "data/phrasebook/phrasebook.h"
#include "data/sentence_pair.h"
#include "google/protobuf/text_format.h"
#include "optimization/model.h"
#include "seq2seq/seq2seq.pb.h"
#include "seq2seq/translation_model.h"
#include "third_party/abseil_backport/check.h"
#include "tools/peers/training_work.h"

namespace regard {
namespace {

constexpr int kRounds = 41;
constexpr double kSeconds = 0.2;  // per model and round
constexpr size_t kBatch = 64;
constexpr int kShards = 2;

struct TimedModel {
  const char* name;
  const char* config;
};

constexpr TimedModel kModels[] = {
    {"Transformer",
     "transformer { width: 64 layers: 1 attention { heads: 4 }"
     " feed_forward { hidden: 128 } }"},
    {"recurrent with attention",
     "attention { additive {} }"
     " encoder { embedding: 56 hidden: 40 bidirectional: true }"
     " decoder { embedding: 56 hidden: 72 initial_state: PROJECTED }"}};

// Returns the sentences as one batch, with their vocabularies.
SentenceData Batch(const std::vector<SentencePair>& pairs) {
  ParallelCorpusBuilder all;
  for (const SentencePair& pair : pairs) all.Add(pair.source, pair.target);
  SentenceData data;
  data.source_vocabulary = all.SourceVocabulary(/*min_frequency=*/1);
  data.target_vocabulary = all.TargetVocabulary(/*min_frequency=*/1);
  for (size_t i = 0; i < kBatch; ++i) {
    data.train.Add(pairs[i].source, pairs[i].target);
  }
  return data;
}

std::unique_ptr<TrainingWork> Training(const TimedModel& model,
                                       SentenceData data) {
  EncoderDecoderConfig config;
  REGARD_CHECK(
      google::protobuf::TextFormat::ParseFromString(model.config, &config))
      << model.config;
  return std::make_unique<TrainingWork>(
      std::make_unique<TranslationModel>(config, BuiltInScores(),
                                         std::move(data),
                                         ModelOptions{.loss = {}, .seed = 1}),
      kShards, /*threads=*/1, /*update=*/true);
}

int Main(int argc, char** argv) {
  const int rounds = RoundsFromArguments(argc, argv, kRounds);
  if (rounds == 0) return 2;
  const std::vector<SentencePair> pairs = MakePhrasebook().train.pairs;
  int64_t tokens = 0;  // includes <eos>
  for (size_t i = 0; i < kBatch; ++i) {
    tokens += static_cast<int64_t>(pairs[i].target.size()) + 1;
  }
  std::vector<std::unique_ptr<TrainingWork>> trainings;
  std::vector<std::function<void()>> workloads;
  for (const TimedModel& model : kModels) {
    trainings.push_back(Training(model, Batch(pairs)));
    workloads.emplace_back(
        [training = trainings.back().get()] { training->Step(); });
  }
  const auto parameters = [&](size_t i) {
    return trainings[i]->parameters().num_elements();
  };
  REGARD_CHECK(std::abs(static_cast<double>(parameters(1)) /
                            static_cast<double>(parameters(0)) -
                        1) <= 0.02)
      << parameters(0) << " and " << parameters(1)
      << " parameters differ by more than 2 %";
  const std::vector<WorkloadTime> times =
      TimeInterleaved(workloads, /*baseline=*/0, rounds, kSeconds);
  absl::PrintF(
      "| model | parameters | microseconds per target token | time / time of "
      "the Transformer (quartiles) |\n| --- | --- | --- | --- |\n");
  for (size_t i = 0; i < times.size(); ++i) {
    absl::PrintF("| %s | %d | %.2f | %s |\n", kModels[i].name, parameters(i),
                 times[i].seconds * 1e6 / static_cast<double>(tokens),
                 times[i].RatioText());
  }
  return 0;
}

}  // namespace
}  // namespace regard

int main(int argc, char** argv) { return regard::Main(argc, argv); }

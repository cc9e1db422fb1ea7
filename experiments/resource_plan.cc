#include "experiments/resource_plan.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/tape.h"
#include "experiments/build_task.h"
#include "experiments/translation_task.h"
#include "nn/forward.h"
#include "nn/gradient_reducer.h"
#include "nn/model.h"
#include "nn/optimizer_registry.h"
#include "nn/optimizers/built_in_optimizers.h"
#include "nn/parameters.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/translation_model.h"
#include "seq2seq/vocabulary.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// Numbers that the optimizer keeps per parameter element.
int64_t OptimizerSlabs(const OptimizerConfig& config) {
  OptimizerRegistry optimizers;
  RegisterBuiltInOptimizers(optimizers);
  ParameterStore<float> empty;
  empty.Finalize(/*seed=*/0);
  return static_cast<int64_t>(optimizers.Create(config, empty)->state().size());
}

void PlanParameters(const ParameterStore<float>& store,
                    const Experiment& config, int threads, ResourcePlan* plan) {
  for (const ParameterInfo& info : store.parameters()) {
    plan->parameters.push_back({info.name, info.shape});
  }
  plan->elements = store.num_elements();
  const int64_t slab = plan->elements * static_cast<int64_t>(sizeof(float));
  plan->value_bytes = slab;
  plan->threads = std::min(threads, config.num_shards());
  plan->gradient_slabs = GradientReducer<float>::NumSlabs(
      config.num_shards(), config.optimizer().accumulate_batches(), threads);
  plan->gradient_bytes = slab * plan->gradient_slabs;
  plan->optimizer_bytes = slab * OptimizerSlabs(config.optimizer());
}

// Runs one batch forward and backward, without an update.
void MeasureBatch(const Experiment& config, Model<float>& model,
                  ResourcePlan* plan) {
  const int64_t batch = config.training().batch_size();
  // Of a large model a few examples, so that planning takes seconds.
  const int64_t affordable = std::max<int64_t>(
      kMostMeasuredElements / std::max<int64_t>(plan->elements, 1), 8);
  const int64_t size = std::min({batch, model.num_examples(), affordable});
  std::vector<int64_t> examples;
  for (int64_t i = 0; i < size; ++i) {
    examples.push_back(i * model.num_examples() / size);
  }
  const size_t terms = model.loss_terms().size();
  std::vector<double> denominators(terms);
  model.Denominators(examples, absl::MakeSpan(denominators));
  Tape<float> tape;
  GradientSlab<float> gradients(model.parameters());
  Forward<float> forward(tape, model.parameters(), &gradients);
  forward.BeginStep();
  tape.set_training(true);
  tape.set_random({config.seed(), /*step=*/0, examples});
  const int64_t flops = GemmFlops();
  std::vector<Var<float>> sums(terms);
  model.Loss(forward, examples, denominators, absl::MakeSpan(sums));
  forward.Backward(sums, std::vector<double>(terms, 1.0));
  const double batches = static_cast<double>(batch) / static_cast<double>(size);
  plan->measured_examples = size;
  plan->activation_bytes =
      static_cast<int64_t>(static_cast<double>(tape.high_water_bytes()) *
                           batches * static_cast<double>(plan->threads) /
                           static_cast<double>(config.num_shards()));
  plan->update_flops = static_cast<double>(GemmFlops() - flops) * batches *
                       config.optimizer().accumulate_batches();
}

Vocabulary NumberedWords(int size) {
  VocabularyBuilder builder;
  for (int i = Vocabulary::kReserved; i < size; ++i) {
    const std::string word = absl::StrCat(i);
    builder.Add(absl::MakeConstSpan(&word, 1));
  }
  return builder.Build();
}

// Sentences of one length that go through the whole vocabulary.
std::vector<std::string> NumberedSentence(int words, int first,
                                          int vocabulary) {
  std::vector<std::string> sentence;
  for (int i = 0; i < words; ++i) {
    const int choices = std::max(vocabulary - Vocabulary::kReserved, 1);
    sentence.push_back(
        absl::StrCat(Vocabulary::kReserved + (first + i) % choices));
  }
  return sentence;
}

TranslationCorpus MakeAssumedCorpus(const AssumedSentences& assumed,
                                    int64_t pairs) {
  TranslationCorpus corpus = {{},
                              NumberedWords(assumed.source_vocabulary),
                              NumberedWords(assumed.target_vocabulary)};
  for (int64_t i = 0; i < pairs; ++i) {
    const auto first = static_cast<int>(i);
    corpus.sentences.train.push_back(
        {NumberedSentence(assumed.source_words, first,
                          assumed.source_vocabulary),
         NumberedSentence(assumed.target_words, first,
                          assumed.target_vocabulary),
         {}});
  }
  return corpus;
}

}  // namespace

absl::StatusOr<ResourcePlan> MakeResourcePlan(
    const Experiment& config, int threads, const ScorerRegistry& scorers,
    const std::optional<AssumedSentences>& assumed) {
  ResourcePlan plan;
  const int64_t update = int64_t{config.training().batch_size()} *
                         config.optimizer().accumulate_batches();
  const auto count_updates = [&](int64_t examples) {
    const int64_t limit = config.training().examples_per_epoch();
    const int64_t epoch = limit > 0 ? std::min(limit, examples) : examples;
    plan.updates =
        (epoch + update - 1) / update * int64_t{config.training().epochs()};
  };
  if (!config.model().has_decoder()) {
    REGARD_ASSIGN_OR_RETURN(const std::unique_ptr<Task> task,
                            BuildTask(config, scorers));
    PlanParameters(task->model().parameters(), config, threads, &plan);
    MeasureBatch(config, task->model(), &plan);
    count_updates(task->model().num_examples());
    return plan;
  }

  TranslationCorpus corpus;
  if (assumed.has_value()) {
    corpus = MakeAssumedCorpus(*assumed, config.training().batch_size());
  } else {
    REGARD_ASSIGN_OR_RETURN(corpus, LoadTranslationCorpus(config));
    count_updates(static_cast<int64_t>(corpus.sentences.train.size()));
  }
  const ModelConfig& model = config.model();
  // Parameters have no storage before Finalize(): any model can be counted.
  ParameterStore<float> store;
  MakeRecurrentModel<float>(
      model.encoder(), model.decoder(), model.attention(), scorers,
      {.source = corpus.source.size(), .target = corpus.target.size()},
      store.Root());
  PlanParameters(store, config, threads, &plan);
  if (plan.elements <= kMostMeasuredElements) {
    TranslationModel measured(
        model.encoder(), model.decoder(), model.attention(), scorers,
        std::move(corpus.source), std::move(corpus.target),
        std::move(corpus.sentences), TranslationOptionsOf(config));
    MeasureBatch(config, measured, &plan);
  }
  return plan;
}

}  // namespace regard

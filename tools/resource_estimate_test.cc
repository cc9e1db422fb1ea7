#include "tools/resource_estimate.h"

#include <cstdint>
#include <string>
#include <utility>

#include "autodiff/shape.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/built_in_plugins.h"
#include "files/json_file.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "nn/parameters.h"

namespace regard {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

Experiment Parse(const std::string& text) {
  Experiment config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

ResourceEstimate Plan(const Experiment& config, int threads = 2) {
  return EstimateResources({.config = config}, threads, BuiltInPlugins())
      .value();
}

// A model with a GRU of 3 units on each side, without attention. Word
// embeddings have width 2.
Experiment SmallTranslation() {
  return Parse(R"pb(
    num_shards: 2
    data {
      placeholder {
        source_vocabulary: 10
        target_vocabulary: 20
        source_words: 4
        target_words: 5
        pairs: 16
      }
    }
    model {
      encoder { embedding: 2 hidden: 3 }
      decoder { embedding: 2 hidden: 3 context: NO_CONTEXT }
    }
    training { batch_size: 8 epochs: 3 }
  )pb");
}

TEST(ResourceEstimate, CountsParametersByHand) {
  const ResourceEstimate plan = Plan(SmallTranslation());
  const int64_t gru = 3 * 3 * (2 + 3) + 2 * 3 * 3;
  EXPECT_EQ(plan.elements, 10 * 2 + gru + 20 * 2 + gru + 20 * 3 + 20);
  EXPECT_EQ(plan.value_bytes, 4 * plan.elements);
  EXPECT_EQ(plan.gradient_bytes, 2 * 4 * plan.elements);
  EXPECT_EQ(plan.updates, 6);
}

TEST(ResourceEstimate, CountsTheSumOfSeveralBatches) {
  Experiment config = SmallTranslation();
  config.mutable_optimizer()->set_accumulate_batches(4);
  const ResourceEstimate plan = Plan(config);
  EXPECT_EQ(plan.gradient_bytes, 3 * 4 * plan.elements);
}

TEST(ResourceEstimate, CountsOneTapePerThreadAndTheSlabsOfTheReducer) {
  Experiment config = SmallTranslation();
  config.set_num_shards(8);
  const ResourceEstimate two = Plan(config, 2);
  EXPECT_EQ(two.gradient_slabs, 4);
  EXPECT_EQ(two.gradient_bytes, 4 * 4 * two.elements);
  EXPECT_THAT(ResourceEstimateText(two, config),
              HasSubstr("4 copies, for num_shards: 8 on 2 threads"));
  const ResourceEstimate eight = Plan(config, 8);
  EXPECT_EQ(eight.gradient_slabs, 8);
  EXPECT_EQ(*eight.activation_bytes / *two.activation_bytes, 4);
}

TEST(ResourceEstimate, CountsTheMomentsOfEachOptimizer) {
  Experiment config = SmallTranslation();
  const auto moments = [&] {
    const ResourceEstimate plan = Plan(config);
    return plan.optimizer_bytes / plan.value_bytes;
  };
  EXPECT_EQ(moments(), 2);
  config.mutable_optimizer()->mutable_adamw();
  EXPECT_EQ(moments(), 2);
  config.mutable_optimizer()->mutable_sgd();
  EXPECT_EQ(moments(), 0);
  config.mutable_optimizer()->mutable_sgd()->set_momentum(0.9);
  EXPECT_EQ(moments(), 1);
}

TEST(ResourceEstimate, MeasuresWorkAndMemoryInProportionToTheBatch) {
  Experiment config = SmallTranslation();
  config.mutable_data()->mutable_placeholder()->set_pairs(32);
  // With these widths, rows fill whole cache lines, so no array is rounded up.
  config.mutable_model()->mutable_encoder()->set_embedding(16);
  config.mutable_model()->mutable_encoder()->set_hidden(16);
  config.mutable_model()->mutable_decoder()->set_embedding(16);
  config.mutable_model()->mutable_decoder()->set_hidden(16);
  const ResourceEstimate small = Plan(config);
  config.mutable_training()->set_batch_size(16);
  config.mutable_optimizer()->set_accumulate_batches(3);
  const ResourceEstimate large = Plan(config);
  config.mutable_training()->set_batch_size(32);
  const ResourceEstimate largest = Plan(config);
  EXPECT_EQ(small.measured_examples, 8);
  EXPECT_EQ(large.measured_examples, 16);
  EXPECT_EQ(largest.measured_examples, 32);
  EXPECT_NEAR(*large.update_flops / *small.update_flops, 6, 0.1);
  // The output layer has 20 x 16 weights. Its 3 matrix products in the forward
  // and backward pass take 2 operations per weight, for each of 6 ids in 8
  // sentences.
  EXPECT_GT(*small.update_flops, 2 * 3 * 20 * 16 * 6 * 8);
  // The weights of the recurrent cells are packed.
  EXPECT_GT(small.packed_bytes, 0);
  EXPECT_EQ(largest.packed_bytes, small.packed_bytes);
  // Queues of weight gradients have a constant size. All other memory is
  // proportional to the batch.
  const auto growth =
      static_cast<double>(*large.activation_bytes - *small.activation_bytes);
  EXPECT_GT(growth, 0);
  EXPECT_NEAR(
      static_cast<double>(*largest.activation_bytes - *large.activation_bytes),
      2 * growth, 0.2 * growth);
}

TEST(ResourceEstimate, ABatchHasNoMoreExamplesThanAnEpoch) {
  Experiment config = SmallTranslation();
  config.mutable_data()->mutable_placeholder()->set_pairs(32);
  config.mutable_training()->set_batch_size(1000);
  const ResourceEstimate plan = Plan(config);
  EXPECT_EQ(plan.batch_examples, 32);
  config.mutable_training()->set_batch_size(32);
  EXPECT_EQ(*plan.update_flops, *Plan(config).update_flops);
  config.mutable_training()->set_examples_per_epoch(10);
  EXPECT_EQ(Plan(config).batch_examples, 10);
}

TEST(ResourceEstimate, MeasuresFewExamplesIfTheyAreLong) {
  Experiment config = SmallTranslation();
  config.mutable_data()->mutable_placeholder()->set_pairs(32);
  config.mutable_data()->mutable_placeholder()->set_source_words(10000);
  const ResourceEstimate plan = Plan(config);
  EXPECT_EQ(plan.measured_examples, 6);
  EXPECT_EQ(plan.batch_examples, 8);
  config.mutable_training()->set_group_by_length(true);
  EXPECT_EQ(Plan(config).measured_examples, 6);
}

TEST(ResourceEstimate, DoesNotMakeAModelThatIsTooLargeToMeasure) {
  Experiment config = SmallTranslation();
  config.mutable_model()->mutable_encoder()->set_hidden(65536);
  config.mutable_model()->mutable_decoder()->set_hidden(65536);
  const ResourceEstimate plan = Plan(config);
  EXPECT_GT(plan.elements, int64_t{6} * 65536 * 65536);
  EXPECT_FALSE(plan.update_flops.has_value());
  EXPECT_THAT(ResourceEstimateText(plan, config),
              EndsWith("  activations: the model is too large to measure\n"
                       "\nwork\n"));
}

TEST(ResourceEstimate, CountsTheUpdatesOfDataThatItReads) {
  const Experiment config = Parse(R"pb(
    data { reverse { train: 10 dev: 1 test: 1 symbols: 4 } }
    model {
      encoder { embedding: 2 hidden: 3 }
      decoder { embedding: 2 hidden: 3 context: NO_CONTEXT }
    }
    training { batch_size: 4 epochs: 5 }
  )pb");
  EXPECT_EQ(Plan(config).updates, 15);
}

// Each pair has 5 source ids and 6 target ids, so a batch of four pairs has 24
// positions.
TEST(ResourceEstimate, CountsTheUpdatesOfBatchesOfPositions) {
  Experiment config = SmallTranslation();
  Training& training = *config.mutable_training();
  training.set_group_by_length(true);
  training.set_batch_tokens(24);
  const ResourceEstimate plan = Plan(config);
  EXPECT_EQ(plan.updates, 3 * 4);
  EXPECT_EQ(plan.batch_examples, 4);
  EXPECT_EQ(plan.measured_examples, 4);
  EXPECT_THAT(ResourceEstimateText(plan, config),
              HasSubstr("estimate for batch_tokens: 24\n"));
  // Batches by batch_size have 8 examples, so there are half as many optimizer
  // steps, with twice the work.
  EXPECT_NEAR(*Plan(SmallTranslation()).update_flops / *plan.update_flops, 2,
              0.01);
  config.mutable_optimizer()->set_accumulate_batches(3);
  const ResourceEstimate accumulated = Plan(config);
  EXPECT_EQ(accumulated.updates, 3 * 2);
  EXPECT_NEAR(*accumulated.update_flops / *plan.update_flops, 2, 0.01);
}

TEST(ResourceEstimate, StopsAtMaxUpdates) {
  Experiment config = SmallTranslation();
  config.mutable_training()->set_max_updates(4);
  const ResourceEstimate plan = Plan(config);
  EXPECT_EQ(plan.updates, 4);
  EXPECT_THAT(ResourceEstimateText(plan, config), HasSubstr("max_updates"));
  config.mutable_training()->set_max_updates(100);
  EXPECT_EQ(Plan(config).updates, 6);
}

TEST(ResourceEstimate, AModelWithoutWeightsIsNotUpdated) {
  const Experiment config = Parse(
      "data { nadaraya_watson {} } "
      "model { nadaraya_watson {} attention { gaussian {} } }");
  const ResourceEstimate plan = Plan(config);
  EXPECT_EQ(plan.updates, 0);
  EXPECT_THAT(ResourceEstimateText(plan, config), HasSubstr("epochs"));
}

TEST(ResourceEstimate, CountsTheWeightsThatAreKept) {
  Experiment config = SmallTranslation();
  EXPECT_EQ(Plan(config).selection_bytes, 0);
  config.mutable_training()->mutable_early_stopping();
  config.mutable_training()->set_average(3);
  const ResourceEstimate plan = Plan(config);
  EXPECT_EQ(plan.selection_bytes, 4 * plan.value_bytes);
  EXPECT_THAT(ResourceEstimateText(plan, config), HasSubstr("kept weights"));
}

TEST(ResourceEstimate, IsPrintedAsATableAndAsAnObject) {
  Experiment config = SmallTranslation();
  config.set_name("small");
  ResourceEstimate plan;
  for (const auto& [name, shape] :
       {std::pair("encoder.weight", Shape{2, 3}),
        std::pair("encoder.bias", Shape{2}), std::pair("scale", Shape{1000})}) {
    ParameterInfo& info = plan.parameters.emplace_back();
    info.name = name;
    info.shape = shape;
  }
  plan.elements = 1234567;
  plan.value_bytes = 3 << 29;
  plan.threads = 1;
  plan.gradient_slabs = 3;
  plan.gradient_bytes = int64_t{5} << 29;
  plan.optimizer_bytes = 1 << 30;
  plan.activation_bytes = (1 << 30) - (1 << 20);
  plan.update_flops = 2.5e8;
  plan.batch_examples = 8;
  plan.measured_examples = 4;
  plan.updates = 6000;
  const std::string layers =
      "small\n\n"
      "layer                                    shape                  "
      "parameters\n"
      "encoder                                                              "
      "    8\n"
      "  weight                                 [2, 3]\n"
      "  bias                                   [2]\n"
      "                                                                     "
      "1,000\n"
      "  scale                                  [1000]\n"
      "total                                                            "
      "1,234,567\n\n"
      "memory in training\n"
      "  values              1.5 GiB\n";
  EXPECT_EQ(
      ResourceEstimateText(plan, config),
      layers +
          "  gradients           2.5 GiB  3 copies, for num_shards: 2 on 1 "
          "thread\n"
          "  moments             1.0 GiB  of the optimizer\n"
          "  activations      1023.0 MiB  estimate for batch_size: 8, measured "
          "on "
          "4 "
          "examples\n"
          "  total               6.0 GiB\n\n"
          "work\n"
          "  optimizer step 250.00 MFLOP  estimate for matrix products, "
          "measured on 4 examples\n"
          "  steps                 6,000  in 3 epochs\n"
          "  total            1.50 TFLOP\n");
  EXPECT_EQ(JsonText(ResourceEstimateJson(plan, config)),
            R"({"name":"small","elements":1234567,"parameters":[)"
            R"({"name":"encoder.weight","shape":[2,3]},)"
            R"({"name":"encoder.bias","shape":[2]},)"
            R"({"name":"scale","shape":[1000]}],"bytes":{"values":1610612736,)"
            R"("gradients":2684354560,"optimizer":1073741824,)"
            R"("kept_weights":0,"packed_weights":0,"activations":1072693248},)"
            R"("batch_examples":8,)"
            R"("measured_examples":4,"update_flops":2.5e+08,"updates":6000})");
  plan.selection_bytes = 1 << 30;
  plan.packed_bytes = 1 << 29;
  plan.update_flops = 4e9;
  plan.updates = 1000000;
  plan.threads = 2;
  plan.measured_examples = 8;
  config.mutable_training()->set_max_updates(1000000);
  EXPECT_EQ(
      ResourceEstimateText(plan, config),
      layers +
          "  gradients           2.5 GiB  3 copies, for num_shards: 2 on 2 "
          "threads\n"
          "  moments             1.0 GiB  of the optimizer\n"
          "  kept weights        1.0 GiB  best, earlier and averaged weights\n"
          "  packed weights    512.0 MiB  copies for fast matrix products\n"
          "  activations      1023.0 MiB  estimate for batch_size: 8\n"
          "  total               7.5 GiB\n\n"
          "work\n"
          "  optimizer step   4.00 GFLOP  estimate for matrix products\n"
          "  steps             1,000,000  in total, limited by "
          "max_updates\n"
          "  total            4.00 PFLOP\n");
}

TEST(ResourceEstimate, ReportsAMissingCorpus) {
  Experiment config = SmallTranslation();
  config.mutable_data()->mutable_pairs();
  config.mutable_data()->set_path("not-there.txt");
  EXPECT_THAT(std::string(EstimateResources({.config = config}, /*threads=*/1,
                                            BuiltInPlugins())
                              .status()
                              .message()),
              HasSubstr("not-there.txt"));
}

}  // namespace
}  // namespace regard

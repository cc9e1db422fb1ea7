// Inserts NaN and infinity into whole models, in the forward and the backward
// pass. The error must name the operation.
#include "autodiff/testing/fault_drill.h"

#include <cstdint>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
#include "experiments/testing/bits_test_experiments.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "optimization/model.h"

namespace regard {
namespace {

// A model with scores of -inf, sparse weights and distance biases.
constexpr char kTransformer[] = R"(
data { reverse { train: 12 dev: 4 test: 4 symbols: 9 max_length: 5 max_test_length: 5 } }
model {
  transformer {
    width: 8
    attention {
      heads: 2
      attention {
        kernel { shape: BOXCAR width: 2 }
        normalizer { sparsemax {} }
        position_encoding { alibi {} }
      }
    }
    feed_forward { hidden: 8 activation: SWIGLU }
    dropout: 0.1
  }
}
)";

FaultInjectionSummary Drill(const char* text) {
  Experiment config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  const std::unique_ptr<Task> task = *BuildTask(config, BuiltInPlugins());
  Model<float>& model = task->model();
  model.BeginEpoch(0);
  const std::vector<int64_t> examples = {0, 1, 2};
  std::vector<double> denominators(model.loss_terms().size());
  model.Denominators(examples, absl::MakeSpan(denominators));
  return InjectFaults<float>(
      [&](Tape<float>& tape) {
        GradientSlab<float> gradients(model.parameters());
        Forward<float> forward(tape, model.parameters(), &gradients);
        forward.BeginStep();
        tape.set_training(true);
        tape.set_random({config.seed(), 0, examples});
        std::vector<Var<float>> sums(denominators.size());
        model.Loss(forward, examples, denominators, absl::MakeSpan(sums));
        std::vector<double> seeds;
        for (size_t i = 0; i < sums.size(); ++i) {
          seeds.push_back(model.loss_terms()[i].weight / denominators[i]);
        }
        forward.Backward(sums, seeds);
      },
      /*once_a_name=*/true);
}

TEST(FaultDrillTest, EachOperationOfEachModelIsNamed) {
  FaultInjectionSummary all;
  for (const char* text : {kRegression, kGru, kLstm, kLanguageModel, kLines,
                           kSelected, kImages, kCaptions, kMaskedWords,
                           kClamped, kTransformer, kHeadOutputs, kLatents}) {
    SCOPED_TRACE(text);
    const FaultInjectionSummary drill = Drill(text);
    for (const std::string& failure : drill.failures) ADD_FAILURE() << failure;
    EXPECT_GT(drill.faults, 0);
    all.faults += drill.faults;
    all.legal += drill.legal;
    all.operations.insert(drill.operations.begin(), drill.operations.end());
  }
  EXPECT_GT(all.legal, 0);
  std::cout << all.faults << " faults in " << all.operations.size()
            << " operations, all named; " << all.legal
            << " legal scores of -inf: " << absl::StrJoin(all.operations, " ")
            << "\n";
}

}  // namespace
}  // namespace regard

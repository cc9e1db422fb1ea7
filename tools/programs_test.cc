// Tests that programs set up their thread in the same way as training. Also
// tests that they open a run of an earlier version.
#include "tools/programs.h"

#include <immintrin.h>

#include <cerrno>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "experiments/run.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/plugins.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "language/text_model.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/parameters.h"
#include "optimization/model.h"
#include "seq2seq/translation_model.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

// Returns a product that is a denormal number, or 0 if the processor flushes
// denormal numbers to 0.
float DenormalProduct() {
  const volatile float a = 1e-30F;
  const volatile float b = 1e-10F;
  return a * b;
}

template <typename Main>
void ExpectFlushes(Main run) {
  _mm_setcsr(0x1f80);  // the default of a new process
  ASSERT_GT(DenormalProduct(), 0.0F);
  char program[] = "program";
  char flag[] = "--run=there is no such run";
  char* arguments[] = {program, flag};
  EXPECT_EQ(run(2, arguments, Plugins()), 2);
  EXPECT_EQ(DenormalProduct(), 0.0F);
}

TEST(TranslateProgramTest, FlushesDenormalNumbers) {
  ExpectFlushes(TranslateMain);
}

TEST(GenerateProgramTest, FlushesDenormalNumbers) {
  ExpectFlushes(GenerateMain);
}

TEST(InspectProgramTest, FlushesDenormalNumbers) { ExpectFlushes(InspectMain); }

TEST(EmbedProgramTest, FlushesDenormalNumbers) { ExpectFlushes(EmbedMain); }

TEST(PredictProgramTest, FlushesDenormalNumbers) { ExpectFlushes(PredictMain); }

TEST(EvaluateProgramTest, FlushesDenormalNumbers) {
  ExpectFlushes(EvaluateMain);
}

// Makes opening PNG files fail with an I/O error.
class UnreadablePicture : public FileOperations {
  int Open(const std::string& path, int flags) override {
    if (!absl::EndsWith(path, ".png")) {
      return FileOperations::Open(path, flags);
    }
    errno = EIO;
    return -1;
  }
};

TEST(PredictProgramTest, DiskErrorsAreMachineFailures) {
  static FileOperations system;
  static UnreadablePicture unreadable;
  char program[] = "predict";
  char model[] = "--model=pretrained/testdata/vit";
  char picture[] = "pretrained/testdata/image.png";
  char* arguments[] = {program, model, picture};
  EXPECT_EQ(PredictMain(3, arguments, BuiltInPlugins()), 0);
  ReplaceSystemFilesForTest(unreadable);
  EXPECT_EQ(PredictMain(3, arguments, BuiltInPlugins()), 1);
  ReplaceSystemFilesForTest(system);
}

constexpr char kRun[] = "tools/testdata/old_runs/finished";

TEST(RunTest, PredictsFromItsFolder) {
  const regard::Run run = regard::Run::Open(kRun, BuiltInPlugins()).value();
  EXPECT_EQ(run.step(), 400);
  EXPECT_EQ(run.task().model().num_examples(), 0);
  EXPECT_NE(run.model<TranslationModel>(), nullptr);
  EXPECT_EQ(run.model<TrainableLanguageModel>(), nullptr);
  const Prediction prediction =
      run.Predict({.text = "They are watching zebras."}).value();
  EXPECT_EQ(prediction.input, "they are watching zebras .");
  EXPECT_THAT(prediction.notes,
              ElementsAre("the model does not know 'zebras'"));
  EXPECT_EQ(run.Predict({.text = "they are watching ."})->text,
            "ils regardent .");
  EXPECT_EQ(run.Predict({.text = ""})->text, "");
}

TEST(RunTest, AProbeSeesThePassesOfPredictions) {
  const regard::Run run = regard::Run::Open(kRun, BuiltInPlugins()).value();
  SiteValueRecorder<float> recorder({"*decoder/attention/weights"});
  const PredictionRequest request = {.text = "they are watching ."};
  EXPECT_EQ(run.Predict(request, {}, &recorder)->text, "ils regardent .");
  // The keys are the four source words and <eos>. There is a pass for each of
  // the three output words and <eos>.
  ASSERT_EQ(recorder.seen().size(), 4);
  for (const auto& seen : recorder.seen()) {
    EXPECT_EQ(seen.shape[3], 5) << seen.site;
    const size_t row = 5;
    EXPECT_NEAR(
        std::accumulate(seen.value.begin(), seen.value.begin() + row, 0.0), 1,
        1e-5)
        << seen.site;
  }
  // After the call, the hook must be removed.
  EXPECT_EQ(run.Predict(request)->text, "ils regardent .");
  EXPECT_EQ(recorder.seen().size(), 4);
}

class WithoutContext : public Hook<float> {
 public:
  HookRequest Request(const std::string& site) override {
    return {.replacement = MatchesSite("*decoder/attention/context", site)};
  }
  Var<float> Replace(Tape<float>& tape, const std::string&,
                     Var<float> value) override {
    return tape.Full(value.shape(), 0);
  }
};

TEST(RunTest, AProbeCanChangePredictions) {
  const regard::Run run = regard::Run::Open(kRun, BuiltInPlugins()).value();
  WithoutContext hook;
  const PredictionRequest request = {.text = "she does not see the old hero ."};
  EXPECT_NE(run.Predict(request, {}, &hook)->text, run.Predict(request)->text);
}

TEST(RunTest, HasExamplesIfItsDataAreRead) {
  const regard::Run run =
      regard::Run::Open(kRun, BuiltInPlugins(), {.data = true}).value();
  EXPECT_GT(run.task().model().num_examples(), 0);
  const Prediction prediction = run.Predict({.example = 0}).value();
  EXPECT_EQ(prediction.text, run.Predict({.text = prediction.input})->text);
  EXPECT_NE(prediction.reference, "");
  EXPECT_THAT(run.Predict({.example = 1000000}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("index of an example must be less than")));
}

// Returns the loss of the examples, computed in the same way as the trainer.
double LossOf(const regard::Run& run, absl::Span<const int64_t> examples,
              std::optional<int64_t> step, GradientSlab<float>* gradients) {
  Model<float>& model = run.task().model();
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), gradients);
  forward.BeginStep();
  tape.set_training(step.has_value());
  tape.set_random({run.config().seed(), step.value_or(0), examples});
  double denominator = 0;
  Var<float> sum;
  model.Denominators(examples, absl::MakeSpan(&denominator, 1));
  model.Loss(forward, examples, absl::MakeConstSpan(&denominator, 1),
             absl::MakeSpan(&sum, 1));
  const double weight = model.loss_terms()[0].weight;
  const double seed = weight / denominator;
  if (gradients != nullptr) forward.Backward({sum}, {seed});
  return weight * static_cast<double>(sum.item()) / denominator;
}

TEST(RunTest, RunsTrainingExamplesLikeTheTrainer) {
  const regard::Run run =
      regard::Run::Open(kRun, BuiltInPlugins(), {.data = true}).value();
  const std::vector<int64_t> examples = {3, 0, 1};
  ParameterStore<float>& parameters = run.task().model().parameters();
  GradientSlab<float> wanted(parameters);
  GradientSlab<float> gradients(parameters);
  double without_dropout = 0;
  for (const std::optional<int64_t> step :
       {std::optional<int64_t>(), std::optional<int64_t>(7)}) {
    const double loss = LossOf(run, examples, step, &wanted);
    SiteValueRecorder<float> reader({"*"});
    const auto read =
        run.Forward({.examples = examples, .step = step}, &reader, &gradients);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->loss, loss);
    EXPECT_EQ(
        read->terms.at("loss") * run.task().model().loss_terms()[0].weight,
        loss);
    EXPECT_EQ(gradients.values(), wanted.values());
    EXPECT_FALSE(reader.seen().empty());
    SiteValueRecorder<float> recorder({}, {"*decoder/attention/weights"});
    const auto pass = [&](GradientSlab<float>* slab) {
      return run.Forward({.examples = examples, .step = step}, &recorder, slab);
    };
    EXPECT_NEAR(pass(nullptr)->loss, loss, 1e-5);
    EXPECT_TRUE(recorder.seen().empty());
    EXPECT_NEAR(pass(&gradients)->loss, loss, 1e-5);
    ASSERT_FALSE(recorder.seen().empty());
    EXPECT_FALSE(recorder.seen().back().gradient.empty());
    if (step.has_value()) {
      EXPECT_NE(loss, without_dropout);
    } else {
      without_dropout = loss;
    }
  }
  EXPECT_EQ(run.Forward({.examples = examples})->loss, without_dropout);
  EXPECT_THAT(run.Forward({.examples = {0, 1000000}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("there is no training example 1000000; "
                                 "the index must be from 0 to ")));
  EXPECT_THAT(run.Forward({.examples = {-1}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no training example -1")));
  EXPECT_THAT(run.Forward({}), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("at least one example")));
  EXPECT_THAT(
      regard::Run::Open(kRun, BuiltInPlugins())->Forward({.examples = {0}}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("there is no training example 0; the run must be "
                         "opened with its data")));
}

TEST(RunTest, OverridesMayChangeOnlyDataAndSearch) {
  const Plugins plugins = BuiltInPlugins();
  EXPECT_EQ(regard::Run::Open(kRun, plugins, {.overrides = {"search.beam=3"}})
                ->config()
                .search()
                .beam(),
            3);
  for (const char* change : {"seed=2", "model.encoder.hidden=3", "datax.path=a",
                             "training={epochs: 2}"}) {
    EXPECT_THAT(
        regard::Run::Open(kRun, plugins, {.overrides = {change}}),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr("only fields of data, search and intervene")))
        << change;
  }
  EXPECT_THAT(regard::Run::Open(kRun, plugins, {.overrides = {"search.bem=3"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("did you mean 'beam'")));
}

TEST(RunTest, AppliesInterventions) {
  const Plugins plugins = BuiltInPlugins();
  const auto open = [&](const std::string& replace) {
    return regard::Run::Open(
        kRun, plugins,
        {.overrides = {"intervene={site: '*/context' replace {" + replace +
                       "}}"}});
  };
  EXPECT_THAT(open("scale: 1e9"), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("intervene[0].replace")));
  EXPECT_THAT(
      regard::Run::Open(
          kRun, plugins,
          {.overrides = {"intervene={site: '*/contxet' replace {zeros {}}}"}}),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          HasSubstr("the nearest is 'step[*]/decoder/attention/context'")));
  // Returns the contexts from which the first two words are predicted.
  const auto contexts = [&](const std::string& replace) {
    SiteValueRecorder<float> recorder({"*/context"});
    const absl::StatusOr<regard::Run> run = open(replace);
    EXPECT_TRUE(
        run->Predict({.text = "they are watching ."}, {}, &recorder).ok());
    EXPECT_GE(recorder.seen().size(), 2);
    return std::pair(recorder.seen()[0].value, recorder.seen()[1].value);
  };
  const auto [first, second] = contexts("mean {}");
  EXPECT_EQ(first, second);
  EXPECT_NE(first, std::vector<float>(first.size()));
  EXPECT_EQ(contexts("mean {}").first, first);
  const auto [one, other] = contexts("scale: 1");
  EXPECT_NE(one, other);
}

}  // namespace
}  // namespace regard

// The programs set up their thread as training does, and open a run of an
// earlier program.
#include "tools/programs.h"

#include <immintrin.h>

#include <numeric>
#include <string>

#include "absl/status/status.h"
#include "autodiff/tape.h"
#include "experiments/run.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/plugins.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "language/text_model.h"
#include "nn/probe.h"
#include "seq2seq/translation_model.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

// A product that is a denormal number, or 0 where these are flushed.
float DenormalProduct() {
  const volatile float a = 1e-30F;
  const volatile float b = 1e-10F;
  return a * b;
}

template <typename Main>
void ExpectFlushes(Main run) {
  _mm_setcsr(0x1f80);  // as a new process has it
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

TEST(PredictProgramTest, FlushesDenormalNumbers) { ExpectFlushes(PredictMain); }

TEST(EvaluateProgramTest, FlushesDenormalNumbers) {
  ExpectFlushes(EvaluateMain);
}

constexpr char kRun[] = "tools/testdata/old_runs/finished";

TEST(RunTest, AnswersFromItsFolder) {
  const regard::Run run = regard::Run::Open(kRun, BuiltInPlugins()).value();
  EXPECT_EQ(run.step(), 400);
  EXPECT_EQ(run.task().model().num_examples(), 0);
  EXPECT_NE(run.model<TranslationModel>(), nullptr);
  EXPECT_EQ(run.model<TextModel>(), nullptr);
  const Answered answer =
      run.Answer({.text = "They are watching zebras."}).value();
  EXPECT_EQ(answer.input, "they are watching zebras .");
  EXPECT_THAT(answer.notes, ElementsAre("the model does not know 'zebras'"));
  EXPECT_EQ(run.Answer({.text = "they are watching ."})->text,
            "ils regardent .");
  EXPECT_EQ(run.Answer({.text = ""})->text, "");
}

TEST(RunTest, ShowsAProbeThePassesThatAnswer) {
  const regard::Run run = regard::Run::Open(kRun, BuiltInPlugins()).value();
  SiteRecorder<float> recorder({"*decoder/attention/weights"});
  const Question question = {.text = "they are watching ."};
  EXPECT_EQ(run.Answer(question, {}, &recorder)->text, "ils regardent .");
  // Over the four words and <eos>, a pass for each word and <eos>.
  ASSERT_EQ(recorder.seen().size(), 4);
  for (const auto& seen : recorder.seen()) {
    EXPECT_EQ(seen.shape[3], 5) << seen.site;
    const size_t row = 5;
    EXPECT_NEAR(
        std::accumulate(seen.value.begin(), seen.value.begin() + row, 0.0), 1,
        1e-5)
        << seen.site;
  }
  // Nobody watches any more.
  EXPECT_EQ(run.Answer(question)->text, "ils regardent .");
  EXPECT_EQ(recorder.seen().size(), 4);
}

class WithoutContext : public Probe<float> {
 public:
  SiteWish Wish(const std::string& site) override {
    return {.replacement = MatchesSite("*decoder/attention/context", site)};
  }
  Var<float> Replace(Tape<float>& tape, const std::string&,
                     Var<float> value) override {
    return tape.Full(value.shape(), 0);
  }
};

TEST(RunTest, LetsAProbeReachIntoThePassesThatAnswer) {
  const regard::Run run = regard::Run::Open(kRun, BuiltInPlugins()).value();
  WithoutContext probe;
  const Question question = {.text = "she does not see the old hero ."};
  EXPECT_NE(run.Answer(question, {}, &probe)->text, run.Answer(question)->text);
}

TEST(RunTest, HasExamplesWithItsData) {
  const regard::Run run =
      regard::Run::Open(kRun, BuiltInPlugins(), {.data = true}).value();
  EXPECT_GT(run.task().model().num_examples(), 0);
  const Answered answer = run.Answer({.example = 0}).value();
  EXPECT_EQ(answer.text, run.Answer({.text = answer.input})->text);
  EXPECT_NE(answer.reference, "");
  EXPECT_THAT(run.Answer({.example = 1000000}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("counted from 0")));
}

TEST(RunTest, TakesOtherDataAndAnotherSearchAlone) {
  const Plugins plugins = BuiltInPlugins();
  EXPECT_EQ(regard::Run::Open(kRun, plugins, {.overrides = {"search.beam=3"}})
                ->config()
                .search()
                .beam(),
            3);
  for (const char* change : {"seed=2", "model.encoder.hidden=3", "datax.path=a",
                             "training={epochs: 2}"}) {
    EXPECT_THAT(regard::Run::Open(kRun, plugins, {.overrides = {change}}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("fields of data and search alone")))
        << change;
  }
  EXPECT_THAT(regard::Run::Open(kRun, plugins, {.overrides = {"search.bem=3"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("did you mean 'beam'")));
}

}  // namespace
}  // namespace regard

// Tests how the training program reacts to invalid configs, invalid flags and
// missing files. The program must print the position of the error, exit with
// code 2, and make no run folder.
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/testing/child_program.h"
#include "files/testing/temporary_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kGood[] = R"(name: "good"
data {
  reverse { train: 20 dev: 2 test: 2 }
}
model {
  encoder { hidden: 16 }
  attention { additive {} }
  decoder { hidden: 16 }
}
training { epochs: 1 }
)";

class BrokenConfigProgramTest : public testing::TemporaryFilesTest {
 protected:
  BrokenConfigProgramTest() { WriteFile("good.textproto", kGood); }

  // Runs the program, which must fail without making a run folder. Returns what
  // it prints to standard error.
  std::string RefusalOf(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "experiments/train");
    arguments.push_back("--run=" + Path("run"));
    ChildProgram child(arguments, Path("output"));
    EXPECT_EQ(child.Wait(), 2) << child.Errors();
    EXPECT_EQ(child.Output(), "");
    EXPECT_FALSE(std::filesystem::exists(Path("run")));
    return child.Errors();
  }

  std::string RefusalOfText(absl::string_view text) {
    WriteFile("a.textproto", text);
    return RefusalOf({"--config=a.textproto"});
  }

  // Like RefusalOfText(), but inserts a first line that extends a valid config.
  std::string RefusalOfChange(absl::string_view text) {
    return RefusalOfText(absl::StrCat("base: \"good.textproto\"\n", text));
  }
};

TEST_F(BrokenConfigProgramTest, TheUnbrokenConfigIsValid) {
  ChildProgram child(
      {"experiments/train", "--config=good.textproto", "--run=" + Path("run")},
      Path("output"));
  EXPECT_EQ(child.Wait(), 0) << child.Errors();
}

TEST_F(BrokenConfigProgramTest, SaysWhereAndWhat) {
  const struct {
    const char* change;
    const char* refusal;
  } kCases[] = {
      {"sead: 3", "a.textproto:2:1: error: no field 'sead'"},
      {"loss { normalizer: PER_TOKN }",
       "a.textproto:2:20: error: 'PER_TOKN' is not a value of Normalizer; did "
       "you mean 'PER_TOKEN'?"},
      {"seed: \"x\"", "a.textproto:2:7: error: 'seed' takes an integer"},
      {"training {\n  batch_size: 0\n}",
       "a.textproto:3:3: error: training.batch_size: must be in"},
      {"seed: 1\nseed: 2", "a.textproto:3:1: error: 'seed' is set twice"},
      {"num_shards: 99999999999",
       "a.textproto:2:13: error: '99999999999' is outside int32"},
      {"seed: 99999999999999999999999", "a.textproto:2:7: error: "},
      {"loss { scale: nan }", "a.textproto:2:15: error: 'scale' must be a "},
      {"name: \"a b\"", "a.textproto:2:1: error: name: must have 1 to 100"},
      {"baseline { name: \"\" override { path: \"seed\" value: \"2\" } }",
       "a.textproto:2:12: error: baseline.name: must not be empty or "},
      {"baseline { name: \"good\" override { path: \"seed\" value: \"2\" } }",
       "a.textproto:2:12: error: baseline.name: "},
      {"model {\n  encoder {\n",
       "a.textproto:2:7: error: this '{' has no closing bracket"},
      // Widths that do not match each other.
      {"model {\n  attention { dot {} }\n  encoder { hidden: 8 }\n"
       "  decoder { initial_state: ZERO }\n}",
       "a.textproto:3:15: error: model.attention.dot: this score requires a "
       "query and a key of the same width; the query has 16, the key 8"},
      {"model { decoder { layers: 2 } }",
       "a.textproto:2:9: error: model.decoder.initial_state: FINAL_STATE "},
      {"model { nadaraya_watson {} }", "good.textproto:6:3: error: model."},
      {"base: \"x\"", "a.textproto:2:1: error: 'base' is set twice"},
      // Errors in the data.
      {"data { path: \"x\" }",
       "a.textproto:2:8: error: data.path: does not apply to generated data"},
      // Errors in parts of the config.
      {"training {\n  early_stopping { patience: -1 } }",
       "a.textproto:3:20: error: training.early_stopping.patience: must be in "
       "[0, 1000000], got -1"},
      {"search { sampling { top_p: 2 } }",
       "a.textproto:2:21: error: search.sampling.top_p: must be in "},
      // Errors in hook points.
      {"intervene {\n  site: \"*/weihgts\" replace { zeros {} } }",
       "a.textproto:3:3: error: intervene[0].site: no hook point (site) of "
       "this model matches '*/weihgts'; the nearest is "
       "'step[*]/decoder/attention/weights'"},
      {"intervene { site: \"*/state\" replace { mean {} } }",
       "a.textproto:2:39: error: intervene[0].replace.mean: requires a "
       "trained model"},
      {"probe { site: \"*\" statistic: ENTROPIE }",
       "a.textproto:2:30: error: 'ENTROPIE' is not a value of Statistic; did "
       "you mean 'ENTROPY'?"},
      {"data { pairs {} }", "a.textproto:2:1: error: data: `pairs` requires "},
      // Errors in the precision.
      {"precision: BFLOAT16_PRODUCT",
       "a.textproto:2:12: error: 'BFLOAT16_PRODUCT' is not a value of "
       "Precision; did you mean 'BFLOAT16_PRODUCTS'?"},
      {"precision: BFLOAT16_PRODUCTS\nkeep_float32: \"encoder\"\n"
       "keep_float32: \"*/decodr\"",
       "a.textproto:4:1: error: keep_float32[1]: no scope with products "
       "matches '*/decodr'"},
  };
  for (const auto& [change, refusal] : kCases) {
    EXPECT_THAT(RefusalOfChange(change), StartsWith(refusal)) << change;
  }
}

// The sequences have up to 10 symbols for training and 15 for the test, each
// followed by <eos>.
TEST_F(BrokenConfigProgramTest, ScoresMustKnowTheDistancesOfTheData) {
  EXPECT_THAT(
      RefusalOfChange(
          "data { reverse { max_length: 10 max_test_length: 15 } }\n"
          "model {\n  attention {\n"
          "    relative_dot { max_position: 8 }\n  }\n}"),
      StartsWith("a.textproto:5:5: error: model.attention.relative_dot: "
                 "supports positions up to 7, but the longest source in the "
                 "data, including <eos>, has positions up to "));
}

TEST_F(BrokenConfigProgramTest, AClassifierMustKnowThePositionsOfAText) {
  EXPECT_THAT(
      RefusalOfText("data { grammaticality { train: 20 } }\n"
                    "model {\n  text_classifier {\n    bert { transformer {\n"
                    "      width: 8 layers: 1\n"
                    "      attention { heads: 2 attention {\n"
                    "        relative_dot { max_position: 1 } } } } }\n"
                    "  }\n}"),
      StartsWith("a.textproto:6:28: error: "
                 "model.text_classifier.bert.transformer.attention.attention: "
                 "must support at least 2 positions, for [CLS] and [SEP]; "
                 "supports only 1"));
}

TEST_F(BrokenConfigProgramTest, TheModelMustKnowThePositionsOfSamples) {
  WriteFile("s", "A b.\nC d.\n");
  WriteFile("t", "W x.\nY z.\n");
  EXPECT_THAT(
      RefusalOfText("data {\n  pairs {\n"
                    "    train { source: 's' target: 't' }\n"
                    "    samples { source: 'A b.' reference: 'A b.' }\n"
                    "    samples { source: 'A b A b A b' reference: 'A' }\n"
                    "  }\n}\n"
                    "model {\n  transformer {\n    width: 8 layers: 1\n"
                    "    position_embedding { kind: LEARNED longest: 5 }\n"
                    "  }\n}"),
      StartsWith("a.textproto:5:15: error: data.pairs.samples[1].source: "));
}

TEST_F(BrokenConfigProgramTest, WatchedMetricsMustBeReported) {
  const auto watch = [this](const char* metric) {
    return RefusalOfChange(absl::StrCat(
        "training { early_stopping { metric: \"", metric, "\" } }"));
  };
  for (const char* metric : {"test/loss", "dev/x/loss"}) {
    EXPECT_THAT(
        watch(metric),
        StartsWith(absl::StrCat(
            "a.textproto:2:29: error: training.early_stopping.metric: ", metric,
            " is not a metric on dev; did you mean 'dev/loss'?")));
  }
  EXPECT_THAT(
      watch("dev/d2l_loss"),
      StartsWith(
          "a.textproto:2:29: error: training.early_stopping.metric: "
          "monitors dev/d2l_loss, which is not one of the metrics on dev: "
          "dev/exact_match, dev/bleu, dev/chrf, "
          "dev/alignment_error_rate, dev/loss, dev/perplexity, "
          "dev/token_accuracy, dev/cut_outputs\n"));
}

TEST_F(BrokenConfigProgramTest, SaysWhereToGetACorpus) {
  const std::string refusal =
      RefusalOfChange("data { path: \"gone.txt\" pairs {} }");
  EXPECT_THAT(refusal, StartsWith("error: corpus "));
  EXPECT_THAT(refusal, HasSubstr("gone.txt: cannot open: No such file"));
  EXPECT_THAT(refusal, HasSubstr("--set data.path=fra.txt"));
}

TEST_F(BrokenConfigProgramTest, ShowsTheLineAndAllProblemsOfAFile) {
  EXPECT_EQ(RefusalOfChange("sead: 3\nnaem: \"x\"\n"),
            "a.textproto:2:1: error: no field 'sead' in Experiment; did you "
            "mean 'seed'?\n"
            "  sead: 3\n"
            "  ^~~~\n"
            "a.textproto:3:1: error: no field 'naem' in Experiment; did you "
            "mean 'name'?\n"
            "  naem: \"x\"\n"
            "  ^~~~\n");
}

TEST_F(BrokenConfigProgramTest, ABaselineIsCheckedBeforeTraining) {
  const std::string typo =
      "baseline {\n"
      "  name: \"b\"\n"
      "  override { path: \"training.epohcs\" value: \"2\" }\n"
      "}\n";
  const std::string text = RefusalOfChange(typo);
  EXPECT_THAT(
      text,
      StartsWith("a.textproto:2:1: error: baseline: its overrides make the "
                 "config invalid:\na.textproto:4:3: error: no field "
                 "'epohcs'"));
  EXPECT_EQ(RefusalOf({"--config=a.textproto", "--check"}), text);
  EXPECT_THAT(RefusalOfChange("baseline { name: \"b\" override { path: "
                              "\"training.batch_size\" value: \"0\" } }\n"),
              HasSubstr("batch_size: must be in [1, "));
  // Errors that can only be found after the data were read.
  EXPECT_THAT(
      RefusalOfChange(
          "baseline { name: \"b\" override { path: \"model.attention\" "
          "value: \"{ relative_dot { max_position: 8 } }\" } }\n"),
      AllOf(StartsWith("a.textproto:2:1: error: baseline: its overrides make "),
            HasSubstr("model.attention.relative_dot: supports positions up to "
                      "7")));
  // Resuming a run that has not begun must print the same error.
  std::filesystem::create_directory(Path("empty"));
  ChildProgram child({"experiments/train", "--config=a.textproto", "--resume",
                      "--run=" + Path("empty")},
                     Path("output"));
  EXPECT_EQ(child.Wait(), 2);
  EXPECT_THAT(child.Errors(), HasSubstr("a.textproto:2:1: error: baseline"));
}

TEST_F(BrokenConfigProgramTest, AWrongFieldOfABaselineIsLocated) {
  // The message must contain the position in the overridden config or in the
  // override.
  EXPECT_THAT(
      RefusalOfChange("model { decoder { query: CURRENT_STATE\n"
                      "  readout: ATTENTIONAL } }\n"
                      "baseline {\n"
                      "  override { path: 'model.decoder.hidden_dropout'\n"
                      "             value: '2' }\n"
                      "  override { path: 'model.decoder.readout'\n"
                      "             value: 'STATE' }\n"
                      "  override { path: 'model.decoder.input_feeding'\n"
                      "             value: 'true' }\n"
                      "}\n"),
      StartsWith(
          "a.textproto:4:1: error: baseline: its overrides make the "
          "config invalid:\n"
          "a.textproto:5:3: error: model.decoder.hidden_dropout: must be "
          "in [0, 1), got 2\n"
          "  model.decoder.hidden_dropout=2\n"));
  EXPECT_THAT(RefusalOfChange("baseline { override {\n"
                              "  path: 'model.encoder.hidden' value: '8' } }"),
              HasSubstr("\ngood.textproto:8:3: error: "
                        "model.decoder.initial_state: FINAL_STATE requires"));
  EXPECT_THAT(RefusalOf({"--config=good.textproto", "--set",
                         "baseline.override={path: 'seed' value: 'x'}"}),
              HasSubstr("\n--set: error: 'seed' takes an integer"));
}

TEST_F(BrokenConfigProgramTest, AFolderThatHoldsARunIsRefusedBeforeTheData) {
  WriteFile("a.textproto",
            "base: 'good.textproto'\n"
            "data { path: 'gone.txt' pairs {} }\n");
  std::filesystem::create_directory(Path("run"));
  WriteFile("run/status.json", "{}");
  ChildProgram child(
      {"experiments/train", "--config=a.textproto", "--run=" + Path("run")},
      Path("output"));
  EXPECT_EQ(child.Wait(), 2);
  EXPECT_THAT(child.Errors(), HasSubstr("run: already holds a run"));
}

// The default experiment has a baseline, which must also be valid with cells
// that have no reset gate.
TEST_F(BrokenConfigProgramTest, ABaselineMayHaveCellsWithoutResetGates) {
  ChildProgram child(
      {"experiments/train", "--check", "--set", "model.encoder.cell=LSTM",
       "--set", "model.decoder.cell=LSTM"},
      Path("output"));
  EXPECT_EQ(child.Wait(), 0) << child.Errors();
}

TEST_F(BrokenConfigProgramTest, BasesMustExistAndEnd) {
  EXPECT_THAT(RefusalOfText("base: \"gone.textproto\"\n"),
              StartsWith("a.textproto:1:1: error: base 'gone.textproto' cannot "
                         "open: No such file or directory"));
  WriteFile("b.textproto", "seed: 1\nbase: \"a.textproto\"\n");
  EXPECT_THAT(RefusalOfText("base: \"b.textproto\"\n"),
              StartsWith("b.textproto:2:1: error: base 'a.textproto' forms "
                         "a cycle"));
}

TEST_F(BrokenConfigProgramTest, HostileFilesAreRefused) {
  std::mt19937 random(5);
  std::string noise;
  for (int i = 0; i < 5000; ++i) noise += static_cast<char>(random());
  std::string nested;
  for (int i = 0; i < 100000; ++i) nested += "model {";
  const std::string texts[] = {"",
                               "\n",
                               noise,
                               std::string("seed: \0 1\n", 10),
                               nested,
                               nested + std::string(100000, '}'),
                               std::string(2 << 20, ' ')};
  for (const std::string& text : texts) {
    EXPECT_THAT(RefusalOfText(text), HasSubstr("error: "));
  }
}

TEST_F(BrokenConfigProgramTest, RejectsUnreadableFiles) {
  EXPECT_THAT(RefusalOf({"--config=."}), HasSubstr("is a directory"));
  EXPECT_THAT(RefusalOf({"--config=gone.textproto"}),
              HasSubstr("gone.textproto: error: cannot open"));
  EXPECT_THAT(RefusalOf({"--config=good.textproto/a"}),
              HasSubstr("cannot open: Not a directory"));
  EXPECT_THAT(RefusalOf({"--config=/dev/zero"}), HasSubstr("error: "));
}

TEST_F(BrokenConfigProgramTest, AFileWithoutPermissionIsNotAWrongInput) {
  WriteFile("a.textproto", kGood);
  std::filesystem::permissions(Path("a.textproto"),
                               std::filesystem::perms::none);
  ChildProgram child({"experiments/train", "--config=a.textproto"},
                     Path("output"), /*unprivileged=*/true);
  EXPECT_EQ(child.Wait(), 1);
  EXPECT_THAT(child.Errors(), HasSubstr("a.textproto: error: cannot open: "
                                        "Permission denied"));
}

TEST_F(BrokenConfigProgramTest, WrongFlagsAreRefused) {
  EXPECT_THAT(RefusalOf({"--cofnig=a"}),
              HasSubstr("no flag --cofnig; did you mean 'config'?"));
  EXPECT_THAT(RefusalOf({"--threads=0"}), HasSubstr("from 1 to 1024, got '0'"));
  EXPECT_THAT(RefusalOf({"--threads", "two"}), HasSubstr("got 'two'"));
  EXPECT_THAT(RefusalOf({"--resume=yes"}), HasSubstr("takes no value"));
  EXPECT_THAT(RefusalOf({"--resume", "--resume"}), HasSubstr("given twice"));
  EXPECT_THAT(RefusalOf({"--config="}),
              HasSubstr("--config requires a non-empty "));
  EXPECT_THAT(RefusalOf({"phrasebook"}), HasSubstr("is not a flag"));
  EXPECT_THAT(RefusalOf({"--set", "data.phrasebook.tain=3"}),
              HasSubstr("did you mean 'train'?"));
}

TEST_F(BrokenConfigProgramTest, AWrongConfigToResumeLeavesNoFolder) {
  EXPECT_THAT(
      RefusalOf({"--config=good.textproto", "--resume", "--set", "sead=3"}),
      HasSubstr("did you mean 'seed'?"));
}

TEST_F(BrokenConfigProgramTest, ResumeNeedsTheFolderOfARun) {
  ChildProgram child(
      {"experiments/train", "--config=good.textproto", "--resume"},
      Path("output"));
  EXPECT_EQ(child.Wait(), 2);
  EXPECT_THAT(child.Errors(),
              HasSubstr("error: --resume requires --run=DIR, the folder of "
                        "the run to resume"));
  EXPECT_FALSE(std::filesystem::exists(Path("runs")));
}

TEST_F(BrokenConfigProgramTest, RejectsAModelTooLargeForMemory) {
  const std::string refusal = RefusalOfText(
      "data { reverse { train: 20 dev: 2 test: 2 } }\n"
      "model {\n"
      "  transformer { width: 65536 layers: 256 }\n"
      "}\n");
  EXPECT_THAT(refusal, StartsWith("a.textproto:2:1: error: model: "));
  EXPECT_THAT(refusal, HasSubstr(" parameters take "));
  EXPECT_THAT(refusal, HasSubstr(" GiB, but this machine has "));
}

}  // namespace
}  // namespace regard

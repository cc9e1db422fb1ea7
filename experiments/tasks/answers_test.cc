// Tests predictions and traces of every kind of model. The logits of the models
// are known, because all parameters are 0 except for one bias.
#include <algorithm>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "attention/inspection/inspection.h"
#include "attention/inspection/trace.h"
#include "autodiff/tape.h"
#include "evaluation/prediction.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
#include "files/file.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "optimization/model.h"
#include "options/reader.h"

namespace regard {
namespace {

struct Case {
  const char* name;
  const char* config;
  const char* file = "";  // the content of data.path
  // Name of the bias parameter, and the index of its element that is 1.
  const char* bias = "";
  size_t index = 0;
  PredictionRequest request = {};
  TraceOptions options = {};
};

std::string Text(const absl::StatusOr<Prediction>& answered) {
  if (!answered.ok()) return absl::StrCat(answered.status().message(), "\n");
  std::string text =
      absl::StrCat("'", answered->input, "' -> '", answered->text, "' for '",
                   answered->reference, "'\n");
  for (const double value : answered->values) {
    absl::StrAppendFormat(&text, "value %.3f\n", value);
  }
  for (size_t i = 0; i < answered->choices.size(); ++i) {
    for (const Prediction::Choice& choice : answered->choices[i]) {
      absl::StrAppendFormat(&text, "choice %d: %s %.3f\n", i, choice.name,
                            choice.probability);
    }
  }
  for (const std::string& note : answered->notes) {
    absl::StrAppend(&text, "note ", note, "\n");
  }
  return text;
}

std::string Text(Forward<float>& forward,
                 const absl::StatusOr<TraceablePrediction<float>>& traced) {
  if (!traced.ok()) return absl::StrCat(traced.status().message(), "\n");
  const TraceDescription& labels = traced->labels;
  std::string text =
      absl::StrCat("'", labels.input, "' -> '", labels.prediction, "'\n");
  if (labels.target.has_value()) {
    absl::StrAppend(&text, "target '", *labels.target, "'\n");
  }
  for (const TracedSequence& sequence : labels.sequences) {
    absl::StrAppend(&text, sequence.name, " reads ",
                    absl::StrJoin(sequence.labels, ","), "\n");
    if (!sequence.writes.empty()) {
      absl::StrAppend(&text, sequence.name, " writes ",
                      absl::StrJoin(sequence.writes, ","), "\n");
    }
    if (sequence.image.has_value()) {
      const TracedImage& image = *sequence.image;
      absl::StrAppend(&text, image.height, " x ", image.width, " pixels, ",
                      image.rgb.size(), " bytes, ", image.rows, " x ",
                      image.columns, " patches from ", image.first, "\n");
    }
  }
  for (const SiteSequences& sites : labels.sites) {
    absl::StrAppend(&text, "sites ", sites.pattern, ": queries of ",
                    sites.queries, ", keys of ", sites.keys, "\n");
  }
  absl::StrAppend(&text, labels.output_unit, " of output ", labels.chosen,
                  labels.successive ? ", successive" : "", ", written by ",
                  labels.writer, "\nalignment '", labels.alignment,
                  "' of head ", labels.alignment_head, "\n");
  forward.BeginStep();
  const Var<float> outputs = traced->pass(forward);
  for (size_t i = 0; i < labels.outputs.size(); ++i) {
    absl::StrAppendFormat(&text, "output %s at %d: %.3f\n",
                          labels.outputs[i].name, labels.outputs[i].position,
                          outputs.data()[i]);
  }
  for (const TraceDescription::Link& link : labels.gold) {
    absl::StrAppend(&text, "gold ", link.query, " ", link.key, "\n");
  }
  const Inspection<float> seen = Inspect(forward, *traced, {});
  for (const LogitLensLayer& layer : seen.lens) {
    for (size_t row = 0; row < layer.rows.size(); ++row) {
      absl::StrAppend(&text, layer.site, ", ", seen.lens_rows[row], ":");
      for (const Prediction::Choice& choice : layer.rows[row]) {
        absl::StrAppend(&text, " ", choice.name);
      }
      absl::StrAppend(&text, "\n");
    }
  }
  for (const std::string& note : labels.notes) {
    absl::StrAppend(&text, "note ", note, "\n");
  }
  return text;
}

std::string Times(int count, const char* text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

constexpr char kTranslation[] =
    "data { copy { train: 50 dev: 1 test: 2 symbols: 5 min_length: 2 "
    "max_length: 3 } } search { max_length: 5 max_length_ratio: 0 } model { "
    "encoder { embedding: 4 hidden: 6 } attention { "
    "dot {} } decoder { embedding: 4 hidden: 6 } }";
constexpr char kTransformer[] =
    "data { copy { train: 50 dev: 1 test: 1 symbols: 5 min_length: 2 "
    "max_length: 3 } } search { max_length: 3 max_length_ratio: 0 } model { "
    "transformer { width: 8 layers: 2 attention { heads: 2 } } }";
constexpr char kCharacters[] =
    "data { text { test_fraction: 0.4 } } model { language_model { block: 4 "
    "transformer { width: 8 layers: 1 attention { heads: 2 } } } }";
constexpr char kFewCharacters[] =
    "data { text {} } model { language_model { block: 4 transformer { width: 8 "
    "layers: 1 attention { heads: 2 } position_embedding { kind: LEARNED "
    "longest: 4 } } } }";
constexpr char kLines[] =
    "data { text { dev_fraction: 0.5 whole_lines: true } } model { "
    "language_model { block: 4 examples: LINES transformer { width: 8 layers: "
    "1 attention { heads: 2 } } } }";
constexpr char kMasked[] =
    "data { text { dev_fraction: 0.4 } } model { bert { transformer { width: 8 "
    "layers: 1 attention { heads: 2 } } masked_words { block: 8 } } }";
constexpr char kClassifier[] =
    "data { labelled_text { dev_fraction: 0.5 } } model { text_classifier { "
    "bert { transformer { width: 8 layers: 1 attention { heads: 2 } } "
    "masked_words { block: 8 } } } }";
constexpr char kEmbedder[] =
    "data { scored_pairs { dev_fraction: 0.5 } } model { text_embedder { bert "
    "{ transformer { width: 4 layers: 1 attention { heads: 2 } } } } }";
constexpr char kTokens[] =
    "data { associative_recall { train: 8 dev: 3 test: 0 vocabulary: 8 length: "
    "8 pairs: 2 } } model { token_classifier { transformer { width: 8 layers: "
    "1 "
    "attention { heads: 2 } } } }";
constexpr char kImages[] =
    "data { shapes { train: 8 dev: 3 test: 0 } } model { vision_transformer { "
    "patch: 14 transformer { width: 8 layers: 1 attention { heads: 2 } } } }";
constexpr char kCaptions[] =
    "data { captions { train: 8 dev: 3 test: 0 side: 8 } } search { "
    "max_length: 2 max_length_ratio: 0 } model { captioner { "
    "vision_transformer { patch: 8 transformer { width: 8 layers: 1 attention "
    "{ heads: 2 } } } decoder { width: 8 layers: 1 attention { heads: 2 } } } "
    "}";
constexpr char kRegression[] =
    "data { table { dev_fraction: 0.5 test_fraction: 0 shuffle: false } } "
    "model { nadaraya_watson {} attention { average {} } }";
constexpr char kTable[] = "a,b,price\n1,0,1\n2,5,3\n3,0,3\n9,0,4\n";

const Case kCases[] = {
    {"translation",
     kTranslation,
     "",
     "decoder.output.bias",
     5,
     {.text = "1 9"},
     {.target = "3"}},
    {"translation_example",
     kTranslation,
     "",
     "decoder.output.bias",
     5,
     {.example = 1},
     {}},
    {"translation_right",
     kTranslation,
     "",
     "decoder.output.bias",
     5,
     {.example = 0},
     {.target = "3 0"}},
    {"no_such_translation",
     kTranslation,
     "",
     "decoder.output.bias",
     5,
     {.example = 2},
     {}},
    {"transformer",
     kTransformer,
     "",
     "decoder.output.bias",
     5,
     {.example = 0},
     {.beam = 2}},
    {"characters",
     kCharacters,
     "abcdabcdabcdabcd",
     "output.bias",
     2,
     {.text = "ab"},
     {.target = "da"}},
    {"characters_example",
     kCharacters,
     "abcdabcdabcdabcd",
     "output.bias",
     2,
     {.example = 1},
     {}},
    {"many_characters",
     kCharacters,
     "abcdabcdabcdabcd",
     "output.bias",
     2,
     {.text = std::string(101, 'a')}},
    {"many_characters_target",
     kCharacters,
     "abcdabcdabcdabcd",
     "output.bias",
     2,
     {.text = std::string(100, 'a')},
     {.target = "b"}},
    {"no_such_characters",
     kCharacters,
     "abcdabcdabcdabcd",
     "output.bias",
     2,
     {.example = 2},
     {.beam = 1}},
    {"lines", kLines, "ab\nb a\nab\nb\n", "output.bias", 3, {.example = 1}, {}},
    {"lines_target",
     kLines,
     "ab\nb a\nab\nb\n",
     "output.bias",
     3,
     {.text = "b"},
     {.target = " a"}},
    {"masked",
     kMasked,
     "a b c\nb c a\na c b\nc b a\n",
     "masked_words.bias",
     6,
     {.text = "a [MASK] c [MASK]"},
     {}},
    {"masked_example",
     kMasked,
     "a b c\nb c a\na c b\nc b a\n",
     "masked_words.bias",
     6,
     {.example = 0},
     {}},
    {"nothing_masked",
     kMasked,
     "a b c\nb c a\na c b\nc b a\n",
     "masked_words.bias",
     6,
     {.text = "a"},
     {.target = "a"}},
    {"classifier",
     kClassifier,
     "x\ta\ny\tb\nx\tb\ny\ta c\n",
     "classifier.bias",
     1,
     {.text = "a b"},
     {}},
    {"classifier_example",
     kClassifier,
     "x\ta\ny\tb\nx\tb\ny\ta c\n",
     "classifier.bias",
     1,
     {.example = 1},
     {}},
    {"classifier_target",
     kClassifier,
     "x\ta\ny\tb\nx\tb\ny\ta c\n",
     "classifier.bias",
     1,
     {.example = 2},
     {.target = "x"}},
    {"embedder_beam",
     kEmbedder,
     "a\tb\t0.5\nb\tc\t0.25\n",
     "pooler.bias",
     0,
     {.text = "a\tb\tc"},
     {.beam = 2}},
    {"embedder",
     kEmbedder,
     "a\tb\t0.5\nb\tc\t0.25\n",
     "layers.0.feed_forward_norm.bias",
     1,
     {.text = "a b"},
     {}},
    {"embedder_example",
     kEmbedder,
     "a\tb\t0.5\nb\tc\t0.25\n",
     "layers.0.feed_forward_norm.bias",
     1,
     {.example = 0},
     {}},
    {"tokens", kTokens, "", "output.bias", 5, {.text = " 3  7"}, {}},
    {"tokens_example", kTokens, "", "output.bias", 5, {.example = 2}, {}},
    {"no_such_token", kTokens, "", "output.bias", 5, {.text = "3 x"}, {}},
    {"tokens_target",
     kTokens,
     "",
     "output.bias",
     5,
     {.example = 3},
     {.target = "3"}},
    {"images", kImages, "", "head.bias", 3, {.example = 2}, {}},
    {"no_such_image", kImages, "", "head.bias", 3, {.example = 3}, {.beam = 1}},
    {"captions",
     kCaptions,
     "",
     "decoder.output.bias",
     5,
     {.example = 1},
     {.target = "star circles"}},
    {"captions_search",
     kCaptions,
     "",
     "decoder.output.bias",
     5,
     {.example = 2},
     {}},
    {"captions_beam",
     kCaptions,
     "",
     "decoder.output.bias",
     5,
     {.example = 3},
     {.beam = 2}},
    {"regression", kRegression, kTable, "", 0, {.text = "1, 2.5"}, {}},
    {"regression_example", kRegression, kTable, "", 0, {.example = 1}, {}},
    {"regression_words",
     kRegression,
     kTable,
     "",
     0,
     {.text = "1 x"},
     {.target = "2"}},
    {"regression_numbers", kRegression, kTable, "", 0, {.text = "1"}, {}},
    {"few_positions",
     kFewCharacters,
     "abcdabcdabcdabcd",
     "output.bias",
     2,
     {.text = "abcda"}},
    {"many_words",
     kTranslation,
     "",
     "decoder.output.bias",
     5,
     {.text = Times(101, "1 ")}},
    {"many_words_target",
     kTranslation,
     "",
     "decoder.output.bias",
     5,
     {.text = "1"},
     {.target = Times(101, "1 ")}},
    {"masked_late",
     kMasked,
     "a b c\nb c a\na c b\nc b a\n",
     "masked_words.bias",
     6,
     {.text = "a a a a a a [MASK]"}},
    {"classifier_cut",
     kClassifier,
     "x\ta\ny\tb\nx\tb\ny\ta c\n",
     "classifier.bias",
     1,
     {.text = "a b a b a b a b"}},
    {"embedder_of_nothing",
     kEmbedder,
     "a\tb\t0.5\nb\tc\t0.25\n",
     "pooler.bias",
     0,
     {.text = ""}},
    {"embedder_of_much",
     kEmbedder,
     "a\tb\t0.5\nb\tc\t0.25\n",
     "pooler.bias",
     0,
     {.text = Times(99, "a ")}},
    {"many_captions",
     kCaptions,
     "",
     "decoder.output.bias",
     5,
     {.example = 0},
     {.target = Times(101, "star ")}},
};

std::string Text(const Case& of) {
  std::vector<std::string> overrides;
  if (*of.file != '\0') {
    const std::string path = absl::StrCat(::testing::TempDir(), "/", of.name);
    std::ofstream(path) << of.file;
    overrides.push_back(absl::StrCat("data.path=", path));
  }
  const auto loaded =
      LoadConfig({"c.textproto", of.config}, overrides, BuiltInPlugins());
  if (!loaded.ok()) return std::string(loaded.status().message());
  const std::unique_ptr<Task> task =
      BuildTask(loaded->config, BuiltInPlugins()).value();
  ParameterStore<float>& store = task->model().parameters();
  std::fill(store.values().begin(), store.values().end(), 0.0F);
  if (*of.bias != '\0') {
    store.value(*store.FindByName(of.bias))[of.index] = 1;
  }
  Tape<float> tape;
  Forward<float> forward(tape, store, nullptr);
  std::set<std::string> on_dev;
  for (const auto& set : task->model().Evaluate(forward, Split::kDev)) {
    for (const auto& total : set.totals) on_dev.insert(total.first);
    for (const auto& metric : set.metrics) on_dev.insert(metric.name);
  }
  for (const auto& metric : task->metrics()) {
    EXPECT_EQ(on_dev.count(metric.name) == 1,
              task->has_dev() && task->MeasuresOnDev(metric.name))
        << of.name << ": " << metric.name;
  }
  const std::string image = JoinPath(::testing::TempDir(), "image.png");
  std::ofstream(image, std::ios::binary) << "\x89PNG";
  std::string text = absl::StrCat(
      "## ", of.name, "\n", Text(task->Predict(forward, of.request, {})),
      "# What is looked at\n",
      Text(forward, task->Trace(forward, of.request, of.options)));
  // Omits images, because the library that reads images writes the error
  // message for a broken file.
  if (absl::StrContains(of.config, "vision_transformer")) return text;
  absl::StrAppend(&text, "# Of an image\n",
                  absl::StrReplaceAll(
                      Text(forward, task->Trace(forward, {.text = image}, {})),
                      {{image, "image.png"}}));
  return text;
}

TEST(AnswersTest, AreAsInTheFile) {
  std::string text;
  for (const Case& of : kCases) absl::StrAppend(&text, Text(of), "\n");
  EXPECT_EQ(text, ReadFile("experiments/tasks/testdata/answers.txt").value());
}

}  // namespace
}  // namespace regard

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "autodiff/tape.h"
#include "experiments/report/inspection_report.h"
#include "experiments/report/run_results.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "optimization/model.h"
#include "options/reader.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr char kTransformer[] =
    "transformer { width: 8 layers: 1 attention { heads: 2 } }";

constexpr char kBlind[] =
    "encoder { embedding: 4 hidden: 4 } decoder { embedding: 4 hidden: 4 "
    "context: NO_CONTEXT }";

// Returns the showcase of a model whose translations all have 45 words.
Showcase ShowcaseOfData(const std::string& data, const std::string& model,
                        bool final) {
  const auto loaded = LoadConfig(
      {"c.textproto", absl::StrCat("data { ", data,
                                   " } search { min_length: 45 max_length: 46 "
                                   "max_length_ratio: 0 } model { ",
                                   model, " }")},
      {}, BuiltInPlugins());
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  const std::unique_ptr<Task> task =
      BuildTask(loaded->config, BuiltInPlugins()).value();
  Tape<float> tape;
  Forward<float> forward(tape, task->model().parameters(), nullptr);
  return task->Show(forward, final);
}

Showcase ShowcaseOf(const std::string& model, bool final, int dev = 3) {
  return ShowcaseOfData(
      absl::StrCat("copy { train: 40 dev: ", dev,
                   " test: 10 symbols: 10 min_length: 2 max_length: 6 }"),
      model, final);
}

std::vector<std::string> WordsOf(const std::string& text) {
  return absl::StrSplit(text, ' ');
}

TEST(TranslationTaskTest, ShowsTwelveSentencesAndTheWeightsOfSix) {
  const Showcase shown = ShowcaseOf(kTransformer, /*final=*/false);
  EXPECT_EQ(shown.summary,
            "Translation: 40 training sentence pairs, 14 source and 14 target "
            "words.");
  EXPECT_EQ(shown.samples.title, "Translations");
  EXPECT_EQ(shown.samples.input, "source");
  EXPECT_EQ(shown.heat_map_caption,
            "Attention: each word on the left looks at the words above");
  ASSERT_THAT(shown.samples.rows, SizeIs(12));
  for (const ExampleTexts& row : shown.samples.rows) {
    EXPECT_EQ(row.input, row.reference);
    EXPECT_THAT(WordsOf(row.output), SizeIs(45));
  }
  ASSERT_THAT(shown.heat_maps, SizeIs(6));
  const LabelledMatrix& map = shown.heat_maps[5];
  EXPECT_EQ(map.title, shown.samples.rows[5].input);
  EXPECT_EQ(map.columns, WordsOf(map.title + " <eos>"));
  EXPECT_EQ(map.rows, WordsOf(shown.samples.rows[5].output + " <eos>"));
  EXPECT_THAT(map.heads,
              ElementsAre(SizeIs(map.rows.size() * map.columns.size())));
  EXPECT_THAT(map.gold, IsEmpty());
  EXPECT_THAT(shown.sections, IsEmpty());
  EXPECT_TRUE(shown.heat_maps_on_page);
  EXPECT_THAT(shown.notes, ElementsAre(Pair("test/alignment_error_rate",
                                            "diagonal alignment: 0.000"),
                                       Pair("test/cut_outputs", "of 10")));
}

TEST(TranslationTaskTest, AtTheEndSixAreExplainedInPlaceOfTheirMaps) {
  const Showcase shown = ShowcaseOf(kTransformer, /*final=*/true);
  EXPECT_FALSE(shown.heat_maps_on_page);
  EXPECT_THAT(shown.heat_maps, SizeIs(6));
  ASSERT_THAT(shown.inspections, SizeIs(6));
  const Section section = AttentionSection(shown.inspections);
  std::vector<std::string> headings;
  for (const Block& block : section.blocks) {
    const auto* const heading = std::get_if<Heading>(&block);
    if (heading != nullptr) headings.push_back(heading->text);
  }
  ASSERT_THAT(headings, SizeIs(6));
  // The map must show the first forty words and the end token.
  const std::vector<std::string> sides =
      absl::StrSplit(headings[5], " \u2192 ");
  EXPECT_EQ(sides[0], shown.samples.rows[5].input + " <eos>");
  EXPECT_THAT(WordsOf(sides[1]), SizeIs(41));
}

// Raw sentences without a source, or with more than 200 tokens, are skipped.
TEST(TranslationTaskTest, ShowsSentencesThatCanBeDrawn) {
  const auto words = [](int count) {
    std::vector<std::string> all(static_cast<size_t>(count), "a");
    return absl::StrJoin(all, " ");
  };
  const std::pair<int, int> lengths[] = {{0, 1},   {200, 1}, {201, 1},
                                         {1, 200}, {1, 201}, {2, 3}};
  std::string sides[2];
  for (const auto& [source, target] : lengths) {
    absl::StrAppend(&sides[0], words(source), "\n");
    absl::StrAppend(&sides[1], words(target), "\n");
  }
  std::string data;
  for (const char* split : {"train", "test"}) {
    absl::StrAppend(&data, split, " {");
    for (const int side : {0, 1}) {
      const char* const name = side == 0 ? "source" : "target";
      const std::string path = JoinPath(::testing::TempDir(), name);
      ASSERT_TRUE(WriteFileAtomically(path, sides[side]).ok());
      absl::StrAppend(&data, " ", name, ": '", path, "'");
    }
    absl::StrAppend(&data, " } ");
  }
  const Showcase shown = ShowcaseOfData(absl::StrCat("pairs { ", data, " }"),
                                        kBlind, /*final=*/false);
  std::vector<size_t> sources;
  for (const ExampleTexts& row : shown.samples.rows) {
    sources.push_back(WordsOf(row.input).size());
  }
  EXPECT_THAT(sources, ElementsAre(200, 1, 2));
}

TEST(TranslationTaskTest, WithoutAttentionThereAreNoMaps) {
  const Showcase shown = ShowcaseOf(kBlind, /*final=*/true, /*dev=*/0);
  EXPECT_THAT(shown.samples.rows, SizeIs(10));
  EXPECT_THAT(shown.heat_maps, IsEmpty());
  EXPECT_THAT(shown.sections, IsEmpty());
  EXPECT_TRUE(shown.heat_maps_on_page);
}

}  // namespace
}  // namespace regard

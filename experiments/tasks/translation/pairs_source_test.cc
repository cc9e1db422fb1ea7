#include <zlib.h>

#include <any>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "data/data_source.h"
#include "data/pairs/sentence_source.h"
#include "data/parallel_corpus.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
#include "files/sha256.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "optimization/model.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PairsSourceTest : public ::testing::Test {
 protected:
  PairsSourceTest() {
    std::filesystem::create_directories(Path(""));
    Write("s", "A b.\nC d e.\nF.\n");
    Write("t", "W x.\nY z.\nV u.\n");
  }

  static std::string Path(const std::string& name) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    return absl::StrCat(::testing::TempDir(), "/", test->name(), "/", name);
  }

  static void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(Path(name), std::ios::binary) << bytes;
  }

  static void WriteGzip(const std::string& name, const std::string& bytes) {
    const gzFile file = gzopen(Path(name).c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
  }

  static std::string Lines(const std::string& source,
                           const std::string& target) {
    return absl::StrCat("source: '", Path(source), "' target: '", Path(target),
                        "' ");
  }

  // Loads the data of `data { pairs { ... } }`.
  static absl::StatusOr<SentenceData> Load(const std::string& options,
                                           uint64_t seed = 0,
                                           const ReadRunFile& kept = nullptr) {
    Data data;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("pairs {", options, "}"), &data));
    absl::StatusOr<std::any> loaded =
        BuiltInPlugins().data.Create(data)->LoadAny(
            {.path = "", .seed = seed, .read_run_file = kept});
    if (!loaded.ok()) return loaded.status();
    return std::any_cast<SentenceData>(*std::move(loaded));
  }

  // Returns the training pairs as tokens.
  static std::vector<std::string> Train(const SentenceData& data) {
    ParallelCorpusBuilder copy = data.train;
    const Vocabulary source = copy.SourceVocabulary(1);
    const Vocabulary target = copy.TargetVocabulary(1);
    const ParallelCorpus corpus = std::move(copy).Encode(source, target);
    std::vector<std::string> pairs;
    for (int64_t i = 0; i < corpus.size(); ++i) {
      std::string pair;
      for (const std::string& word : source.Decode(corpus[i].source)) {
        absl::StrAppend(&pair, word, " ");
      }
      absl::StrAppend(&pair, "|");
      for (const std::string& word : target.Decode(corpus[i].target)) {
        absl::StrAppend(&pair, " ", word);
      }
      pairs.push_back(pair);
    }
    return pairs;
  }
};

TEST_F(PairsSourceTest, ReadsTheLinesOfTwoFiles) {
  const auto data = Load(absl::StrCat("train {", Lines("s", "t"), "}"));
  ASSERT_THAT(data, IsOk());
  EXPECT_THAT(Train(*data),
              ElementsAre("a b . | w x .", "c d e . | y z .", "f . | v u ."));
  EXPECT_EQ(data->digests.at("data.pairs.train.source"),
            Sha256Hex("A b.\nC d e.\nF.\n"));
  EXPECT_EQ(data->digests.count("data.pairs.train.target"), 1);
  EXPECT_THAT(data->notes, IsEmpty());
  EXPECT_TRUE(data->dev.empty());
  EXPECT_THAT(data->tests, IsEmpty());
}

TEST_F(PairsSourceTest, ReadsCompressedFilesAndColumns) {
  WriteGzip("t.gz", "W x.\nY z.\nV u.\n");
  WriteGzip("both.tsv.gz", "1\ta\tb\n\n2\tc\td\n");
  const auto data = Load(absl::StrCat("train {", Lines("s", "t.gz"),
                                      "} dev { path: '", Path("both.tsv.gz"),
                                      "' source_column: 2 target_column: 1 }"));
  ASSERT_THAT(data, IsOk());
  EXPECT_THAT(Train(*data), SizeIs(3));
  ASSERT_THAT(data->dev.pairs, SizeIs(2));
  EXPECT_THAT(data->dev.pairs[0].source, ElementsAre("b"));
  EXPECT_THAT(data->dev.pairs[1].target, ElementsAre("c"));
}

TEST_F(PairsSourceTest, TestSplitsHaveNames) {
  const auto data =
      Load(absl::StrCat("train {", Lines("s", "t"), "} test { name: 'news' ",
                        Lines("s", "t"), "} test { ", Lines("t", "s"), "}"));
  ASSERT_THAT(data, IsOk());
  ASSERT_THAT(data->tests, SizeIs(2));
  EXPECT_EQ(data->tests[0].name, "news");
  EXPECT_EQ(data->tests[1].name, "");
  EXPECT_EQ(data->digests.count("data.pairs.test[1].target"), 1);
}

TEST_F(PairsSourceTest, CountsPairsThatTrainingOmits) {
  Write("s", "a\n\nsame words\nb b b\nc\n \n");
  Write("t", "w\nx\nsame words\ny y y y\nz z z\nv\n");
  const auto data = Load(absl::StrCat("max_tokens: 3 max_ratio: 2.5 train {",
                                      Lines("s", "t"), "}"));
  ASSERT_THAT(data, IsOk());
  EXPECT_THAT(Train(*data), ElementsAre("a | w"));
  EXPECT_THAT(
      data->notes,
      ElementsAre(
          "5 of 6 pairs of `train` are left out: 2 with an empty side, 1 with "
          "two equal sides, 1 over `max_tokens`, 1 over `max_ratio`"));
}

TEST_F(PairsSourceTest, EvaluationKeepsEveryLine) {
  Write("ds", "\nsame\n");
  Write("dt", "x\nsame\n");
  const auto data = Load(absl::StrCat("max_tokens: 4 train {", Lines("s", "t"),
                                      "} dev {", Lines("ds", "dt"), "}"));
  ASSERT_THAT(data, IsOk());
  EXPECT_THAT(data->dev.pairs, SizeIs(2));
}

TEST_F(PairsSourceTest, DrawsDevFromTrain) {
  const std::string options =
      absl::StrCat("dev_sample: 1 train {", Lines("s", "t"), "}");
  std::vector<std::string> drawn;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto data = Load(options, seed);
    ASSERT_THAT(data, IsOk());
    ASSERT_THAT(data->dev.pairs, SizeIs(1));
    EXPECT_THAT(Train(*data), SizeIs(2));
    drawn.push_back(data->dev.pairs[0].source[0]);
  }
  EXPECT_THAT(drawn, AllOf(::testing::Contains("a"), ::testing::Contains("c"),
                           ::testing::Contains("f")));
  EXPECT_THAT(Load(absl::StrCat("dev_sample: 3 train {", Lines("s", "t"), "}")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("leave nothing to train on")));
}

TEST_F(PairsSourceTest, TheDevSampleDoesNotTrainSubwords) {
  // Characters that no normalization rule of a model contains.
  const std::vector<std::string> rare = {"\u1200", "\u1208", "\u1210"};
  std::string sources;
  std::string targets;
  for (const std::string& character : rare) {
    absl::StrAppend(&sources, "the cat, the dog, the bird ", character, "\n");
    absl::StrAppend(&targets, "the dog, the cat, the bird ", character, "\n");
  }
  Write("es", sources);
  Write("et", targets);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const auto data = Load(absl::StrCat("dev_sample: 1 max_ratio: 9 subwords { "
                                        "vocabulary_size: 24 } train {",
                                        Lines("es", "et"), "}"),
                           seed);
    ASSERT_THAT(data, IsOk());
    const std::string& model = data->files.at("subwords.model");
    int known = 0;
    for (const std::string& character : rare) {
      known += absl::StrContains(model, character) ? 1 : 0;
    }
    EXPECT_EQ(known, 2) << "seed " << seed;
  }
}

TEST_F(PairsSourceTest, SubwordsAreTrainedAndKept) {
  const std::string options =
      absl::StrCat("subwords { vocabulary_size: 26 } train {", Lines("s", "t"),
                   "} test {", Lines("s", "t"), "}");
  const auto data = Load(options);
  ASSERT_THAT(data, IsOk());
  ASSERT_EQ(data->files.count("subwords.model"), 1);
  const std::string& model = data->files.at("subwords.model");
  EXPECT_EQ(data->digests.at("subwords.model"), Sha256Hex(model));
  EXPECT_TRUE(*data->source_vocabulary == *data->target_vocabulary);
  EXPECT_EQ(data->source_vocabulary->size(), 26);
  // References are raw text, not words.
  EXPECT_THAT(data->tests[0].references, ElementsAre("W x.", "Y z.", "V u."));
  const SentencepieceModel& tokenizer = *data->tokenizers.target;
  EXPECT_EQ(tokenizer.Detokenize(data->tests[0].pairs[1].target), "Y z.");

  // Loading again must give the same bytes, with and without a stored model.
  const auto again = Load(options);
  ASSERT_THAT(again, IsOk());
  EXPECT_TRUE(again->files == data->files);
  Write("given.model", model);
  const auto given =
      Load(absl::StrCat("subwords { source_model: '", Path("given.model"),
                        "' } train {", Lines("s", "t"), "}"));
  ASSERT_THAT(given, IsOk());
  EXPECT_TRUE(given->files == data->files);
}

TEST_F(PairsSourceTest, AResumedRunReadsItsStoredModel) {
  const std::string options = absl::StrCat(
      "subwords { vocabulary_size: 26 } train {", Lines("s", "t"), "}");
  const auto data = Load(options);
  ASSERT_THAT(data, IsOk());
  const std::string kept = data->files.at("subwords.model");
  // Training subwords on the new file fails, so the second load must use the
  // stored model.
  Write("s", "a\na\na\n");
  EXPECT_THAT(Load(options), ::testing::Not(IsOk()));
  std::vector<std::string> names;
  const auto again = Load(options, /*seed=*/0, [&](const std::string& name) {
    names.push_back(name);
    return absl::StatusOr<std::string>(kept);
  });
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(names, ElementsAre("subwords.model"));
  EXPECT_EQ(again->files.at("subwords.model"), kept);
  EXPECT_THAT(Load(options, /*seed=*/0,
                   [](const std::string& name) {
                     return absl::StatusOr<std::string>(
                         absl::NotFoundError("no " + name));
                   }),
              StatusIs(absl::StatusCode::kNotFound, "no subwords.model"));
}

TEST_F(PairsSourceTest, SamplingKeepsTheTextOfTrainingPairs) {
  Write("s", "A b.\n\nC d e.\nF.\n");
  Write("t", "W x.\nU\nY z.\nV u.\n");
  const std::string files = absl::StrCat("train {", Lines("s", "t"), "}");
  const auto without =
      Load(absl::StrCat("subwords { vocabulary_size: 26 } ", files));
  ASSERT_THAT(without, IsOk());
  EXPECT_EQ(without->sampler, nullptr);
  const auto data = Load(absl::StrCat(
      "subwords { vocabulary_size: 26 sampling { alpha: 0.5 } } ", files));
  ASSERT_THAT(data, IsOk());
  ASSERT_NE(data->sampler, nullptr);
  EXPECT_EQ(data->sampler->size(), 3);
  ParallelCorpus corpus;
  data->sampler->Segment(/*epoch=*/4, *data->source_vocabulary,
                         *data->target_vocabulary, &corpus);
  const std::string texts[] = {"A b.", "C d e.", "F."};
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(data->tokenizers.source->Detokenize(
                  data->source_vocabulary->Decode(corpus[i].source)),
              texts[i]);
  }
}

// Each epoch must sample new ids. Going back to an epoch must reproduce them.
TEST_F(PairsSourceTest, EachEpochHasItsOwnSubwords) {
  std::string text;
  for (int i = 0; i < 40; ++i) absl::StrAppend(&text, "line ", i * i, "\n");
  Write("s", text);
  Write("t", absl::StrCat(text.substr(text.find('\n') + 1), "last\n"));
  const auto loaded = LoadConfig(
      {"c.textproto",
       absl::StrCat("data { pairs { train {", Lines("s", "t"),
                    "} subwords { vocabulary_size: 40 sampling { alpha: 0.5 } "
                    "} } } model { encoder {} attention { dot {} } decoder {} "
                    "}")},
      {}, BuiltInPlugins());
  ASSERT_THAT(loaded, IsOk());
  const auto task = BuildTask(loaded->config, BuiltInPlugins());
  ASSERT_THAT(task, IsOk());
  Model<float>& model = (*task)->model();
  const auto lengths = [&](std::optional<int64_t> epoch) {
    model.BeginEpoch(epoch);
    std::vector<int64_t> all;
    for (int64_t i = 0; i < model.num_examples(); ++i) {
      const SequenceLengths of_pair = model.Lengths(i);
      EXPECT_EQ(model.CountWork({i}), of_pair[1]);
      all.insert(all.end(), of_pair.begin(), of_pair.end());
    }
    return all;
  };
  const std::vector<int64_t> best = lengths(std::nullopt);
  const std::vector<int64_t> first = lengths(0);
  EXPECT_NE(first, best);
  EXPECT_NE(lengths(1), first);
  EXPECT_EQ(lengths(0), first);
  EXPECT_EQ(lengths(std::nullopt), best);
}

TEST_F(PairsSourceTest, SamplingNeedsAModelThatCanSample) {
  const std::string files = absl::StrCat(" train {", Lines("s", "t"), "}");
  const auto given = [&](const char* kind, const char* sampling) {
    const auto model = Load(absl::StrCat(
        "subwords { vocabulary_size: 26 kind: ", kind, " }", files));
    EXPECT_THAT(model, IsOk());
    Write("given.model", model->files.at("subwords.model"));
    const auto data =
        Load(absl::StrCat("subwords { source_model: '", Path("given.model"),
                          "' sampling {", sampling, "} }", files));
    return data.ok() ? "" : std::string(data.status().message());
  };
  EXPECT_EQ(given("BPE", "nbest_size: -1"), "");
  EXPECT_THAT(given("BPE", "nbest_size: 4"),
              HasSubstr("data.pairs.subwords: sampling.nbest_size: applies "
                        "only to unigram models; this model is BPE"));
  EXPECT_THAT(given("CHARACTERS", ""), HasSubstr("a character model has"));
}

TEST_F(PairsSourceTest, SidesMayHaveSeparateSubwords) {
  const auto data =
      Load(absl::StrCat("subwords { joint: false kind: CHARACTERS } train {",
                        Lines("s", "t"), "}"));
  ASSERT_THAT(data, IsOk());
  EXPECT_EQ(data->files.count("source_subwords.model"), 1);
  EXPECT_EQ(data->files.count("target_subwords.model"), 1);
  EXPECT_FALSE(*data->source_vocabulary == *data->target_vocabulary);
}

TEST_F(PairsSourceTest, TooManySubwordsAreAnError) {
  EXPECT_THAT(Load(absl::StrCat("subwords { vocabulary_size: 5000 } train {",
                                Lines("s", "t"), "}")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("error: data.pairs.subwords: "),
                             HasSubstr("Vocabulary size too high"))));
}

TEST_F(PairsSourceTest, UnequalLineCountsAreALocatedError) {
  Write("t", "W x.\nY z.\n");
  EXPECT_THAT(
      Load(absl::StrCat("train {", Lines("s", "t"), "}")),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr(Path("s") +
                               ":3:1: error: this line has no counterpart"),
                     HasSubstr(Path("t") + " has 2 lines"))));
}

TEST_F(PairsSourceTest, CarriageReturnsAreCounted) {
  Write("s", "a\r\nb\r\nc\n");
  const auto data = Load(absl::StrCat("train {", Lines("s", "t"), "}"));
  ASSERT_THAT(data, IsOk());
  EXPECT_EQ(Train(*data)[0], "a | w x .");
  EXPECT_THAT(data->notes, ElementsAre(HasSubstr("2 lines end in a carriage")));
}

TEST_F(PairsSourceTest, BrokenLinesAreLocatedErrors) {
  const std::pair<std::string, std::string> cases[] = {
      {std::string("a\nb\0c\nd\n", 8), "s:2:2: error: the text must"},
      {"a\nb\ncaf\xe9\n", "s:3:4: error: the text must be valid UTF-8"},
      {"a\n" + std::string(1 << 20, 'x') + "\nc\n",
       "s:2:65537: error: the line is longer than 64 KiB"}};
  for (const auto& [text, message] : cases) {
    Write("s", text);
    EXPECT_THAT(
        Load(absl::StrCat("train {", Lines("s", "t"), "}")),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
}

TEST_F(PairsSourceTest, EmptyFilesAreAnError) {
  Write("s", "");
  Write("t", "");
  EXPECT_THAT(Load(absl::StrCat("train {", Lines("s", "t"), "}")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("s:1:1: error: the file has no sentence")));
}

TEST_F(PairsSourceTest, ASourceThatIsItsTargetIsAnError) {
  EXPECT_THAT(Load(absl::StrCat("train {", Lines("s", "s"), "}")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("source and target must be different files")));
  // Targets that equal the sources must be an error: there is nothing to learn.
  Write("copy", "A b.\nC d e.\nF.\n");
  EXPECT_THAT(Load(absl::StrCat("train {", Lines("s", "copy"), "}")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("3 with two equal sides")));
}

TEST_F(PairsSourceTest, SaysIfEverySentenceIsOverTheCap) {
  EXPECT_THAT(Load(absl::StrCat("max_tokens: 1 train {", Lines("s", "t"), "}")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("nothing is left to train on: 3 of 3 pairs of "
                                 "`train` are left out: 3 over `max_tokens`")));
}

TEST_F(PairsSourceTest, AMissingFileIsAnError) {
  EXPECT_THAT(Load(absl::StrCat("train {", Lines("nowhere", "t"), "}")),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("corpus"), HasSubstr("nowhere"))));
}

// Returns the problems of a config of pairs.

std::string ConfigProblemsOf(const std::string& data) {
  const absl::StatusOr<LoadedConfig> loaded = LoadConfig(
      {"c.textproto",
       absl::StrCat("data {", data,
                    "} model { encoder {} attention { dot {} } decoder {} }")},
      {}, BuiltInPlugins());
  return loaded.ok() ? "" : std::string(loaded.status().message());
}

TEST(PairsConfigTest, RequiresFilesOrDataPath) {
  EXPECT_EQ(ConfigProblemsOf("pairs { train { source: 's' target: 't' } }"),
            "");
  EXPECT_THAT(ConfigProblemsOf("path: 'x' "
                               "pairs { train { source: 's' target: 't' } }"),
              AllOf(HasSubstr("c.textproto:1:7: error: data.path"),
                    HasSubstr("set either these fields or data.path")));
  EXPECT_THAT(ConfigProblemsOf("pairs {}"), HasSubstr("requires data.path"));
  EXPECT_THAT(ConfigProblemsOf("path: 'x' pairs { subwords {} }"),
              HasSubstr("requires `train`"));
}

TEST(PairsConfigTest, EachSplitNamesItsFiles) {
  EXPECT_THAT(
      ConfigProblemsOf("pairs { train { source: 's' } test { path: 'p' } }"),
      AllOf(HasSubstr("data.pairs.train"),
            HasSubstr("--set data.pairs.train.source=FILE")));
  EXPECT_THAT(ConfigProblemsOf("pairs { train { path: 'p' } test { path: 'q' } "
                               "test { path: 'r' } }"),
              HasSubstr("repeats the name ''"));
  EXPECT_THAT(ConfigProblemsOf(
                  "pairs { train { path: 'p' } test { path: 'q' name: '/' } }"),
              HasSubstr("data.pairs.test[0].name"));
}

TEST(PairsConfigTest, OneEmbeddingNeedsOneVocabulary) {
  const auto problems = [](const char* joint) {
    const absl::StatusOr<LoadedConfig> loaded = LoadConfig(
        {"c.textproto",
         absl::StrCat(
             "data { pairs { train { path: 'p' } subwords { joint: ", joint,
             " } } } model { transformer { tied_embeddings: "
             "SOURCE_TARGET_OUTPUT } }")},
        {}, BuiltInPlugins());
    return loaded.ok() ? "" : std::string(loaded.status().message());
  };
  EXPECT_EQ(problems("true"), "");
  EXPECT_THAT(problems("false"), HasSubstr("requires one vocabulary"));
}

TEST(PairsConfigTest, SubwordsHaveLimits) {
  const auto problems = [](const std::string& subwords) {
    return ConfigProblemsOf(absl::StrCat(
        "pairs { train { path: 'p' } subwords {", subwords, "} }"));
  };
  EXPECT_EQ(problems(""), "");
  EXPECT_THAT(problems("normalization: 'nfk'"), HasSubstr("must be one of"));
  EXPECT_THAT(problems("character_coverage: 0.5"), HasSubstr("0.98"));
  EXPECT_THAT(problems("joint: false source_model: 'm'"),
              HasSubstr("requires both `source_model` and `target_model`"));
  EXPECT_THAT(problems("target_model: 'm'"),
              HasSubstr("`source_model` names the joint model"));
  EXPECT_EQ(problems("sampling { nbest_size: -1 }"), "");
  EXPECT_EQ(problems("kind: UNIGRAM sampling { alpha: 1 nbest_size: 64 }"), "");
  EXPECT_EQ(problems("source_model: 'm' sampling { nbest_size: -1 }"), "");
  EXPECT_THAT(problems("sampling { alpha: 1.5 }"), HasSubstr("sampling.alpha"));
  EXPECT_THAT(problems("sampling { alpha: -0.1 }"), HasSubstr("alpha"));
  EXPECT_THAT(problems("kind: UNIGRAM sampling { nbest_size: 1 }"),
              HasSubstr("subwords.sampling.nbest_size"));
  EXPECT_THAT(problems("sampling { nbest_size: 4 }"),
              HasSubstr("applies only to kind: UNIGRAM"));
  EXPECT_THAT(problems("kind: CHARACTERS sampling {}"),
              HasSubstr("each text has only one segmentation"));
}

}  // namespace
}  // namespace regard

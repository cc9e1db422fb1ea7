// Tests that Regard reads and writes a BertForPreTraining and a BertForMaskedLM
// of transformers, and computes the same outputs.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/tape.h"
#include "data/text/text_splits.h"
#include "data/text/token_vocabulary.h"
#include "data/text/wordpiece_config.h"
#include "evaluation/prediction.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "language/bert.pb.h"
#include "language/masked_text.h"
#include "language/masked_word_model.h"
#include "language/text_embedder.h"
#include "language/text_embedder.pb.h"
#include "nn/forward.h"
#include "optimization/model.h"
#include "pretrained/bert_folder.h"
#include "pretrained/bert_format.h"
#include "pretrained/pretrained_folder.h"
#include "pretrained/tensor_folder.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::HasSubstr;

// tools/parity/write_bert_fixtures.py wrote the folder with transformers.
constexpr char kFolder[] = "pretrained/testdata/bert_words";

AttentionRegistry Scorers() {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  return scorers;
}

std::vector<std::string> LinesOf(const std::string& name) {
  std::vector<std::string> lines =
      absl::StrSplit(ReadFile(JoinPath(kFolder, name)).value(), '\n');
  lines.pop_back();
  return lines;
}

// Returns the model that a run without a text creates from the folder.
std::unique_ptr<MaskedWordModel> ModelOf(const BertFolder& folder,
                                         bool next_sentence) {
  BertConfig config = folder.description.config;
  MaskedWordsConfig& words = *config.mutable_masked_words();
  words.set_block(static_cast<int32_t>(folder.longest));
  words.set_next_sentence(next_sentence);
  auto model = std::make_unique<MaskedWordModel>(
      config, Scorers(), *folder.pieces, TextSplits(), ModelOptions());
  EXPECT_THAT(folder.LoadWeights(
                  next_sentence ? BertHead::kWordsAndFollows : BertHead::kWords,
                  model->parameters()),
              IsOk());
  return model;
}

std::vector<std::string> TensorsOf(const std::string& folder) {
  std::vector<std::string> names;
  const TensorFolder tensors = TensorFolder::Open(folder).value();
  for (const auto& [name, file] : tensors.tensors()) names.push_back(name);
  return names;
}

std::string WriteTo(const std::string& name, const MaskedWordModel& model) {
  FileOperations files;
  const std::string path = JoinPath(::testing::TempDir(), name);
  EXPECT_THAT(WriteBertFolder(model, path, files), IsOk());
  return path;
}

// Removes the first line, which contains logits, and returns their softmax.
std::vector<double> NextRow(std::vector<std::string>& lines) {
  std::istringstream text(lines.front());
  lines.erase(lines.begin());
  std::vector<double> row;
  double sum = 0;
  for (double logit; text >> logit;) {
    row.push_back(std::exp(logit));
    sum += row.back();
  }
  for (double& each : row) each /= sum;
  return row;
}

TEST(BertWordsTest, ProbabilitiesMatchTransformers) {
  const BertFolder folder = OpenBertFolder(kFolder, Scorers()).value();
  EXPECT_EQ(folder.description.head, BertHead::kWordsAndFollows);
  const auto model = ModelOf(folder, /*next_sentence=*/true);
  Tape<float> tape;
  Forward<float> forward(tape, model->parameters(), nullptr);
  std::vector<std::string> rows = LinesOf("logits.txt");
  const auto compare = [&](const std::vector<Prediction::Choice>& choices,
                           const auto& id_of) {
    const std::vector<double> wanted = NextRow(rows);
    ASSERT_EQ(choices.size(), wanted.size());
    for (const auto& [name, probability] : choices) {
      EXPECT_NEAR(probability, wanted.at(id_of(name)), 1e-5) << name;
    }
  };
  for (const std::string& text : LinesOf("masked.txt")) {
    const auto prediction =
        model->Predict(forward, {.text = text}, {.most_choices = 32});
    ASSERT_THAT(prediction, IsOk());
    for (const auto& choices : prediction->choices) {
      compare(choices, [&](const std::string& name) {
        return static_cast<size_t>(folder.pieces->Find(name));
      });
    }
  }
  for (const std::string& pair : LinesOf("pairs.txt")) {
    const auto prediction =
        model->Predict(forward, {.text = pair}, {.most_choices = 2});
    ASSERT_THAT(prediction, IsOk());
    EXPECT_EQ(prediction->text, prediction->choices.at(0).at(0).name);
    compare(prediction->choices[0], [](const std::string& name) {
      return name == "follows" ? size_t{0} : size_t{1};
    });
  }
  EXPECT_TRUE(rows.empty());
  EXPECT_THAT(model->Predict(forward, {.text = "the cat"}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("expected a text with [MASK] among its first "
                                 "24 tokens, or a pair")));
}

TEST(BertWordsTest, IsReadAsItWasWritten) {
  const BertFolder folder = OpenBertFolder(kFolder, Scorers()).value();
  const auto model = ModelOf(folder, /*next_sentence=*/true);
  const std::string path = WriteTo("both", *model);
  const BertFolder read = OpenBertFolder(path, Scorers()).value();
  EXPECT_EQ(read.description.head, BertHead::kWordsAndFollows);
  EXPECT_EQ(read.longest, 24);
  const auto again = ModelOf(read, /*next_sentence=*/true);
  EXPECT_TRUE(std::ranges::equal(again->parameters().values(),
                                 model->parameters().values()));
  // The tensors must have the same names as in the fixture. transformers reads
  // these names without a warning.
  EXPECT_EQ(TensorsOf(path), TensorsOf(kFolder));
}

// Without next_sentence, the written folder must contain neither the
// next-sentence head nor its pooler.
TEST(BertWordsTest, AModelWithoutNextSentencesIsAMaskedLanguageModel) {
  const BertFolder folder = OpenBertFolder(kFolder, Scorers()).value();
  const auto model = ModelOf(folder, /*next_sentence=*/false);
  ASSERT_TRUE(model->bert().has_pooler());
  const std::string path = WriteTo("masked", *model);
  std::vector<std::string> wanted = TensorsOf(kFolder);
  std::erase_if(wanted, [](const std::string& name) {
    return absl::StrContains(name, "pooler") ||
           absl::StrContains(name, "seq_relationship");
  });
  EXPECT_EQ(TensorsOf(path), wanted);
  const BertFolder read = OpenBertFolder(path, Scorers()).value();
  EXPECT_EQ(read.description.head, BertHead::kWords);
  const auto again = ModelOf(read, /*next_sentence=*/false);
  EXPECT_FALSE(again->bert().has_pooler());
  Tape<float> tape;
  const auto prediction_for = [&](const MaskedWordModel& of) {
    Forward<float> forward(tape, of.parameters(), nullptr);
    return of.Predict(forward, {.text = "the [MASK] sings a [MASK]"}, {})->text;
  };
  EXPECT_EQ(prediction_for(*again), prediction_for(*model));
}

TEST(BertWordsTest, RejectsModelsThatTransformersLacks) {
  const BertFolder folder = OpenBertFolder(kFolder, Scorers()).value();
  const auto error_of = [&](void (*change)(TransformerConfig&)) {
    BertConfig config = folder.description.config;
    config.mutable_masked_words()->set_block(24);
    change(*config.mutable_transformer());
    const MaskedWordModel model(config, Scorers(), *folder.pieces, TextSplits(),
                                ModelOptions());
    FileOperations files;
    const std::string path = JoinPath(::testing::TempDir(), "none");
    const absl::Status status = WritePretrainedFolder(model, path, files);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_FALSE(PathExists(path));
    return std::string(status.message());
  };
  EXPECT_THAT(
      error_of([](TransformerConfig& t) { t.set_output_transform(false); }),
      HasSubstr("output_transform"));
  EXPECT_THAT(error_of([](TransformerConfig& t) {
                t.set_tied_embeddings(TransformerConfig::SEPARATE);
              }),
              HasSubstr("tied_embeddings"));
  EXPECT_THAT(error_of([](TransformerConfig& t) { t.set_output_bias(false); }),
              HasSubstr("output_bias"));
  EXPECT_THAT(
      error_of([](TransformerConfig& t) {
        t.mutable_position_embedding()->set_kind(PositionEmbeddingConfig::NONE);
        t.mutable_attention()
            ->mutable_attention()
            ->mutable_relative_dot()
            ->set_max_position(32);
      }),
      HasSubstr("no relative positions"));
}

TEST(BertWordsTest, WordVocabulariesAreRejected) {
  const BertFolder folder = OpenBertFolder(kFolder, Scorers()).value();
  BertConfig config = folder.description.config;
  config.mutable_masked_words()->set_block(24);
  const MaskedWordModel model(
      config, Scorers(),
      WordVocabulary("the cat sings", TokenOptions(config.masked_words()),
                     /*min_frequency=*/1),
      TextSplits(), ModelOptions());
  FileOperations files;
  EXPECT_THAT(
      WriteBertFolder(model, JoinPath(::testing::TempDir(), "none"), files),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("this model uses the words of its training text")));
}

TEST(BertWordsTest, WritesOnlyToNewFolders) {
  const BertFolder folder = OpenBertFolder(kFolder, Scorers()).value();
  const auto model = ModelOf(folder, /*next_sentence=*/true);
  FileOperations files;
  const std::string path = JoinPath(::testing::TempDir(), "there");
  ASSERT_THAT(MakeDirectories(path, files), IsOk());
  ASSERT_THAT(WritePretrainedFolder(*model, path, files), IsOk());
  EXPECT_THAT(
      WritePretrainedFolder(*model, path, files),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("there: error: must be a new or empty folder")));
}

TEST(BertWordsTest, IsAMaskedWordsRun) {
  const auto run = ReadPretrainedRun(kFolder, Scorers());
  ASSERT_THAT(run, IsOk());
  EXPECT_THAT(run->config, HasSubstr("data { text {"));
  EXPECT_THAT(run->config, HasSubstr("model { bert {"));
  EXPECT_THAT(run->config, HasSubstr("next_sentence: true"));
  EXPECT_THAT(run->config, HasSubstr("block: 24"));
}

TEST(BertWordsTest, OutputIsNotComparedWithoutAWordHead) {
  const BertFolder folder = OpenBertFolder(kFolder, Scorers()).value();
  const auto write = [&](void (*change)(TransformerConfig&)) {
    TextEmbedderConfig config;
    *config.mutable_bert() = folder.description.config;
    *config.mutable_tokens() = ToTokenConfig(folder.options);
    change(*config.mutable_bert()->mutable_transformer());
    const SentenceEmbeddingModel model(config, Scorers(), *folder.pieces,
                                       ScoredPairSplits(), ModelOptions());
    FileOperations files;
    return WriteBertFolder(model, JoinPath(::testing::TempDir(), "embedder"),
                           files);
  };
  EXPECT_THAT(write([](TransformerConfig& t) {
                t.set_tied_embeddings(TransformerConfig::SEPARATE);
                t.set_output_transform(false);
                t.set_output_bias(false);
              }),
              IsOk());
  EXPECT_THAT(
      write([](TransformerConfig& t) {
        t.set_norm_order(TransformerConfig::PRE);
      }),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("norm_order")));
}

// If a config names several architectures, the architecture with the largest
// head must be chosen. Unknown architectures must be ignored.
TEST(BertWordsTest, TheLargestNamedHeadCounts) {
  constexpr char kConfig[] = R"({"vocab_size": 8, "hidden_size": 4,
      "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 4,
      "architectures": ["BertForMaskedLM", "BertModel", "BertNonesuch"]})";
  EXPECT_EQ(ParseBertConfig(kConfig, "config.json")->head, BertHead::kWords);
}

// A BertForNextSentencePrediction must be read as a text classifier with the
// classes "follows" and "does not follow".
TEST(BertWordsTest, NextSentenceModelsAreClassifiers) {
  const BertFolder folder = OpenBertFolder(kFolder, Scorers()).value();
  const std::string path =
      WriteTo("follows", *ModelOf(folder, /*next_sentence=*/true));
  const std::string config = JoinPath(path, "config.json");
  FileOperations files;
  ASSERT_THAT(WriteFileAtomically(
                  config,
                  absl::StrReplaceAll(ReadFile(config).value(),
                                      {{"BertForPreTraining",
                                        "BertForNextSentencePrediction"}}),
                  files),
              IsOk());
  const auto run = ReadPretrainedRun(path, Scorers());
  ASSERT_THAT(run, IsOk());
  EXPECT_EQ(run->model, "model.text_classifier");
  EXPECT_EQ(run->files.at("labels.txt"), "follows\ndoes not follow\n");
  EXPECT_THAT(run->config, HasSubstr("pooling: POOLER"));
}

// A folder with modules.json must be read as a sentence embedding model, even
// if its config.json names another architecture.
TEST(BertWordsTest, AFolderWithModulesIsAnEmbedder) {
  const BertFolder folder = OpenBertFolder(kFolder, Scorers()).value();
  const std::string path =
      WriteTo("modules", *ModelOf(folder, /*next_sentence=*/true));
  FileOperations files;
  // Problems of an ignored head must not be reported.
  const std::string config = JoinPath(path, "config.json");
  ASSERT_THAT(WriteFileAtomically(
                  config,
                  absl::StrReplaceAll(
                      ReadFile(config).value(),
                      {{"\"model_type\"",
                        "\"tie_word_embeddings\": false, \"model_type\""}}),
                  files),
              IsOk());
  ASSERT_THAT(
      WriteFileAtomically(JoinPath(path, "modules.json"), "[]\n", files),
      IsOk());
  EXPECT_EQ(OpenBertFolder(path, Scorers())->description.head, BertHead::kNone);
  EXPECT_THAT(ReadPretrainedRun(path, Scorers())->config,
              HasSubstr("model { text_embedder {"));
}

// MaskedWordModel does not support a tokenizer whose strip_accents differs from
// lower_case. The folder must then be read as a sentence embedding model.
TEST(BertWordsTest, AFolderWithAnotherTokenizerIsAnEmbedder) {
  const BertFolder folder = OpenBertFolder(kFolder, Scorers()).value();
  const std::string path =
      WriteTo("tokenizer", *ModelOf(folder, /*next_sentence=*/true));
  const std::string config = JoinPath(path, "tokenizer_config.json");
  const std::string text = ReadFile(config).value();
  const auto model_of = [&](const std::string& strip_accents) {
    FileOperations files;
    EXPECT_THAT(
        WriteFileAtomically(
            config,
            absl::StrReplaceAll(
                text, {{"\"strip_accents\": null",
                        absl::StrCat("\"strip_accents\": ", strip_accents)}}),
            files),
        IsOk());
    return ReadPretrainedRun(path, Scorers())->model;
  };
  EXPECT_EQ(model_of("true"), "model.bert");  // the default is true
  EXPECT_EQ(model_of("false"), "model.text_embedder");
}

TEST(BertWordsTest, NamesWhatItsHeadCannotDo) {
  const BertFolder folder = OpenBertFolder(kFolder, Scorers()).value();
  const std::string path =
      WriteTo("wrong", *ModelOf(folder, /*next_sentence=*/true));
  const std::string config = JoinPath(path, "config.json");
  const std::string text = ReadFile(config).value();
  const auto error_of = [&](const std::string& from, const std::string& to) {
    EXPECT_THAT(text, HasSubstr(from));
    FileOperations files;
    EXPECT_THAT(WriteFileAtomically(
                    config, absl::StrReplaceAll(text, {{from, to}}), files),
                IsOk());
    const absl::Status status = OpenBertFolder(path, Scorers()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(error_of("\"type_vocab_size\": 2", "\"type_vocab_size\": 1"),
              HasSubstr("type_vocab_size must be 2 or more"));
  EXPECT_THAT(error_of("\"model_type\"",
                       "\"tie_word_embeddings\": false, \"model_type\""),
              HasSubstr("tie_word_embeddings must be true"));
}

}  // namespace
}  // namespace regard

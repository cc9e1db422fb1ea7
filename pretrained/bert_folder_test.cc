#include "pretrained/bert_folder.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "data/text/text_splits.h"
#include "data/text/wordpiece_config.h"
#include "files/file.h"
#include "files/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "language/sentence_embedder.h"
#include "language/text_embedder.h"
#include "language/text_embedder.pb.h"
#include "optimization/model.h"
#include "pretrained/bert_format.h"
#include "pretrained/pretrained_folder.h"
#include "third_party/abseil_backport/status_macros.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// tools/parity/write_bert_fixtures.py wrote the folder with transformers.
constexpr char kFolder[] = "pretrained/testdata/bert";

AttentionRegistry Scorers() {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  return scorers;
}

std::string TextOf(const std::string& path) {
  return ReadFile(path, 1 << 20).value();
}

// Returns the model that a run creates from the folder. If `longest` is 0, the
// limit of the folder applies.
absl::StatusOr<std::unique_ptr<SentenceEmbeddingModel>> ReadModel(
    const std::string& path, int64_t longest = 0) {
  REGARD_ASSIGN_OR_RETURN(const BertFolder folder,
                          OpenBertFolder(path, Scorers()));
  TextEmbedderConfig config;
  *config.mutable_bert() = folder.description.config;
  *config.mutable_tokens() = ToTokenConfig(folder.options);
  config.set_longest(
      static_cast<int32_t>(longest > 0 ? longest : folder.longest));
  auto model = std::make_unique<SentenceEmbeddingModel>(
      config, Scorers(), *folder.pieces, ScoredPairSplits(), ModelOptions());
  REGARD_RETURN_IF_ERROR(
      folder.LoadWeights(BertHead::kNone, model->parameters()));
  return model;
}

std::vector<float> VectorsOf(const SentenceEmbeddingModel& model) {
  std::vector<std::string> sentences =
      absl::StrSplit(TextOf(absl::StrCat(kFolder, "/sentences.txt")), '\n');
  sentences.pop_back();
  SentenceEmbedder embedder(model.bert(), model.parameters(), model.pieces(),
                            model.longest(), /*threads=*/1);
  std::vector<float> vectors(sentences.size() * 8);
  embedder.Embed(sentences, absl::MakeSpan(vectors));
  return vectors;
}

// Copies the folder. Tests may change the files of the copy.
class BertFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(
        ::testing::TempDir(), "/",
        ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    for (const char* name : {"config.json", "model.safetensors", "vocab.txt",
                             "tokenizer_config.json"}) {
      Write(name, TextOf(JoinPath(kFolder, name)));
    }
  }

  void Write(const std::string& name, absl::string_view text) {
    std::ofstream(JoinPath(folder_, name), std::ios::binary) << text;
  }
  void Replace(const std::string& name, const std::string& from,
               const std::string& to) {
    const std::string path = JoinPath(folder_, name);
    const std::string text = TextOf(path);
    ASSERT_THAT(text, HasSubstr(from));
    Write(name, absl::StrReplaceAll(text, {{from, to}}));
  }

  // A tensor that ChangeWeights() can edit.
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<float> values;
  };
  void ChangeWeights(
      const std::function<void(std::vector<Tensor>& tensors)>& change) {
    const std::string path = JoinPath(folder_, "model.safetensors");
    const SafetensorsReader reader = SafetensorsReader::Open(path).value();
    std::vector<Tensor> tensors;
    for (const auto& [name, info] : reader.header().tensors) {
      int64_t size = 1;
      for (const int64_t extent : info.shape) size *= extent;
      Tensor tensor = {name, info.shape,
                       std::vector<float>(static_cast<size_t>(size))};
      ASSERT_THAT(reader.Read(name, info.shape, absl::MakeSpan(tensor.values)),
                  IsOk());
      tensors.push_back(tensor);
    }
    change(tensors);
    std::vector<NamedTensorView> views;
    for (const Tensor& tensor : tensors) {
      views.push_back({tensor.name, tensor.shape, tensor.values});
    }
    FileOperations files;
    ASSERT_THAT(WriteSafetensorsFile(path, views, {}, files), IsOk());
  }

  absl::StatusOr<std::unique_ptr<SentenceEmbeddingModel>> Read() {
    return ReadModel(folder_);
  }
  std::string ErrorOf() {
    const absl::Status status = Read().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  std::string folder_;
};

TEST_F(BertFolderTest, EmbeddingsMatchTransformers) {
  const auto model = Read();
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ((*model)->longest(), 24);
  EXPECT_TRUE((*model)->bert().has_pooler());
  std::istringstream expected(TextOf(absl::StrCat(kFolder, "/vectors.txt")));
  for (const float got : VectorsOf(**model)) {
    double want;
    ASSERT_TRUE(expected >> want);
    EXPECT_NEAR(got, want, 1e-5);
  }
  std::string rest;
  EXPECT_FALSE(expected >> rest);
}

TEST_F(BertFolderTest, IsReadAsItWasWritten) {
  const auto model = Read();
  ASSERT_THAT(model, IsOk());
  FileOperations files;
  const std::string copy = JoinPath(folder_, "deep/copy");
  ASSERT_THAT(WriteBertFolder(**model, copy, files), IsOk());
  const auto again = ReadModel(copy);
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(VectorsOf(**again), VectorsOf(**model));
  EXPECT_EQ((*again)->longest(), (*model)->longest());
  EXPECT_EQ(TextOf(JoinPath(copy, "vocab.txt")),
            TextOf(JoinPath(folder_, "vocab.txt")));
  // Reading and writing the weights again must not change any byte.
  const std::string once = TextOf(JoinPath(copy, "model.safetensors"));
  ASSERT_THAT(WriteBertFolder(**again, copy, files), IsOk());
  EXPECT_EQ(TextOf(JoinPath(copy, "model.safetensors")), once);
}

TEST_F(BertFolderTest, ReadsOldAndPrefixedNames) {
  const std::vector<float> wanted = VectorsOf(**Read());
  ChangeWeights([](std::vector<Tensor>& tensors) {
    for (Tensor& tensor : tensors) {
      tensor.name = absl::StrCat(
          "bert.", absl::StrReplaceAll(tensor.name,
                                       {{"LayerNorm.weight", "LayerNorm.gamma"},
                                        {"LayerNorm.bias", "LayerNorm.beta"}}));
    }
    tensors.push_back({"cls.predictions.bias", {2}, {1, 2}});
    tensors.push_back({"bert.embeddings.position_ids", {1, 1}, {0}});
  });
  const auto model = Read();
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(VectorsOf(**model), wanted);
}

TEST_F(BertFolderTest, NeedsNoPooler) {
  const std::vector<float> wanted = VectorsOf(**Read());
  ChangeWeights([](std::vector<Tensor>& tensors) {
    std::erase_if(tensors, [](const Tensor& tensor) {
      return tensor.name.find("pooler") == 0;
    });
  });
  const auto model = Read();
  ASSERT_THAT(model, IsOk());
  EXPECT_FALSE((*model)->bert().has_pooler());
  EXPECT_EQ(VectorsOf(**model), wanted);
}

TEST_F(BertFolderTest, NamesAllProblemsOfTheWeights) {
  ChangeWeights([](std::vector<Tensor>& tensors) {
    for (Tensor& tensor : tensors) {
      if (tensor.name == "encoder.layer.0.intermediate.dense.weight") {
        tensor.shape = {8, 12};  // transposed
      }
      if (tensor.name == "pooler.dense.bias") tensor.name = "pooler.dense.b";
      if (tensor.name == "encoder.layer.1.output.dense.bias") {
        tensor.values[3] = std::nanf("");
        tensor.values[5] = std::numeric_limits<float>::infinity();
      }
    }
  });
  EXPECT_THAT(
      ErrorOf(),
      AllOf(HasSubstr("model.safetensors: error: tensor "
                      "'encoder.layer.0.intermediate.dense.weight' is F32 [8, "
                      "12]; expected F32 [12, 8]"),
            HasSubstr(
                "error: the tensor 'pooler.dense.bias', F32 [8], is missing"),
            HasSubstr(
                "error: tensor 'pooler.dense.b' does not belong to this model"),
            HasSubstr("error: tensor 'encoder.layer.1.output.dense.bias' has 2 "
                      "numbers that are not finite, the first at index 3")));
}

TEST_F(BertFolderTest, NamesNumbersThatAreNotFinite) {
  ChangeWeights([](std::vector<Tensor>& tensors) {
    tensors.back().values[0] = std::nanf("");
  });
  EXPECT_THAT(ErrorOf(), HasSubstr("numbers that are not finite"));
}

// The weights lack 7 * 16 = 112 tensors. The error must list the first 40.
TEST_F(BertFolderTest, NamesFortyTensorsThatAreMissing) {
  Replace("config.json", "\"num_hidden_layers\": 2",
          "\"num_hidden_layers\": 9");
  const std::vector<std::string> lines = absl::StrSplit(ErrorOf(), '\n');
  ASSERT_EQ(lines.size(), 41u);
  EXPECT_THAT(lines[39], HasSubstr("layer.4."));
  EXPECT_EQ(lines[40],
            absl::StrCat(folder_, "/model.safetensors: 72 more errors"));
}

TEST_F(BertFolderTest, NamesDuplicateTensors) {
  ChangeWeights([](std::vector<Tensor>& tensors) {
    tensors.push_back({"bert.pooler.dense.bias", {8}, std::vector<float>(8)});
  });
  EXPECT_THAT(ErrorOf(), HasSubstr("'bert.pooler.dense.bias' and "
                                   "'pooler.dense.bias' are the same"));
}

TEST_F(BertFolderTest, RefusesFilesThatAreCut) {
  const std::string whole = TextOf(JoinPath(folder_, "model.safetensors"));
  for (size_t size = 0; size < whole.size(); size += 97) {
    Write("model.safetensors", whole.substr(0, size));
    ErrorOf();
  }
  Write("model.safetensors", whole);
  for (const char* name : {"config.json", "tokenizer_config.json"}) {
    const std::string text = TextOf(JoinPath(folder_, name));
    for (size_t size = 0; size + 2 < text.size(); size += 7) {
      Write(name, text.substr(0, size));
      EXPECT_THAT(ErrorOf(), HasSubstr("error: not JSON"));
    }
    Write(name, text);
  }
}

TEST_F(BertFolderTest, NamesAllProblemsOfTheConfig) {
  Write("config.json",
        R"({"model_type": "gpt2", "vocab_size": 0, "hidden_size": 8.5,
            "num_hidden_layers": 1e300, "num_attention_heads": "2",
            "layer_norm_eps": -1, "hidden_act": "tanh", "is_decoder": true})");
  const std::string error = ErrorOf();
  for (const char* part :
       {"config.json:1:16: error: model_type must be one of bert, but is "
        "\"gpt2\"",
        "vocab_size must be an integer from 1 to 16777216, but is 0",
        "hidden_size must be an integer", "num_hidden_layers must be",
        "num_attention_heads must be", "layer_norm_eps must be a number",
        "hidden_act must be one of gelu, relu", "intermediate_size is missing",
        "is_decoder must be false"}) {
    EXPECT_THAT(error, HasSubstr(part));
  }
}

TEST_F(BertFolderTest, SizesOfConfigAndWeightsMustAgree) {
  Replace("config.json", "\"hidden_size\": 8", "\"hidden_size\": 16");
  EXPECT_THAT(ErrorOf(),
              AllOf(HasSubstr("is F32 [32, 8]; expected F32 [32, 16]"),
                    HasSubstr("'pooler.dense.bias' is F32 [8]")));
  Replace("config.json", "\"hidden_size\": 16", "\"hidden_size\": 9");
  EXPECT_THAT(ErrorOf(), HasSubstr("num_attention_heads 2 must divide"));
  // No tensor has these sizes, so Regard must not allocate memory for them.
  Replace("config.json", "\"hidden_size\": 9", "\"hidden_size\": 65536");
  Replace("config.json", "\"vocab_size\": 32", "\"vocab_size\": 16777216");
  EXPECT_THAT(ErrorOf(), HasSubstr("expected F32 [16777216, 65536]"));
}

TEST_F(BertFolderTest, NamesAllProblemsOfTheVocabulary) {
  std::string text = TextOf(JoinPath(folder_, "vocab.txt"));
  Write("vocab.txt", absl::StrCat(text, "cat\n\n\xff\n"));
  EXPECT_THAT(ErrorOf(),
              AllOf(HasSubstr("vocab.txt:33: error: token 'cat' must occur "
                              "only once, but is already on line 8"),
                    HasSubstr("vocab.txt:34: error: the line is empty"),
                    HasSubstr("vocab.txt:35: error: the token must be"),
                    Not(HasSubstr("vocab.txt:36"))));
  Write("vocab.txt", absl::StrCat(text, "more\n"));
  EXPECT_THAT(ErrorOf(),
              HasSubstr("33 tokens, but vocab_size of config.json is 32"));
  text.erase(text.rfind('\n', text.size() - 2) + 1);
  Write("vocab.txt", text);
  EXPECT_THAT(ErrorOf(),
              HasSubstr("31 tokens, but vocab_size of config.json is "
                        "32"));
  // A vocab_size that is rounded up fits vocab.txt. Here it exceeds the number
  // of rows of the weights, which must be an error.
  const std::string config = TextOf(JoinPath(folder_, "config.json"));
  const std::string size = "\"vocab_size\": 32";
  ASSERT_THAT(config, HasSubstr(size));
  for (const int rounded : {64, 128}) {
    Write("config.json",
          absl::StrReplaceAll(
              config, {{size, absl::StrCat("\"vocab_size\": ", rounded)}}));
    EXPECT_THAT(ErrorOf(), AllOf(HasSubstr("model.safetensors"),
                                 Not(HasSubstr("tokens, but"))));
  }
  Write("config.json",
        absl::StrReplaceAll(config, {{size, "\"vocab_size\": 192"}}));
  EXPECT_THAT(ErrorOf(), HasSubstr("31 tokens, but"));
  std::filesystem::remove(JoinPath(folder_, "vocab.txt"));
  EXPECT_THAT(Read().status().message(), HasSubstr("vocab.txt: cannot open"));
}

TEST_F(BertFolderTest, NamesFieldsOfTheTokenizerThatHaveAnotherType) {
  Write("tokenizer_config.json",
        "{\"do_lower_case\": \"yes\",\n \"unk_token\": 7}");
  EXPECT_THAT(
      ErrorOf(),
      AllOf(HasSubstr("tokenizer_config.json:1:19: error: do_lower_case must "
                      "be true or false, but is \"yes\""),
            HasSubstr("tokenizer_config.json:2:15: error: unk_token must be a "
                      "string, but is 7")));
  Write("tokenizer_config.json", R"({"unk_token": {"content": 7}})");
  EXPECT_THAT(ErrorOf(),
              HasSubstr("tokenizer_config.json:1:27: error: content must be a "
                        "string, but is 7"));
  Write("tokenizer_config.json", "{}");
  Write("tokenizer.json",
        "{\"normalizer\": 1, \"model\": {\"vocab\": {\"a\": 0, \"b\": 0}}}");
  EXPECT_THAT(
      ErrorOf(),
      AllOf(HasSubstr("tokenizer.json:1:16: error: normalizer must be an "
                      "object, but is 1"),
            HasSubstr("tokenizer.json:1:52: error: the id of 'b' must be from "
                      "0 to 1, and no other token may have it")));
}

TEST_F(BertFolderTest, ATokenMayBeAnObjectWithItsContent) {
  Write("tokenizer_config.json",
        R"({"unk_token": {"content": "[MASK]", "lstrip": false},
            "cls_token": {"lstrip": false}})");
  const auto model = Read();
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ((*model)->pieces().options().unknown, "[MASK]");
  EXPECT_EQ((*model)->pieces().options().classifier, "[CLS]");
}

TEST_F(BertFolderTest, ReadsTokenizerJson) {
  const std::vector<float> wanted = VectorsOf(**Read());
  std::vector<std::string> tokens =
      absl::StrSplit(TextOf(JoinPath(folder_, "vocab.txt")), '\n');
  tokens.pop_back();
  std::string vocabulary;
  for (size_t i = 0; i < tokens.size(); ++i) {
    absl::StrAppend(&vocabulary, i > 0 ? "," : "", "\"", tokens[i], "\":", i);
  }
  const auto json = [&](absl::string_view lower_case) {
    return absl::StrCat(
        R"({"normalizer":{"type":"BertNormalizer","lowercase":)", lower_case,
        R"(},"model":{"type":"WordPiece","vocab":{)", vocabulary, "}}}");
  };
  std::filesystem::remove(JoinPath(folder_, "vocab.txt"));
  std::filesystem::remove(JoinPath(folder_, "tokenizer_config.json"));
  Write("tokenizer.json", json("true"));
  auto model = Read();
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ((*model)->longest(), 32);
  const auto ids = [&](const char* text) {
    return (*model)->pieces().Tokenize(text);
  };
  EXPECT_EQ(ids("The"), ids("the"));
  // tokenizer.json enables lower-casing, as tokenizer_config.json did.
  EXPECT_EQ(VectorsOf(**ReadModel(folder_, /*longest=*/24)), wanted);
  Write("tokenizer.json", json("false"));
  EXPECT_THAT(
      Read().status(),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          HasSubstr("do_lower_case must be set: without it, transformers")));
  Write("tokenizer_config.json", R"({"do_lower_case": false})");
  model = Read();
  ASSERT_THAT(model, IsOk());
  EXPECT_NE(ids("The"), ids("the"));
  // Added tokens must be special tokens.
  Write("tokenizer.json",
        R"({"added_tokens": [{"id": 4, "content": "[MASK]"}]})");
  EXPECT_THAT(ReadTokenizerFiles(folder_), IsOk());
  Write("tokenizer.json", R"({"added_tokens": [{"id": 5, "content": "the"}]})");
  EXPECT_THAT(ReadTokenizerFiles(folder_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("tokenizer.json: error: the added token 'the' "
                                 "must be unk_token, cls_token")));
  Write("tokenizer.json",
        R"({"added_tokens": [{"content": "[MASK]", "normalized": true}]})");
  EXPECT_THAT(ReadTokenizerFiles(folder_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("tokenizer.json:1:55: error: normalized")));
  Write("tokenizer.json", R"({"model":{"type":"BPE"}})");
  EXPECT_THAT(Read().status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("type must be one of WordPiece")));
}

TEST_F(BertFolderTest, FollowsTheFilesOfSentenceTransformers) {
  Write("sentence_bert_config.json", R"({"max_seq_length": 7})");
  EXPECT_EQ((*Read())->longest(), 7);
  std::filesystem::create_directories(JoinPath(folder_, "1_Pooling"));
  Write("1_Pooling/config.json", R"({"pooling_mode_mean_tokens": true})");
  EXPECT_THAT(Read(), IsOk());
  Write("1_Pooling/config.json", R"({"pooling_mode_mean_tokens": false})");
  Write("sentence_bert_config.json", R"({"max_seq_length": 1})");
  EXPECT_THAT(ErrorOf(), HasSubstr("max_seq_length must be an integer from 2"));
  Write("sentence_bert_config.json", "{}");
  EXPECT_THAT(ErrorOf(), HasSubstr("pooling_mode_mean_tokens must be true"));
}

TEST_F(BertFolderTest, MayBeALink) {
  const std::string link = JoinPath(folder_, "link");
  std::filesystem::create_directory_symlink(folder_, link);
  EXPECT_THAT(ReadModel(link), IsOk());
  EXPECT_THAT(ReadModel(JoinPath(folder_, "nowhere")).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("nowhere/config.json: cannot open")));
}

TEST_F(BertFolderTest, LeavesOutRowsThatNoTokenHas) {
  const std::vector<float> wanted = VectorsOf(**Read());
  Replace("config.json", "\"vocab_size\": 32", "\"vocab_size\": 64");
  ChangeWeights([](std::vector<Tensor>& tensors) {
    for (Tensor& tensor : tensors) {
      if (tensor.name != "embeddings.word_embeddings.weight") continue;
      tensor.shape = {64, 8};
      tensor.values.resize(64 * 8, 1000);
    }
  });
  EXPECT_EQ(VectorsOf(**Read()), wanted);
}

TEST_F(BertFolderTest, IsReadAsARun) {
  EXPECT_TRUE(ContainsPretrainedModel(folder_));
  const auto folder = ReadPretrainedRun(folder_, Scorers());
  ASSERT_THAT(folder, IsOk());
  EXPECT_THAT(folder->config,
              AllOf(HasSubstr("data { scored_pairs {\ndev_fraction: 0 "
                              "test_fraction: 1\n} }"),
                    HasSubstr("model { text_embedder {\nbert {"),
                    HasSubstr("longest: 24")));
  EXPECT_EQ(folder->files.at("vocab.txt"),
            TextOf(JoinPath(folder_, "vocab.txt")));
  Replace("config.json", "\"model_type\": \"bert\"",
          "\"model_type\": \"xlnet\"");
  EXPECT_THAT(ReadPretrainedRun(folder_, Scorers()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("error: model_type must be one of bert"),
                             HasSubstr("but is \"xlnet\""))));
  std::filesystem::remove(JoinPath(folder_, "config.json"));
  EXPECT_FALSE(ContainsPretrainedModel(folder_));
}

}  // namespace
}  // namespace regard

// Tests that GPT-2 models give the same results as in transformers. Ids must be
// equal, and numbers must agree to 1e-5. tools/parity/write_gpt2_fixtures.py
// wrote the models and the results.
#include "pretrained/gpt2_folder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/tape.h"
#include "data/text/byte_pairs.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "language/generator.h"
#include "language/language_model.h"
#include "language/language_model.pb.h"
#include "language/text_vocabulary.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/testing/fixture.h"
#include "nn/testing/held_sites.h"
#include "nn/testing/parity.h"
#include "pretrained/pretrained_folder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/transformer_decoder.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

AttentionRegistry Scorers() {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  return scorers;
}

std::string DataPath(absl::string_view name) {
  return absl::StrCat("pretrained/testdata/", name);
}

std::vector<std::string> LinesOf(const std::string& path) {
  std::vector<std::string> lines =
      absl::StrSplit(ReadFile(path, 1 << 20).value(), '\n');
  lines.pop_back();
  return lines;
}

using Prompts = std::vector<std::vector<int32_t>>;

struct Gpt2 {
  Gpt2Folder folder;
  std::unique_ptr<LanguageModel> model;
};

absl::StatusOr<Gpt2> Read(const std::string& path) {
  auto folder = OpenGpt2Folder(path, Scorers());
  if (!folder.ok()) return folder.status();
  auto vocabulary =
      TextVocabulary::Parse(folder->pairs->ToText(), path, folder->config);
  if (!vocabulary.ok()) return vocabulary.status();
  Gpt2 read = {.folder = *std::move(folder), .model = nullptr};
  read.model = std::make_unique<LanguageModel>(
      read.folder.config, Scorers(), *std::move(vocabulary), /*seed=*/0,
      /*finalize=*/false);
  read.model->parameters().FinalizeWithZeros();
  const absl::Status loaded = read.folder.LoadWeights(read.model->parameters());
  if (!loaded.ok()) return loaded;
  return read;
}

// Copies a folder and returns the path of the copy, which tests may change.
// Copies the contents of the files, because test data may consist of symbolic
// links.
std::string CopyOf(const std::string& name) {
  const std::string folder = absl::StrCat(
      ::testing::TempDir(), "/",
      absl::StrReplaceAll(
          ::testing::UnitTest::GetInstance()->current_test_info()->name(),
          {{"/", "-"}}));
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::vector<std::string> files = ListDirectory(DataPath(name)).value();
  for (const std::string& file : files) {
    std::ofstream(JoinPath(folder, file), std::ios::binary)
        << ReadFile(JoinPath(DataPath(name), file), 1 << 20).value();
  }
  return folder;
}

class Gpt2ParityTest : public ::testing::TestWithParam<const char*> {
 protected:
  Gpt2ParityTest()
      : read_(Read(CopyOf(GetParam()))),
        expected_("expected", DataPath(GetParam())) {}

  void SetUp() override { ASSERT_THAT(read_.status(), IsOk()); }

  LanguageModel& model() { return *read_->model; }
  const TransformerDecoder<float>& decoder() { return model().decoder(); }

  absl::StatusOr<Gpt2> read_;
  const Fixture expected_;
};

TEST_P(Gpt2ParityTest, HiddenStatesLogitsAndGradients) {
  const std::vector<int32_t> ids = expected_.Integers("ids");
  const int64_t rows = expected_["ids"].shape[0];
  const int64_t time = expected_["ids"].shape[1];
  Tape<float> tape;
  GradientSlab<float> gradients(model().parameters());
  Forward<float> forward(tape, model().parameters(), &gradients);
  forward.BeginStep();
  CapturingHook<float> hook("*/residual");
  forward.set_hook(&hook);
  const Var<float> readout = decoder().Run(forward, {.sources = rows}, ids);
  const int64_t layers = read_->folder.config.transformer().layers();
  for (int64_t i = 0; i + 1 < layers; ++i) {
    const std::string site =
        absl::StrCat("decoder/layers[", i, "]/feed_forward/residual");
    ExpectParity(hook[site].span(), expected_[absl::StrCat("hidden.", i)],
                 site);
  }
  ExpectParity(readout.span(), expected_[absl::StrCat("hidden.", layers - 1)],
               "readout");
  ExpectParity(decoder().head().Logits(forward, readout).span(),
               expected_["logits"], "logits");
  // The model predicts all ids of a row except the first.
  std::vector<int32_t> targets(ids.begin() + 1, ids.end());
  targets.push_back(-1);
  for (int64_t row = 1; row <= rows; ++row) targets[row * time - 1] = -1;
  const Var<float> loss =
      decoder().head().Loss(forward, readout, targets, /*label_smoothing=*/0);
  ExpectParity(loss.span(), expected_["loss"], "loss");
  forward.Backward({loss}, {1.0});
  ExpectParameterGradients(expected_, model().parameters(), gradients);
}

TEST_P(Gpt2ParityTest, StepsWithACacheAreTheWholePass) {
  const std::vector<int32_t> ids = expected_.Integers("ids");
  const int64_t rows = expected_["ids"].shape[0];
  const int64_t time = expected_["ids"].shape[1];
  Tape<float> tape;
  Forward<float> forward(tape, model().parameters(), /*gradients=*/nullptr);
  forward.BeginStep();
  DecoderState<float> state = decoder().Begin(forward, {.sources = rows});
  const Fixture::Array& wanted = expected_["logits"];
  const int64_t vocabulary = model().vocabulary().size();
  for (int64_t t = 0; t < time; ++t) {
    std::vector<int32_t> step;
    for (int64_t row = 0; row < rows; ++row) {
      step.push_back(ids[row * time + t]);
    }
    const Var<float> logits = decoder().head().Logits(
        forward, decoder().Advance(forward, step, {}, &state));
    for (int64_t row = 0; row < rows; ++row) {
      Fixture::Array at = {Shape({vocabulary}), {}};
      const auto begin = wanted.values.begin() + (row * time + t) * vocabulary;
      at.values.assign(begin, begin + vocabulary);
      ExpectParity(logits.span().subspan(row * vocabulary, vocabulary), at,
                   absl::StrCat("row ", row, " at ", t));
    }
  }
}

TEST_P(Gpt2ParityTest, TheMostLikelyIdsMatchTransformers) {
  const std::vector<std::string> prompts =
      LinesOf(DataPath(absl::StrCat(GetParam(), "/prompts.txt")));
  const std::vector<std::string> wanted =
      LinesOf(DataPath(absl::StrCat(GetParam(), "/greedy.txt")));
  ASSERT_EQ(prompts.size(), wanted.size());
  Tape<float> tape;
  Forward<float> forward(tape, model().parameters(), /*gradients=*/nullptr);
  GenerationOptions options;
  options.length = 20;
  options.search.mutable_sampling()->set_top_k(1);
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto ids = model().vocabulary().EncodePrompt(
        absl::StrReplaceAll(prompts[i], {{"\\n", "\n"}}));
    ASSERT_THAT(ids, IsOk());
    const Hypothesis found = Generate(model(), forward, {*ids}, options)[0][0];
    std::vector<int32_t> made = found.ids;
    if (found.finished) made.push_back(model().vocabulary().special_ids().end);
    EXPECT_EQ(absl::StrJoin(made, " "), wanted[i]) << prompts[i];
  }
}

// The first line of the file has the fields of a search. Each of the other
// lines has one text for one prompt. One call must search all prompts, although
// their lengths differ.
TEST_P(Gpt2ParityTest, SearchesFindWhatTransformersFinds) {
  Prompts prompts;
  for (const std::string& line :
       LinesOf(DataPath(absl::StrCat(GetParam(), "/search_prompts.txt")))) {
    const auto ids = model().vocabulary().EncodePrompt(
        absl::StrReplaceAll(line, {{"\\n", "\n"}}));
    ASSERT_THAT(ids, IsOk());
    prompts.push_back(*ids);
  }
  ASSERT_EQ(prompts.size(), 50);
  Tape<float> tape;
  Forward<float> forward(tape, model().parameters(), /*gradients=*/nullptr);
  const std::vector<std::string> lines =
      LinesOf(DataPath(absl::StrCat(GetParam(), "/searches.txt")));
  int searches = 0;
  for (size_t line = 0; line < lines.size(); ++searches) {
    GenerationOptions options;
    options.length = 20;
    const std::string& fields = lines[line++];
    ASSERT_TRUE(
        google::protobuf::TextFormat::ParseFromString(fields, &options.search));
    const auto found = Generate(model(), forward, prompts, options);
    for (size_t i = 0; i < prompts.size(); ++i) {
      ASSERT_EQ(found[i].size(), options.search.n_best());
      for (const Hypothesis& hypothesis : found[i]) {
        std::vector<int32_t> made = hypothesis.ids;
        if (hypothesis.finished) {
          made.push_back(model().vocabulary().special_ids().end);
        }
        EXPECT_EQ(absl::StrJoin(made, " "), lines[line++])
            << fields << ", prompt " << i;
      }
    }
  }
  EXPECT_EQ(searches, 5);
}

INSTANTIATE_TEST_SUITE_P(Folders, Gpt2ParityTest,
                         ::testing::Values("gpt2", "gpt2_untied"),
                         [](const auto& folder) {
                           return std::string(folder.param);
                         });

class Gpt2FolderTest : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = CopyOf("gpt2"); }

  void Write(const std::string& name, absl::string_view text) {
    std::ofstream(JoinPath(folder_, name), std::ios::binary) << text;
  }
  void Replace(const std::string& name, const std::string& from,
               const std::string& to) {
    const std::string text = ReadFile(JoinPath(folder_, name)).value();
    ASSERT_THAT(text, HasSubstr(from));
    Write(name, absl::StrReplaceAll(text, {{from, to}}));
  }
  std::string ErrorOf() {
    const absl::Status status = Read(folder_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  std::string folder_;
};

TEST_F(Gpt2FolderTest, ConfigsMatchOurTransformer) {
  const auto folder = OpenGpt2Folder(folder_, Scorers());
  ASSERT_THAT(folder, IsOk());
  const LanguageModelConfig& config = folder->config;
  EXPECT_EQ(config.unit(), LanguageModelConfig::BYTE_PAIRS);
  EXPECT_EQ(config.block(), 48);
  EXPECT_EQ(config.tokens().folder(), folder_);
  EXPECT_EQ(config.tokens().begin(), "<|endoftext|>");
  EXPECT_EQ(config.tokens().end(), "<|endoftext|>");
  const TransformerConfig& transformer = config.transformer();
  EXPECT_EQ(transformer.feed_forward().hidden(), 32);
  EXPECT_EQ(transformer.feed_forward().activation(),
            FeedForwardConfig::GELU_TANH);
  EXPECT_EQ(transformer.dropout(), 0.1);
  EXPECT_EQ(transformer.norm().epsilon(), 1e-5);
  EXPECT_EQ(transformer.tied_embeddings(), TransformerConfig::TARGET_OUTPUT);
}

TEST_F(Gpt2FolderTest, IsReadAsItWasWritten) {
  for (const char* name : {"gpt2", "gpt2_untied"}) {
    folder_ = CopyOf(name);
    const auto read = Read(folder_);
    ASSERT_THAT(read, IsOk());
    FileOperations files;
    const std::string copy = JoinPath(folder_, "deep/copy");
    ASSERT_THAT(WriteGpt2Folder(read->folder.config, *read->model, copy, files),
                IsOk());
    const auto again = Read(copy);
    ASSERT_THAT(again, IsOk());
    EXPECT_EQ(std::vector<float>(again->model->parameters().values().begin(),
                                 again->model->parameters().values().end()),
              std::vector<float>(read->model->parameters().values().begin(),
                                 read->model->parameters().values().end()));
    EXPECT_EQ(again->folder.pairs->ToText(), read->folder.pairs->ToText());
    LanguageModelConfig config = again->folder.config;
    config.mutable_tokens()->set_folder(read->folder.path);
    EXPECT_EQ(config.SerializeAsString(),
              read->folder.config.SerializeAsString());
  }
}

TEST_F(Gpt2FolderTest, RejectsModelsThatGpt2CannotRepresent) {
  const auto read = Read(folder_);
  ASSERT_THAT(read, IsOk());
  const std::string copy = JoinPath(folder_, "copy");
  const auto error = [&](const LanguageModelConfig& config) {
    FileOperations files;
    const absl::Status status =
        WriteGpt2Folder(config, *read->model, copy, files);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_FALSE(PathExists(copy));
    return std::string(status.message());
  };
  LanguageModelConfig config = read->folder.config;
  config.mutable_transformer()->set_norm_order(TransformerConfig::POST);
  EXPECT_THAT(error(config), AllOf(HasSubstr("norm_order: PRE -> POST"),
                                   Not(HasSubstr("dropout"))));
  config = read->folder.config;
  config.mutable_transformer()
      ->mutable_attention()
      ->mutable_attention()
      ->mutable_additive();
  EXPECT_THAT(error(config), HasSubstr("added: attention.attention.additive"));
  config = read->folder.config;
  config.mutable_transformer()->mutable_feed_forward()->mutable_none();
  EXPECT_THAT(error(config), HasSubstr("added: feed_forward.none"));
  config = read->folder.config;
  config.mutable_transformer()->mutable_feed_forward()->set_activation(
      FeedForwardConfig::SWIGLU);
  EXPECT_THAT(error(config),
              AllOf(HasSubstr("does not fit GPT-2"),
                    HasSubstr("feed_forward.activation: GELU -> SWIGLU")));
}

TEST_F(Gpt2FolderTest, NamesAllProblemsOfTheConfig) {
  Write("config.json",
        R"({"model_type": "gpt2", "vocab_size": -1, "n_embd": 8, "n_layer": 2,
            "n_head": 0, "n_positions": 1e9, "n_inner": "x",
            "activation_function": "swish", "add_cross_attention": true,
            "scale_attn_by_inverse_layer_idx": true, "resid_pdrop": 1,
            "reorder_and_upcast_attn": true, "scale_attn_weights": false})");
  const std::string error = ErrorOf();
  for (const char* part :
       {"config.json:1:38: error: vocab_size must be an integer from 1",
        "config.json:2:23: error: n_head must be an integer from 1 to 65536, "
        "but is 0",
        "n_positions must be", "n_inner must be",
        "config.json:3:36: error: activation_function must be one of gelu, "
        "relu, gelu_new, gelu_pytorch_tanh, but is \"swish\"",
        "error: add_cross_attention must be false", "resid_pdrop must be",
        "error: scale_attn_by_inverse_layer_idx must be false",
        "error: reorder_and_upcast_attn must be false",
        "error: scale_attn_weights must be true"}) {
    EXPECT_THAT(error, HasSubstr(part));
  }
  Write("config.json", R"({"model_type": "gpt2", "n_head": 1, "n_head": 1})");
  EXPECT_THAT(ErrorOf(), HasSubstr("config.json:1:45: error: 'n_head' occurs"));
  Write("config.json", "{}");
  EXPECT_THAT(ErrorOf(), AllOf(HasSubstr("model_type is missing"),
                               HasSubstr("vocab_size is missing"),
                               HasSubstr("n_positions is missing")));
}

TEST_F(Gpt2FolderTest, SizesMustAgree) {
  Replace("config.json", "\"n_head\": 2", "\"n_head\": 3");
  EXPECT_THAT(ErrorOf(), HasSubstr("n_head 3 must divide n_embd 8"));
  Replace("config.json", "\"n_head\": 3", "\"n_head\": 2");
  Replace("config.json", "\"n_layer\": 2", "\"n_layer\": 1");
  EXPECT_THAT(
      ErrorOf(),
      HasSubstr(
          "'transformer.h.1.attn.c_attn.bias' does not belong to this model"));
  Replace("config.json", "\"n_layer\": 1", "\"n_layer\": 3");
  EXPECT_THAT(ErrorOf(),
              HasSubstr("the tensor 'transformer.h.2.attn.c_attn.weight', F32 "
                        "[8, 24], is missing"));
  Replace("config.json", "\"vocab_size\": 290", "\"vocab_size\": 289");
  EXPECT_THAT(ErrorOf(),
              HasSubstr("290 tokens, but vocab_size of config.json is 289"));
}

TEST_F(Gpt2FolderTest, IdsBeyondTheVocabularyAreAbsent) {
  Replace("config.json", "\"eos_token_id\": 0", "\"eos_token_id\": 50256");
  Replace("config.json", "\"bos_token_id\": 0", "\"bos_token_id\": null");
  const auto read = Read(folder_);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->folder.config.tokens().end(), "");
  EXPECT_EQ(read->model->vocabulary().special_ids().end, -1);
  EXPECT_THAT(
      std::string(
          read->model->vocabulary().EncodePrompt("").status().message()),
      HasSubstr("the model has no token to begin after"));
}

// transformers would use <|endoftext|> for a missing field, so the field must
// be null.
TEST_F(Gpt2FolderTest, WritesNoTokenThatItLacks) {
  Replace("config.json", "token_id\": 0", "token_id\": null");
  const auto read = Read(folder_);
  ASSERT_THAT(read, IsOk());
  FileOperations files;
  const std::string copy = JoinPath(folder_, "copy");
  ASSERT_THAT(WriteGpt2Folder(read->folder.config, *read->model, copy, files),
              IsOk());
  const std::string text =
      ReadFile(JoinPath(copy, "tokenizer_config.json")).value();
  for (const char* key : {"bos_token", "eos_token", "unk_token"}) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("\"", key, "\": null")));
  }
}

// tokenizer_config.json cannot name a token whose spelling in the vocabulary
// differs from its text, so its name must be null. config.json contains the id
// of the token.
TEST_F(Gpt2FolderTest, NamesOnlyTokensWithTheSameSpelling) {
  const auto tokenizer = ReadBytePairs(folder_);
  ASSERT_THAT(tokenizer, IsOk());
  std::string last = "\"eos_token_id\": 0";
  for (const std::string token : {"\xff", " ", "a"}) {
    const std::string now =
        absl::StrCat("\"eos_token_id\": ", *tokenizer->Find(token));
    Replace("config.json", last, now);
    last = now;
    const auto read = Read(folder_);
    ASSERT_THAT(read, IsOk());
    FileOperations files;
    const std::string copy = JoinPath(folder_, "copy");
    ASSERT_THAT(WriteGpt2Folder(read->folder.config, *read->model, copy, files),
                IsOk());
    EXPECT_THAT(ReadFile(JoinPath(copy, "tokenizer_config.json")).value(),
                HasSubstr(token == "a" ? "\"eos_token\": \"a\""
                                       : "\"eos_token\": null"));
    const auto again = Read(copy);
    ASSERT_THAT(again, IsOk());
    EXPECT_EQ(again->folder.config.tokens().end(), token);
  }
}

TEST_F(Gpt2FolderTest, NeedsItsFiles) {
  for (const char* name : {"merges.txt", "model.safetensors", "config.json"}) {
    std::filesystem::remove(JoinPath(folder_, name));
    EXPECT_THAT(std::string(Read(folder_).status().message()),
                AllOf(HasSubstr("error: "), HasSubstr(name)));
  }
  folder_ = CopyOf("gpt2_untied");
  std::filesystem::remove(
      JoinPath(folder_, "model-00002-of-00003.safetensors"));
  EXPECT_THAT(
      ErrorOf(),
      AllOf(HasSubstr("model.safetensors.index.json:"),
            HasSubstr(
                "'model-00002-of-00003.safetensors' must be in this folder")));
}

TEST_F(Gpt2FolderTest, IsReadAsARun) {
  const auto folder = ReadPretrainedRun(folder_, Scorers());
  ASSERT_THAT(folder, IsOk());
  EXPECT_THAT(
      folder->config,
      AllOf(HasSubstr("data { text {\ndev_fraction: 0 test_fraction: 1\n} }"),
            HasSubstr("model { language_model {\n"), HasSubstr("block: 48")));
  EXPECT_EQ(folder->files.at("tokenizer.json"),
            ReadBytePairs(folder_)->ToText());
}

}  // namespace
}  // namespace regard

#include <filesystem>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "data/text/wordpiece.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "language/text_embedder.pb.h"
#include "pretrained/bert_format.h"

namespace regard {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kModules[] = "modules.json";
constexpr char kPooling[] = "1_Pooling/config.json";
constexpr char kSpecial[] = "special_tokens_map.json";

// A tokenizer.json in the format of transformers 5, with an empty vocabulary.
constexpr char kTokenizerText[] = R"({
 "added_tokens": [{"id": 0, "content": "[PAD]", "normalized": false}],
 "normalizer": {"type": "BertNormalizer", "lowercase": true},
 "pre_tokenizer": {"type": "BertPreTokenizer"},
 "post_processor": {"type": "TemplateProcessing"},
 "model": {"type": "WordPiece", "vocab": {}}
})";

class BertFilesTest : public ::testing::Test {
 protected:
  BertFilesTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(JoinPath(folder_, "1_Pooling"));
  }

  void Write(const std::string& name, const std::string& text) const {
    EXPECT_TRUE(WriteFileAtomically(JoinPath(folder_, name), text).ok());
  }
  // Writes the text to a file and reads the tokenizer. Returns the error, or ""
  // if there is none.
  std::string Error(const std::string& name, const std::string& text) const {
    Write(name, text);
    const absl::Status status = ReadTokenizerFiles(folder_).status();
    return absl::StrReplaceAll(status.message(), {{folder_, "F"}});
  }
  std::string SentenceError(const std::string& name, const std::string& text,
                            bool lower_case = true) const {
    Write(name, text);
    const absl::Status status = ReadSentenceFiles(folder_, lower_case).status();
    return absl::StrReplaceAll(status.message(), {{folder_, "F"}});
  }

  const std::string folder_ = JoinPath(::testing::TempDir(), "bert_files");
};

// transformers finds all added tokens before it splits a text. Added tokens
// that are not special tokens of BERT must therefore be errors.
TEST_F(BertFilesTest, AddedTokensAreSpecialOnes) {
  const std::string none =
      ": error: the added token '[E1]' must be unk_token, cls_token, sep_token";
  for (const char* field :
       {R"("additional_special_tokens": ["[MASK]", "[E1]"])",
        R"("additional_special_tokens": [{"content": "[E1]"}])",
        R"("extra_special_tokens": ["[E1]"])",
        R"("extra_special_tokens": {"first": "[E1]"})",
        R"("bos_token": "[E1]")", R"("eos_token": {"content": "[E1]"})"}) {
    const std::string text = absl::StrCat("{", field, "}");
    for (const char* name : {kTokenizerConfig, kSpecial}) {
      EXPECT_THAT(Error(name, text), HasSubstr(absl::StrCat("F/", name, none)));
      EXPECT_EQ(Error(name, "{}"), "");
    }
  }
  EXPECT_THAT(Error("added_tokens.json", R"({"[MASK]": 4, "[E1]": 10})"),
              HasSubstr(absl::StrCat("F/added_tokens.json", none)));
  // With added_tokens_decoder, transformers ignores the files of old versions.
  EXPECT_EQ(Error(kTokenizerConfig,
                  R"({"added_tokens_decoder": {"4": {"content": "[MASK]"}},
                      "additional_special_tokens": ["[CLS]"],
                      "extra_special_tokens": {}, "bos_token": null})"),
            "");
  EXPECT_THAT(Error(kTokenizerConfig,
                    R"({"added_tokens_decoder": {"9": {"content": "[E1]"}}})"),
              HasSubstr(absl::StrCat("F/tokenizer_config.json", none)));
  EXPECT_THAT(Error(kTokenizerConfig, R"({"extra_special_tokens": [7]})"),
              HasSubstr("config.json:1:26: error: extra_special_tokens must"));
}

TEST_F(BertFilesTest, TheMapOfSpecialTokensCounts) {
  Write(kTokenizerConfig, R"({"mask_token": "[MASK]"})");
  EXPECT_EQ(Error(kSpecial, R"({"mask_token": {"content": "[E1]"},
                                "additional_special_tokens": ["[E1]"]})"),
            "");
  EXPECT_EQ(ReadTokenizerFiles(folder_)->options.mask, "[E1]");
}

TEST_F(BertFilesTest, TokenizerJsonMustMatchBert) {
  const auto error = [&](const std::string& from, const std::string& to) {
    const std::string text = absl::StrReplaceAll(kTokenizerText, {{from, to}});
    EXPECT_NE(text, kTokenizerText);
    return Error(kTokenizer, text);
  };
  // BertTokenizer ignores the pre-tokenizer of tokenizer.json, so any must be
  // accepted.
  EXPECT_EQ(error("BertPreTokenizer", "WhitespaceSplit"), "");
  for (const char* name : {"PreTrainedTokenizerFast", "TokenizersBackend"}) {
    Write(kTokenizer, kTokenizerText);
    EXPECT_EQ(
        Error(kTokenizerConfig,
              absl::StrCat(R"({"do_lower_case": true, "tokenizer_class": ")",
                           name, "\"}")),
        "");
    EXPECT_THAT(error("BertPreTokenizer", "WhitespaceSplit"),
                HasSubstr("F/tokenizer.json:4:28: error: type must be one of "
                          "BertPreTokenizer"));
    EXPECT_THAT(error("{\"type\": \"BertPreTokenizer\"}", "null"),
                HasSubstr("json:4:19: error: pre_tokenizer is missing"));
    EXPECT_THAT(error("normalizer\": {", "normalizer\": null, \"other\": {"),
                HasSubstr("json:3:16: error: normalizer is missing"));
    EXPECT_THAT(error("{\"type\": \"TemplateProcessing\"}", "null"),
                HasSubstr("json:5:20: error: post_processor is missing"));
    EXPECT_THAT(error("\"lowercase\": true", "\"lowercase\": false"),
                HasSubstr("F/tokenizer_config.json:1:19: error: do_lower_case "
                          "must match the normalizer"));
  }
  EXPECT_THAT(Error(kTokenizerConfig, R"({"truncation_side": "left"})"),
              HasSubstr("truncation_side must be one of right"));
}

// Settings as in the files of the model all-MiniLM-L6-v2 must be accepted.
TEST_F(BertFilesTest, FollowsTheFilesOfSentenceTransformers) {
  EXPECT_EQ(SentenceError("sentence_bert_config.json",
                          R"({"max_seq_length": 7, "do_lower_case": false})"),
            "");
  EXPECT_EQ(SentenceError(kPooling, R"({"pooling_mode_cls_token": false,
      "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": false})"),
            "");
  EXPECT_EQ(SentenceError(kModules, R"([
      {"path": "", "type": "sentence_transformers.models.Transformer"},
      {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
      {"path": "2_Norm", "type": "sentence_transformers.models.Normalize"}])"),
            "");
  EXPECT_EQ(SentenceError("config_sentence_transformers.json",
                          R"({"__version__": {}, "prompts": {"none": ""},
                              "default_prompt_name": "none"})"),
            "");
  EXPECT_EQ(ReadSentenceFiles(folder_, /*lower_case=*/true)->longest, 7);
}

TEST_F(BertFilesTest, NotesASimilarityOtherThanCosine) {
  const auto notes = [&](const char* name) {
    EXPECT_EQ(
        SentenceError("config_sentence_transformers.json",
                      absl::StrCat(R"({"similarity_fn_name": )", name, "}")),
        "");
    return ReadSentenceFiles(folder_, /*lower_case=*/true)->notes;
  };
  EXPECT_THAT(notes("null"), IsEmpty());
  EXPECT_THAT(notes(R"("cosine")"), IsEmpty());
  EXPECT_THAT(notes(R"("dot")"), IsEmpty());
  EXPECT_THAT(notes(R"("manhattan")"),
              ElementsAre(HasSubstr("config_sentence_transformers.json: "
                                    "similarity_fn_name is 'manhattan'")));
  // The folder has no Normalize module.
  Write(kModules, "[]");
  EXPECT_THAT(notes(R"("dot")"),
              ElementsAre(HasSubstr("similarity_fn_name is 'dot'")));
}

// If modules.json is missing, vectors must be normalized means.
TEST_F(BertFilesTest, ReadsPoolingAndNormalize) {
  const auto read = [&] {
    return ReadSentenceFiles(folder_, /*lower_case=*/true)->vectors;
  };
  EXPECT_EQ(read().pooling, TextEmbedderConfig::MEAN);
  EXPECT_TRUE(read().normalize);
  const std::pair<const char*, TextEmbedderConfig::Pooling> poolings[] = {
      {R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})",
       TextEmbedderConfig::CLS},
      {R"({"pooling_mode_max_tokens": true})", TextEmbedderConfig::MAX},
      {R"({"pooling_mode": "cls"})", TextEmbedderConfig::CLS},
      {R"({"pooling_mode": "max"})", TextEmbedderConfig::MAX},
      {R"({"pooling_mode": "mean"})", TextEmbedderConfig::MEAN}};
  for (const auto& [text, pooling] : poolings) {
    EXPECT_EQ(SentenceError(kPooling, text), "");
    EXPECT_EQ(read().pooling, pooling) << text;
  }
  const std::string modules =
      R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
          {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}
          MORE])";
  const auto error = [&](const char* more) {
    return SentenceError(kModules,
                         absl::StrReplaceAll(modules, {{"MORE", more}}));
  };
  EXPECT_EQ(error(""), "");
  EXPECT_FALSE(read().normalize);
  EXPECT_EQ(error(R"(, {"path": "2_Normalize", "type": "a.Normalize"})"), "");
  EXPECT_TRUE(read().normalize);
  EXPECT_THAT(error(R"(, {"path": "../2", "type": "a.Normalize"})"),
              HasSubstr("path must name a subfolder of this folder"));
  std::filesystem::create_directories(JoinPath(folder_, "2_Normalize"));
  Write("2_Normalize/config.json",
        R"({"module_input_name": "token_embeddings"})");
  EXPECT_THAT(error(R"(, {"path": "2_Normalize", "type": "a.Normalize"})"),
              HasSubstr("F/2_Normalize/config.json:1:23: error: "
                        "module_input_name must be one of sentence_embedding"));
}

TEST_F(BertFilesTest, NamesOptionsThatChangeTheEmbedding) {
  const std::string sentence = "sentence_bert_config.json";
  EXPECT_EQ(SentenceError(sentence, R"({"do_lower_case": true})"), "");
  EXPECT_THAT(SentenceError(sentence, R"({"do_lower_case": true})", false),
              HasSubstr("F/sentence_bert_config.json:1:19: error: "
                        "do_lower_case must be false, because"));
  EXPECT_THAT(SentenceError(kPooling, R"({"pooling_mode_cls_token": true,
                                          "pooling_mode_max_tokens": true})"),
              HasSubstr("pooling_mode_max_tokens must be false: "
                        "pooling_mode_cls_token is true"));
  EXPECT_THAT(
      SentenceError(kPooling, R"({"pooling_mode_weightedmean_tokens": true})"),
      HasSubstr("F/1_Pooling/config.json:1:38: error: "
                "pooling_mode_weightedmean_tokens must be false: only mean"));
  EXPECT_THAT(SentenceError(kPooling, R"({"pooling_mode": "lasttoken"})"),
              HasSubstr("pooling_mode must be one of mean, cls, max"));
  EXPECT_EQ(SentenceError(kPooling, "{}"), "");
  EXPECT_THAT(SentenceError(kModules,
                            "[{\"path\": \"2_Dense\",\n"
                            "\"type\": \"a.models.Dense\"}]"),
              HasSubstr("F/modules.json:2:9: error: the module 'Dense'"));
  EXPECT_THAT(SentenceError(kModules, R"([{"path": "2", "type": "Pooling"}])"),
              HasSubstr("F/modules.json:1:11: error: path must be one of "
                        "1_Pooling"));
  EXPECT_THAT(SentenceError(kModules, "[}"), HasSubstr("F/modules.json:1:"));
  EXPECT_EQ(SentenceError(kModules, "[]"), "");
  EXPECT_THAT(SentenceError("config_sentence_transformers.json",
                            R"({"prompts": {"query": "about: "},
                                "default_prompt_name": "query"})"),
              HasSubstr("F/config_sentence_transformers.json:2:"));
}

// transformers uses the class that the file names, whatever vocab.txt contains.
// Classes of other tokenizers must therefore be errors.
TEST_F(BertFilesTest, RefusesTheClassOfAnotherTokenizer) {
  const auto class_of = [](const std::string& name) {
    return absl::StrCat(R"({"do_lower_case": true, "tokenizer_class": ")", name,
                        "\"}");
  };
  for (const char* name : {"BertTokenizer", "BertTokenizerFast",
                           "DistilBertTokenizer", "ElectraTokenizerFast"}) {
    EXPECT_EQ(Error(kTokenizerConfig, class_of(name)), "");
  }
  for (const char* name : {"BertJapaneseTokenizer", "XLMRobertaTokenizerFast",
                           "PreTrainedTokenizerFast"}) {
    EXPECT_THAT(Error(kTokenizerConfig, class_of(name)),
                HasSubstr(absl::StrCat(
                    "F/tokenizer_config.json:1:44: error: "
                    "tokenizer_class must be one of BertTokenizer")));
  }
  // The class in config.json applies if tokenizer_config.json does not name
  // one.
  EXPECT_EQ(Error(kTokenizerConfig, "{}"), "");
  EXPECT_THAT(Error("config.json", class_of("BertJapaneseTokenizer")),
              HasSubstr("F/config.json:1:44: error: tokenizer_class must"));
  EXPECT_EQ(Error(kTokenizerConfig, class_of("BertTokenizer")), "");
  // Classes of other tokenizers must be accepted if tokenizer.json specifies
  // BERT's behaviour.
  Write(kTokenizerConfig, class_of("XLMRobertaTokenizer"));
  EXPECT_EQ(Error(kTokenizer, kTokenizerText), "");
  EXPECT_THAT(
      Error(kTokenizer,
            absl::StrReplaceAll(kTokenizerText,
                                {{"TemplateProcessing", "RobertaProcessing"}})),
      HasSubstr("type must be one of TemplateProcessing"));
  EXPECT_THAT(Error(kTokenizer, "{}"), HasSubstr("model is missing"));
}

// A special token that the vocabulary lacks must be written as null, which
// BertTokenizer reads as an absent token.
TEST_F(BertFilesTest, WritesNoTokenThatTheVocabularyLacks) {
  const WordPiece pieces =
      WordPiece::Create({"[UNK]", "[CLS]", "[SEP]", "[MASK]"}, "", {}).value();
  EXPECT_THAT(TokenizerConfigText(pieces, /*longest=*/0),
              AllOf(HasSubstr("\"mask_token\": \"[MASK]\""),
                    HasSubstr("\"pad_token\": null")));
}

}  // namespace
}  // namespace regard

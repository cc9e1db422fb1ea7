#include "data/text/byte_pairs.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "autodiff/random.h"
#include "data/text/byte_level.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;

// tools/parity/write_byte_pairs_fixture.py wrote the file.
std::string TrainedText() {
  return ReadFile("data/text/testdata/byte_pairs.json").value();
}

BytePairs Trained() {
  return BytePairs::Parse(TrainedText(), "trained.json").value();
}

std::string Decoded(const BytePairs& pairs, const std::vector<int32_t>& ids) {
  std::string text;
  for (const int32_t id : ids) pairs.AppendBytes(id, &text);
  return text;
}

TEST(BytePairsTest, AgreesWithTheTokenizersLibrary) {
  const BytePairs pairs = Trained();
  std::ifstream file("data/text/testdata/byte_pairs.txt");
  std::string line;
  int cases = 0;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    ASSERT_EQ(fields.size(), 2) << line;
    std::string text;
    ASSERT_TRUE(absl::CUnescape(fields[0], &text)) << line;
    EXPECT_EQ(absl::StrJoin(pairs.Encode(text), " "), fields[1]) << line;
    ++cases;
  }
  EXPECT_GE(cases, 300);
}

// Returns a tokenizer with bytes, merges "a b", "ab c" and "b c", and <end>.
Json Small() {
  Json vocabulary = Json::object();
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary[SpellBytes(std::string(1, static_cast<char>(byte)))] = byte;
  }
  vocabulary["ab"] = 256;
  vocabulary["abc"] = 257;
  vocabulary["bc"] = 258;
  Json json;
  json["added_tokens"] = {{{"id", 259}, {"content", "<end>"}}};
  json["pre_tokenizer"] = {{"type", "ByteLevel"}};
  json["decoder"] = {{"type", "ByteLevel"}};
  json["model"] = {{"vocab", vocabulary},
                   {"merges", {"a b", "ab c", {"b", "c"}}}};
  return json;
}

BytePairs Of(const Json& json) {
  return BytePairs::Parse(json.dump(), "t.json").value();
}

absl::Status StatusOf(const Json& json) {
  return BytePairs::Parse(json.dump(1), "t.json").status();
}

TEST(BytePairsTest, JoinsTheFirstMergesFirst) {
  const BytePairs pairs = Of(Small());
  EXPECT_EQ(pairs.size(), 260);
  EXPECT_THAT(pairs.Encode("abc"), ElementsAre(257));
  EXPECT_THAT(pairs.Encode("bc"), ElementsAre(258));
  EXPECT_THAT(pairs.Encode("bcabab"), ElementsAre(258, 256, 256));
  EXPECT_THAT(pairs.Encode("abbc"), ElementsAre(256, 258));
  EXPECT_THAT(pairs.Encode("a bc"), ElementsAre('a', ' ', 258));
  EXPECT_THAT(pairs.Encode(""), IsEmpty());
  EXPECT_THAT(pairs.Encode("a<end><end>"), ElementsAre('a', 259, 259));
  EXPECT_THAT(pairs.Encode("\xff"
                           "ab\xe4\xb8"),
              ElementsAre(255, 256, 0xE4, 0xB8));
}

TEST(BytePairsTest, ReturnsTheBytesOfEachToken) {
  Json json = Small();
  json["added_tokens"][0]["lstrip"] = true;
  const BytePairs pairs = Of(json);
  std::vector<std::string> tokens;
  for (const BytePairs::Token& token :
       pairs.EncodeWithOffsets("xabc\xc3\xa9 <end>ab")) {
    tokens.push_back(absl::StrCat(token.id, ":", token.begin, "-", token.end));
  }
  EXPECT_THAT(tokens, ElementsAre("120:0-1", "257:1-4", "195:4-5", "169:5-6",
                                  "259:6-12", "256:12-14"));
}

TEST(BytePairsTest, FindsItsTokens) {
  const BytePairs pairs = Of(Small());
  EXPECT_EQ(pairs.Find("abc"), 257);
  EXPECT_EQ(pairs.Find("<end>"), 259);
  EXPECT_EQ(pairs.Find(" "), ' ');
  EXPECT_EQ(pairs.Find("abcd"), std::nullopt);
  EXPECT_EQ(Decoded(pairs, {257, 259, 0xC3, 0xA9}), "abc<end>\u00e9");
  std::string text;
  EXPECT_DEATH(pairs.AppendBytes(260, &text), "260 vs. 260");
}

TEST(BytePairsTest, DecodesWhatItEncodes) {
  const BytePairs pairs = Of(Small());
  const RandomStream random(1, "texts");
  uint64_t at = 0;
  const auto draw = [&](uint64_t n) {
    return static_cast<uint64_t>(random.UniformAt(at++) *
                                 static_cast<double>(n));
  };
  const std::vector<std::string> parts = {
      "a", "b", "c",  "abc",  " ",     "  ",     "\n",     "'s",
      "1", "!", "\t", "<end", "<end>", "\u00e9", "\u2003", "\U0001f600"};
  for (int i = 0; i < 100000; ++i) {
    std::string text;
    for (uint64_t part = draw(12); part > 0; --part) {
      if (draw(4) == 0) {
        text.push_back(static_cast<char>(draw(256)));
      } else {
        text += parts[draw(parts.size())];
      }
    }
    ASSERT_EQ(Decoded(pairs, pairs.Encode(text)), text)
        << absl::CHexEscape(text);
  }
}

// Each byte must be read a bounded number of times. Otherwise, this test would
// take hours.
TEST(BytePairsTest, EncodesLongWordsInLinearTime) {
  const BytePairs pairs = Of(Small());
  constexpr size_t kBytes = 3'000'000;
  std::string word;
  while (word.size() < kBytes) word += "abc";
  EXPECT_EQ(pairs.Encode(word).size(), kBytes / 3);
  const std::string spaces(kBytes, ' ');
  EXPECT_EQ(pairs.Encode(spaces + "a").size(), kBytes + 1);
}

TEST(BytePairsTest, WritesWhatItReads) {
  for (const BytePairs& pairs : {Of(Small()), Trained()}) {
    const std::string text = pairs.ToText();
    const auto again = BytePairs::Parse(text, "again.json");
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->ToText(), text);
    EXPECT_EQ(again->size(), pairs.size());
    const std::string sample = "a <mask> the cats<\u00e9> sing<end> birds sing";
    EXPECT_EQ(again->Encode(sample), pairs.Encode(sample));
    EXPECT_EQ(again->added_tokens().size(), pairs.added_tokens().size());
  }
}

TEST(BytePairsTest, NamesWhatIsWrongWithItsTokens) {
  const auto error = [](absl::string_view field, const Json& value) {
    Json json = Small();
    json[Json::json_pointer(std::string(field))] = value;
    return std::string(StatusOf(json).message());
  };
  EXPECT_THAT(error("/model/vocab/ab", 300),
              HasSubstr("no token has id 256, but 'abc' has id 257"));
  EXPECT_THAT(error("/model/vocab/bc", 257),
              AllOf(HasSubstr("t.json:27"),
                    HasSubstr("error: 'abc' and 'bc' have the same id, 257")));
  EXPECT_THAT(error("/model/vocab/bc", -1),
              HasSubstr("bc must be an integer from 0"));
  EXPECT_THAT(error("/model/vocab/bc", "x"), HasSubstr("but is \"x\""));
  EXPECT_THAT(error("/added_tokens/0/id", 258),
              HasSubstr("'bc' and '<end>' have the same id, 258"));
  EXPECT_THAT(error("/added_tokens/0/id", 260),
              HasSubstr("no token has id 259"));
  EXPECT_THAT(error("/added_tokens/0/content", ""),
              HasSubstr("content must not be empty"));
  EXPECT_THAT(error("/added_tokens/0/content", "abc"),
              HasSubstr("'abc' has two ids, 259 and 257"));
  EXPECT_THAT(error("/added_tokens/0/single_word", true),
              HasSubstr("single_word must be false"));
  Json json = Small();
  json["model"]["vocab"].erase("a");
  json["model"]["vocab"]["\u4e2d"] = 97;
  EXPECT_THAT(
      StatusOf(json),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("the merge of 'a' and 'b' requires the token 'a'")));
  json["model"]["merges"] = Json::array();
  EXPECT_THAT(
      StatusOf(json).message(),
      AllOf(HasSubstr("the vocabulary must have the token 'a', which stands "
                      "for byte 97"),
            HasSubstr("must contain only characters that stand for bytes")));
}

TEST(BytePairsTest, NamesWhatIsWrongWithItsMerges) {
  const auto error = [](const Json& merge) {
    Json json = Small();
    json["model"]["merges"].push_back(merge);
    return std::string(StatusOf(json).message());
  };
  EXPECT_THAT(
      error("a b"),
      HasSubstr("the merge of 'a' and 'b' occurs twice, first as number 1"));
  EXPECT_THAT(error("b b"),
              HasSubstr("the merge of 'b' and 'b' requires the token 'bb', "
                        "which must be in the vocabulary"));
  EXPECT_THAT(
      error("x xy"),
      HasSubstr("requires the token 'xy', which must be in the vocabulary"));
  for (const Json& merge : {Json("ab"), Json("a b c"), Json(3),
                            Json({"a", "b", "c"}), Json({"a", 3})}) {
    EXPECT_NE(error(merge), "") << merge;
  }
}

TEST(BytePairsTest, NamesUnsupportedFeatures) {
  const auto error = [](absl::string_view field, const Json& value) {
    Json json = Small();
    json[Json::json_pointer(std::string(field))] = value;
    return std::string(StatusOf(json).message());
  };
  EXPECT_THAT(error("/normalizer", {{"type", "NFC"}}), HasSubstr("normalizer"));
  EXPECT_THAT(error("/pre_tokenizer", {{"type", "Split"}}),
              HasSubstr("type must be one of ByteLevel"));
  EXPECT_THAT(error("/pre_tokenizer", nullptr),
              HasSubstr("pre_tokenizer is missing"));
  EXPECT_THAT(error("/pre_tokenizer/add_prefix_space", true),
              HasSubstr("add_prefix_space must be false"));
  EXPECT_THAT(error("/pre_tokenizer/use_regex", false),
              HasSubstr("use_regex must be true"));
  EXPECT_THAT(error("/model/type", "WordPiece"), HasSubstr("one of BPE"));
  EXPECT_THAT(error("/model/dropout", 0.1), HasSubstr("dropout"));
  EXPECT_THAT(error("/model/end_of_word_suffix", "</w>"),
              HasSubstr("end_of_word_suffix"));
  EXPECT_THAT(error("/model/continuing_subword_prefix", "##"),
              HasSubstr("continuing_subword_prefix"));
  EXPECT_THAT(error("/model/ignore_merges", true),
              HasSubstr("ignore_merges must be false"));
  EXPECT_THAT(BytePairs::Parse("[]", "t.json").status().message(),
              HasSubstr("t.json:1:1: error: the text must be a JSON object"));
  EXPECT_THAT(StatusOf(Json::object()).message(),
              AllOf(HasSubstr("pre_tokenizer is missing"),
                    HasSubstr("model is missing")));
}

class BytePairsFolderTest : public ::testing::Test {
 protected:
  BytePairsFolderTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    const Json model = Small()["model"];
    Write("vocab.json", model["vocab"].dump());
    Write("merges.txt", "#version: 0.2\na b\nab c\nb c\n");
  }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(JoinPath(folder_, name)) << text;
  }
  std::string Error() const {
    return std::string(ReadBytePairs(folder_).status().message());
  }
  std::vector<int32_t> Encode(const std::string& text) const {
    return ReadBytePairs(folder_)->Encode(text);
  }

  const std::string folder_ =
      JoinPath(::testing::TempDir(), "byte_pairs_folder");
};

TEST_F(BytePairsFolderTest, ReadsVocabularyAndMerges) {
  EXPECT_THAT(Encode("abcbc<end>"),
              ElementsAre(257, 258, '<', 'e', 'n', 'd', '>'));
  // Lines may end with \r\n, and the last line may have no end.
  Write("merges.txt", "a b\r\nab c\r\nb c");
  EXPECT_THAT(Encode("abcbc"), ElementsAre(257, 258));
  Write("merges.txt", "#version: 0.2\na b\nab\nb c\na b\nb  c\n\nc c\n");
  EXPECT_THAT(
      Error(),
      AllOf(HasSubstr("merges.txt:3: error: expected two tokens"),
            HasSubstr(
                "merges.txt:5: error: the merge of 'a' and 'b' occurs twice"),
            HasSubstr("merges.txt:6: error: "),
            HasSubstr("merges.txt:7: error: "),
            HasSubstr("merges.txt:8: error: the merge of 'c' and 'c' requires "
                      "the token 'cc', which must be in the vocabulary")));
  std::filesystem::remove(JoinPath(folder_, "merges.txt"));
  EXPECT_THAT(Error(), HasSubstr("merges.txt"));
}

TEST_F(BytePairsFolderTest, FindsAddedTokens) {
  Write("added_tokens.json", R"({"<pad>": 259, "<b>": 260})");
  EXPECT_THAT(Encode("a<pad><b>"), ElementsAre('a', 259, 260));
  Write("special_tokens_map.json",
        R"({"pad_token": "<pad>", "eos_token": {"content": "abc"},
            "additional_special_tokens": ["<b>"]})");
  EXPECT_THAT(Encode("xabcd<b>"), ElementsAre('x', 257, 'd', 260));
  Write("tokenizer_config.json",
        R"({"added_tokens_decoder": {"261": {"content": "<c>"}},
            "extra_special_tokens": {}, "model_max_length": 1e30})");
  EXPECT_THAT(Encode("<c>"), ElementsAre(261));
  Write("special_tokens_map.json", R"({"eos_token": "<x>"})");
  EXPECT_THAT(Error(),
              HasSubstr("special_tokens_map.json:1:15: error: eos_token must "
                        "be a token of the vocabulary; '<x>' has no id"));
  Write("special_tokens_map.json", "{}");
  Write("added_tokens.json", R"({"<pad>": 300, "<b>": 260})");
  EXPECT_THAT(Error(), HasSubstr("vocab.json: error: no token has id 259"));
  Write("added_tokens.json", R"({"<pad>": 259, "<b>": 3})");
  EXPECT_THAT(Error(), HasSubstr("' and '<b>' have the same id, 3"));
  Write("added_tokens.json", R"({"<pad>": 259, "<b>": 260})");
  Write("tokenizer_config.json", R"({"add_prefix_space": true})");
  EXPECT_THAT(Error(), HasSubstr("add_prefix_space must be false"));
  for (const char* key : {"add_bos_token", "add_eos_token"}) {
    Write("tokenizer_config.json", absl::StrCat("{\"", key, "\": true}"));
    EXPECT_THAT(Error(), HasSubstr(absl::StrCat(
                             "tokenizer_config.json:1:19: error: ", key,
                             " must be false")));
  }
}

TEST_F(BytePairsFolderTest, PrefersTheWholeTokenizer) {
  Json json = Small();
  json["model"]["merges"] = Json::array();
  Write("tokenizer.json", json.dump());
  EXPECT_THAT(Encode("abc<end>"), ElementsAre('a', 'b', 'c', 259));
}

// A template without special tokens adds nothing to a text, so it must be
// accepted. A template with special tokens must be an error.
TEST_F(BytePairsFolderTest, RejectsTokensAroundAText) {
  Json json = Small();
  Json& around = json["post_processor"];
  around = {{"type", "TemplateProcessing"}, {"special_tokens", Json::object()}};
  Write("tokenizer.json", json.dump());
  Write("tokenizer_config.json", R"({"add_bos_token": true})");
  EXPECT_EQ(Error(), "");  // as in transformers
  around["special_tokens"]["<end>"] = Json::object();
  Write("tokenizer.json", json.dump());
  EXPECT_THAT(
      Error(),
      HasSubstr(
          "special_tokens must be empty: Regard puts no tokens around a text"));
  around["type"] = "RobertaProcessing";
  Write("tokenizer.json", json.dump());
  EXPECT_THAT(Error(), HasSubstr("one of ByteLevel, TemplateProcessing"));
}

// GPT-2's own folder does not declare <|endoftext|> as an added token. Regard
// must treat it as an added token anyway.
TEST_F(BytePairsFolderTest, TheEndOfATextIsAnAddedToken) {
  Json vocabulary = Small()["model"]["vocab"];
  vocabulary["<|endoftext|>"] = 259;
  Write("vocab.json", vocabulary.dump());
  EXPECT_THAT(Encode("a<|endoftext|>"), ElementsAre('a', 259));
}

}  // namespace
}  // namespace regard

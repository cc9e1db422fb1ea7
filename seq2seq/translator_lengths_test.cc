// Tests sentences that are longer than a model supports.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/tape.h"
#include "data/text/vocabulary.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/seq2seq.pb.h"
#include "seq2seq/translator.h"

namespace regard {
namespace {

EncoderDecoderConfig ConfigOf(const char* text) {
  EncoderDecoderConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config))
      << text;
  return config;
}

Translator TranslatorOfAB(const char* config) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  TokenCounts counts;
  counts.Add({"a", "b"});
  const Vocabulary words(counts);
  return Translator(ConfigOf(config), scorers, words, words, /*cut_tokens=*/0,
                    /*seed=*/1);
}

// The source has more ids than one part of the model supports, so it must be an
// error.
TEST(TranslatorTest, ALongSourceIsAnError) {
  for (const char* config :
       {"encoder { embedding: 4 hidden: 6 } "
        "decoder { embedding: 4 hidden: 6 } "
        "attention { relative_dot { max_position: 5 } }",
        "transformer_encoder { width: 4 attention { heads: 2 } "
        "position_embedding { kind: LEARNED longest: 5 } } "
        "decoder { embedding: 4 hidden: 6 initial_state: ZERO } "
        "attention { additive {} }",
        "transformer { width: 4 attention { heads: 2 } } transformer_decoder { "
        "cross_attention { attention { relative_dot { max_position: 5 } } } "
        "}"}) {
    SCOPED_TRACE(config);
    const Translator translator = TranslatorOfAB(config);
    const std::vector<std::string> four(4, "a"), five(5, "a");
    ASSERT_TRUE(translator.CheckSourceLength(four).ok());
    Tape<float> tape;
    Forward<float> forward(tape, translator.parameters(), nullptr);
    EXPECT_LE(translator.Translate(forward, {four}, SearchConfig(), false)[0][0]
                  .num_choices(),
              10);
    EXPECT_EQ(translator.CheckSourceLength(five).message(),
              "the source has 6 tokens, including <eos>; the model supports at "
              "most 5");
    EXPECT_DEATH(translator.Translate(forward, {five}, SearchConfig(), false),
                 "knows 5|of 5");
  }
}

TEST(TranslatorTest, AnUntrainedModelReachesTheGreatestLength) {
  const std::vector<std::string> source(3, "a");
  SearchConfig search;
  search.set_max_length(1);
  search.set_min_length(100);
  for (const auto& [config, longest] : std::vector<std::pair<const char*, int>>{
           {"decoder { embedding: 4 hidden: 6 } attention { additive {} }", 9},
           {"decoder { embedding: 4 hidden: 6 } "
            "attention { relative_dot { max_position: 5 } }",
            5}}) {
    SCOPED_TRACE(config);
    const Translator translator = TranslatorOfAB(
        absl::StrCat("encoder { embedding: 4 hidden: 6 } ", config).c_str());
    EXPECT_EQ(translator.MaxOutputIds(source, search), longest);
    Tape<float> tape;
    Forward<float> forward(tape, translator.parameters(), nullptr);
    EXPECT_EQ(translator.Translate(forward, {source}, search, false)[0][0]
                  .num_choices(),
              longest);
  }
}

// The target has more ids than the decoder supports, so it must be truncated.
TEST(TranslatorTest, ALongTargetIsCut) {
  const Translator translator = TranslatorOfAB(
      "encoder { embedding: 4 hidden: 6 } decoder { embedding: 4 hidden: 6 } "
      "attention { relative_dot { max_position: 5 } }");
  std::vector<std::string> words(4, "a");
  EXPECT_TRUE(translator.CheckTargetLength(words).ok());
  translator.TruncateTarget(&words);
  EXPECT_EQ(words.size(), 4u);
  words.resize(5, "b");
  EXPECT_FALSE(translator.CheckTargetLength(words).ok());
  translator.TruncateTarget(&words);
  EXPECT_EQ(words, std::vector<std::string>(4, "a"));
}

}  // namespace
}  // namespace regard

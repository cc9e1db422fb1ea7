#include "pretrained/bert_format.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "attention/transformer/transformer.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;

// Returns the config of a model with 32 positions. `kind` is the value of
// position_embedding_type.
TransformerConfig TransformerOf(const std::string& kind) {
  const auto description =
      ParseBertConfig(absl::StrCat(R"({"model_type": "bert", "vocab_size": 32,
                       "hidden_size": 8, "num_hidden_layers": 2,
                       "num_attention_heads": 2, "intermediate_size": 12,
                       "max_position_embeddings": 32,
                       "position_embedding_type": ")",
                                   kind, R"("})"),
                      "config.json", /*words=*/false);
  EXPECT_THAT(description, IsOk());
  return description->config.transformer();
}

TEST(BertFormatTest, RelativePositionsReplaceAbsoluteOnes) {
  const TransformerConfig absolute = TransformerOf("absolute");
  EXPECT_EQ(absolute.position_embedding().kind(),
            PositionEmbeddingConfig::LEARNED);
  EXPECT_EQ(absolute.position_embedding().longest(), 32);
  EXPECT_FALSE(absolute.attention().attention().has_relative_dot());

  const TransformerConfig key = TransformerOf("relative_key");
  EXPECT_EQ(key.position_embedding().kind(), PositionEmbeddingConfig::NONE);
  const RelativeDotScore& score = key.attention().attention().relative_dot();
  EXPECT_EQ(score.terms(), RelativeDotScore::RELATIVE_KEY);
  EXPECT_EQ(score.max_position(), 32);

  const TransformerConfig both = TransformerOf("relative_key_query");
  EXPECT_EQ(both.position_embedding().kind(), PositionEmbeddingConfig::NONE);
  EXPECT_EQ(both.attention().attention().relative_dot().terms(),
            RelativeDotScore::RELATIVE_KEY_QUERY);
}

}  // namespace
}  // namespace regard

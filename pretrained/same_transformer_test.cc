#include "pretrained/same_transformer.h"

#include <string>

#include "absl/status/status.h"
#include "attention/transformer/transformer.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Problem(const std::string& read, const std::string& config) {
  TransformerConfig first;
  TransformerConfig second;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(read, &first));
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(config, &second));
  return std::string(CheckSameTransformer(first, second, "GPT-2").message());
}

TEST(SameTransformerTest, AbsentFieldsHaveTheirDefaults) {
  EXPECT_THAT(Problem("width: 8 attention { heads: 2 } dropout: 0.1",
                      "width: 8 attention { heads: 2 key_heads: 2 attention { "
                      "scaled_dot {} block: 256 } } feed_forward { hidden: 32 "
                      "chunk: 4 } dropout: 0.1 embedding_dropout: 0.1 "
                      "recompute: true final_norm: true mixer { attention {} "
                      "}"),
              IsEmpty());
}

TEST(SameTransformerTest, NamesWhatDiffers) {
  EXPECT_THAT(Problem("width: 8", "width: 16"),
              AllOf(HasSubstr("does not fit GPT-2"), HasSubstr("width")));
}

TEST(SameTransformerTest, AnEmptyMessageOfAnotherScoreDiffers) {
  EXPECT_THAT(
      Problem("width: 8", "width: 8 attention { attention { dot {} } }"),
      HasSubstr("added: attention.attention.dot\n"));
}

TEST(SameTransformerTest, AStateMixerDiffers) {
  EXPECT_THAT(Problem("width: 8", "width: 8 mixer { retention {} }"),
              HasSubstr("added: mixer.retention\n"));
}

}  // namespace
}  // namespace regard

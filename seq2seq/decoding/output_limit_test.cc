#include "seq2seq/decoding/output_limit.h"

#include <cstdint>
#include <string>

#include "data/target_lengths.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "seq2seq/decoding/search.pb.h"

namespace regard {
namespace {

int64_t LimitOf(const std::string& text, int64_t source_ids,
                const TargetLengths& trained) {
  SearchConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return OutputLimit(config, source_ids, trained);
}

// The targets of SCAN have up to 48 words, and up to 24 words if the source has
// 4 words.
constexpr TargetLengths kScan = {.longest = 49, .ratio = 5};

TEST(OutputLimitTest, CoversTheTrainingTargets) {
  EXPECT_EQ(LimitOf("", 10, kScan), 51);  // 5 * 10 + 1
  EXPECT_EQ(LimitOf("", 5, kScan), 26);
  EXPECT_EQ(LimitOf("beam: 3", 20, kScan), 59);  // 49 + 10
  // The limit is 4.1 * 5, rounded up to 21, plus 1.
  EXPECT_EQ(LimitOf("", 5, {.longest = 90, .ratio = 4.1}), 22);
  EXPECT_EQ(LimitOf("", 40, kScan), 90);  // 2 * 40 + 10
}

TEST(OutputLimitTest, IsTwiceTheSourcePlusTenByDefault) {
  for (const int64_t ids : {1, 2, 7, 100}) {
    EXPECT_EQ(LimitOf("", ids, {}), 2 * ids + 10);
  }
}

TEST(OutputLimitTest, AConfiguredLimitApplies) {
  EXPECT_EQ(LimitOf("max_length: 3", 10, kScan), 23);
  EXPECT_EQ(LimitOf("max_length_ratio: 0.25", 10, kScan), 12);
  EXPECT_EQ(LimitOf("max_length_ratio: 0 max_length: 7", 10, kScan), 7);
  EXPECT_EQ(LimitOf("max_length_ratio: 2 max_length: 10", 10, kScan), 30);
}

}  // namespace
}  // namespace regard

#include "attention/mask.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "attention/positions.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

constexpr int64_t kBatch = 2;
constexpr int64_t kQueries = 4;
constexpr int64_t kKeys = 6;

struct Masks {
  Masks() {
    for (int64_t i = 0; i < kBatch * kQueries; ++i) {
      per_query.push_back(static_cast<int32_t>(i * 5 % (kKeys + 1)));
      hidden.push_back(i % kKeys);
    }
    for (int64_t i = 0; i < kBatch * kQueries * kKeys; ++i) {
      dense.push_back(i % 3 != 0);
    }
  }

  std::vector<Mask> All() const {
    return {{},
            {.key_lengths = lengths},
            {.key_lengths = per_query},
            {.causal = true},
            {.causal = true, .window = 2},
            {.key_lengths = lengths, .window = 2, .dense = dense},
            {.excluded = hidden},
            {.key_lengths = per_query, .dense = dense, .excluded = hidden}};
  }

  std::vector<int32_t> lengths = {5, 2};
  std::vector<int32_t> per_query;
  std::vector<uint8_t> dense;
  std::vector<int64_t> hidden;
};

TEST(MaskTest, APartHasTheMaskOfTheWhole) {
  const Masks masks;
  const Positions positions = {.first_query = 2};
  for (const Mask& mask : masks.All()) {
    const MaskReader whole(mask, positions, kBatch, kQueries, kKeys);
    for (int64_t example = 0; example < kBatch; ++example) {
      for (int64_t row = 0; row < kQueries; ++row) {
        for (int64_t key = 0; key < kKeys; ++key) {
          Mask part = mask.ForExample(example, kBatch, kQueries, kKeys, row);
          part.first_key = key;
          const MaskReader reader(part,
                                  {.first_query = 2 + row, .first_key = key}, 1,
                                  kQueries - row, kKeys - key);
          EXPECT_EQ(reader.IsSameForAllQueries(), whole.IsSameForAllQueries());
          EXPECT_FALSE(reader.one_query());
          for (int64_t q = row; q < kQueries; ++q) {
            for (int64_t k = key; k < kKeys; ++k) {
              EXPECT_EQ(reader(0, q - row)(k - key), whole(example, q)(k))
                  << "query " << q << " and key " << k << " of a part from "
                  << row << ", " << key;
            }
          }
        }
      }
    }
  }
}

TEST(MaskTest, TheRangeHasTheKeysThatSomeQuerySees) {
  const Masks masks;
  for (const Mask& mask : masks.All()) {
    const MaskReader reader(mask, {.first_query = 2}, kBatch, kQueries, kKeys);
    for (int64_t example = 0; example < kBatch; ++example) {
      const VisibleKeys range = reader.Range(example);
      int64_t begin = kKeys;
      int64_t end = 0;
      for (int64_t q = 0; q < kQueries; ++q) {
        const VisibleKeys seen = reader(example, q);
        if (seen.size() == 0) continue;
        begin = std::min(begin, seen.begin);
        end = std::max(end, seen.end);
      }
      EXPECT_EQ(range.begin, begin);
      EXPECT_EQ(range.end, end);
    }
  }
  const std::vector<int32_t> none = {0, 0};
  EXPECT_EQ(MaskReader({.key_lengths = none}, {}, kBatch, kQueries, kKeys)
                .Range(0)
                .size(),
            0);
}

TEST(MaskTest, ChecksExtents) {
  const Masks masks;
  const std::vector<int64_t> three = {1, 2, 3};
  EXPECT_DEATH(MaskReader({.excluded = three}, {}, kBatch, kQueries, kKeys),
               "3 hidden keys of 8 queries");
  EXPECT_DEATH(MaskReader({.dense = masks.dense}, {}, 1, kQueries, kKeys),
               "48 entries of a dense mask");
}

}  // namespace
}  // namespace regard

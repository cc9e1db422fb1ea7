#include "tools/attention_inputs.h"

#include <cmath>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "files/file.h"
#include "files/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kPath[] = "arrays.json";

absl::StatusOr<AttentionInputs> Read(const std::string& json) {
  const std::string path = JoinPath(::testing::TempDir(), kPath);
  EXPECT_THAT(WriteFileAtomically(path, json), IsOk());
  return ReadAttentionInputs(path);
}

// Returns the first line of the error, without the path of the file and the
// text before it.
std::string ErrorOf(const std::string& json) {
  const std::string message(Read(json).status().message());
  const size_t place = message.find(kPath);
  if (place == std::string::npos) return message;
  return message.substr(place + sizeof(kPath),
                        message.find('\n') - place - sizeof(kPath));
}

// Returns the JSON of a batch of 2 with the given parts.
std::string Batch(const std::string& queries, const std::string& keys,
                  const std::string& values, const std::string& lengths) {
  return absl::StrCat("{\"queries\": ", queries, ",\n\"keys\": ", keys,
                      ",\n\"values\": ", values,
                      ",\n\"key_lengths\": ", lengths, "}");
}
constexpr char kQueries[] = "[[[1], [2], [3]], [[4], [5], [6]]]";
constexpr char kKeys[] = "[[[1], [2]], [[3], [4]]]";

TEST(AttentionInputsTest, HaveAnAxisOfTheBatch) {
  const auto without = Read(
      "{\"queries\": [[1, 2]], \"keys\": [[3, 4], [5, 6]], \"values\": [[7], "
      "[8]]}");
  ASSERT_THAT(without, IsOk());
  EXPECT_FALSE(without->has_batch);
  EXPECT_THAT(without->queries.shape, ElementsAre(1, 1, 2));
  EXPECT_THAT(without->keys.shape, ElementsAre(1, 2, 2));
  EXPECT_THAT(without->values.shape, ElementsAre(1, 2, 1));
  EXPECT_THAT(without->keys.numbers, ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(without->key_lengths, IsEmpty());
  const auto with = Read(Batch(kQueries, kKeys, kKeys, "[0, 2]"));
  ASSERT_THAT(with, IsOk());
  EXPECT_TRUE(with->has_batch);
  EXPECT_THAT(with->queries.shape, ElementsAre(2, 3, 1));
  EXPECT_THAT(with->key_lengths, ElementsAre(0, 2));
  const auto each =
      Read(Batch(kQueries, kKeys, kKeys, "[[0, 1, 2], [2, 1, 0]]"));
  ASSERT_THAT(each, IsOk());
  EXPECT_THAT(each->key_lengths, ElementsAre(0, 1, 2, 2, 1, 0));
}

TEST(AttentionInputsTest, ReportShapesThatDoNotFitABatch) {
  EXPECT_EQ(ErrorOf(Batch(kQueries, "[[[1], [2]]]", kKeys, "[1, 2]")),
            "2:9: error: keys has the shape [1, 2, 1]; the batch size "
            "must be 2, as in `queries`");
  EXPECT_EQ(ErrorOf(Batch(kQueries, kKeys, "[[[1]], [[2]]]", "[1, 2]")),
            "3:11: error: values must have one row per key: `keys` has 2 "
            "rows, `values` has 1");
  EXPECT_EQ(ErrorOf(Batch(kQueries, kKeys, "[[1], [2]]", "[1, 2]")),
            "3:11: error: values has the shape [2, 1]; 3 axes are "
            "required, as in `queries`");
  EXPECT_EQ(ErrorOf(Batch("[[[[1]]]]", kKeys, kKeys, "[1, 2]")),
            "1:13: error: queries has the shape [1, 1, 1, 1]; [queries, width] "
            "or [batch, queries, width] is required");
  EXPECT_EQ(ErrorOf(Batch(kQueries, "[[[1], [2]], [[3], 4]]", kKeys, "[1]")),
            "2:9: error: keys[1][1] is 4; a list of 1 elements is required");
}

TEST(AttentionInputsTest, ReportTheRequiredLengths) {
  EXPECT_EQ(ErrorOf(Batch(kQueries, kKeys, kKeys, "2")),
            "4:16: error: key_lengths has the shape []; it must be [batch] = "
            "[2] or [batch, queries] = [2, 3]");
  EXPECT_EQ(ErrorOf(Batch(kQueries, kKeys, kKeys, "[2, 3]")),
            "4:16: error: key_lengths[1] is 3; a whole number from 0 to 2, the "
            "number of keys, is required");
  EXPECT_EQ(ErrorOf(Batch(kQueries, kKeys, kKeys, "[[0, 0, 0], [0, -1, 0]]")),
            "4:16: error: key_lengths[1][1] is -1; a whole number from 0 to 2, "
            "the number of keys, is required");
}

// Returns arrays with the given lengths and mask.
std::string Masked(const std::string& lengths, const std::string& mask) {
  return Batch(kQueries, kKeys, kKeys,
               absl::StrCat(lengths, ",\n\"mask\": ", mask));
}

TEST(AttentionInputsTest, MasksAreOfExamplesOrOfQueries) {
  const auto each = Read(
      Masked("[2, 2]", "[[[1, 0], [0, 1], [1, 1]], [[0, 0], [1, 0], [1, 1]]]"));
  ASSERT_THAT(each, IsOk());
  EXPECT_THAT(DenseMask(*each),
              ElementsAre(1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 1));
  const auto example = Read(Masked("[1, 2]", "[[1, 0], [0, 1]]"));
  ASSERT_THAT(example, IsOk());
  EXPECT_THAT(DenseMask(*example),
              ElementsAre(1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1));
  const auto hidden = Read(Masked("[1, 2]", "[[0, 0], [0, 0]]"));
  ASSERT_THAT(hidden, IsOk());
  EXPECT_THAT(DenseMask(*hidden), Each(0));
  const auto none = Read(Batch(kQueries, kKeys, kKeys, "[1, 2]"));
  ASSERT_THAT(none, IsOk());
  EXPECT_THAT(DenseMask(*none), IsEmpty());
}

TEST(AttentionInputsTest, MasksNeedNoBatch) {
  const std::string rows =
      "{\"queries\": [[1], [2]], \"keys\": [[3], [4], [5]],\n"
      "\"values\": [[6], [7], [8]],\n\"mask\": ";
  const auto each = Read(absl::StrCat(rows, "[[1, 0, 1], [0, 1, 0]]}"));
  ASSERT_THAT(each, IsOk());
  EXPECT_THAT(DenseMask(*each), ElementsAre(1, 0, 1, 0, 1, 0));
  const auto all = Read(absl::StrCat(rows, "[1, 0, 1]}"));
  ASSERT_THAT(all, IsOk());
  EXPECT_THAT(DenseMask(*all), ElementsAre(1, 0, 1, 1, 0, 1));
  EXPECT_EQ(ErrorOf(absl::StrCat(rows, "1}")),
            "3:9: error: mask has the shape []; it must be [keys] = [3] or "
            "[queries, keys] = [2, 3]");
}

TEST(AttentionInputsTest, ReportInvalidMasks) {
  EXPECT_EQ(ErrorOf(Masked("[2, 2]", "[1, 1]")),
            "5:9: error: mask has the shape [2]; it must be [batch, keys] = "
            "[2, 2] or [batch, queries, keys] = [2, 3, 2]");
  EXPECT_EQ(ErrorOf(Masked("[2, 2]", "[[1, 0], [0.5, 1]]")),
            "5:9: error: mask[1][0] is 0.5; it must be 1 for a visible key or "
            "0 for a masked key");
}

TEST(AttentionInputsTest, MasksMustNotContradictLengths) {
  EXPECT_EQ(
      ErrorOf(Masked("[1, 2]", "[[1, 1], [1, 1]]")),
      "5:9: error: mask[0][1] is 1, but key_lengths is 1 there and "
      "masks this key; write 0, or give only `mask` or only `key_lengths`");
  EXPECT_EQ(
      ErrorOf(Masked("[1, 2]",
                     "[[[1, 0], [1, 0], [1, 1]], [[1, 1], [1, 1], [1, 1]]]")),
      "5:9: error: mask[0][2][1] is 1, but key_lengths is 1 there and "
      "masks this key; write 0, or give only `mask` or only `key_lengths`");
  // The key lengths are per query, but a row of the mask applies to all queries
  // of an example. The last query of example 1 sees only one key, so the row
  // must be 0 for the second key.
  const std::string per_query = "[[2, 2, 2], [2, 2, 1]]";
  EXPECT_EQ(
      ErrorOf(Masked(per_query, "[[1, 1], [1, 1]]")),
      "5:9: error: mask[1][1] is 1, but key_lengths is 1 there and "
      "masks this key; write 0, or give only `mask` or only `key_lengths`");
  EXPECT_THAT(Read(Masked(per_query,
                          "[[[1, 1], [1, 1], [1, 1]], "
                          "[[1, 1], [1, 1], [1, 0]]]")),
              IsOk());
}

TEST(AttentionInputsTest, NumbersAreFinite) {
  const std::string path = JoinPath(::testing::TempDir(), "a.safetensors");
  const float numbers[] = {1, 2, 3, -INFINITY};
  ASSERT_THAT(WriteSafetensorsFile(path,
                                   {{"queries", {1, 2, 2}, numbers},
                                    {"keys", {1, 2, 2}, numbers},
                                    {"values", {1, 2, 2}, numbers}},
                                   {}, SystemFiles()),
              IsOk());
  EXPECT_EQ(ReadAttentionInputs(path).status().message(),
            absl::StrCat(path,
                         ": error: queries[0][1][1] is -inf; a finite "
                         "number is required"));
}

}  // namespace
}  // namespace regard

#include "experiments/sweep/cell_key.h"

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "experiments/experiment.pb.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using Data = std::map<std::string, std::string>;

Experiment ConfigOf(const std::string& more) {
  Experiment config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(seed: 1 data { path: "fra.txt" pairs {} }
         training { epochs: 3 })",
      &config));
  Experiment part;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(more, &part));
  config.MergeFrom(part);
  return config;
}

CellKey KeyOf(const std::string& more, const Data& data = {{"data.path", "aa"}},
              const std::string& level = "x86-64-v3",
              const std::string& compute = "cc") {
  return MakeCellKey(ConfigOf(more), data, level, compute);
}

TEST(CellKeyTest, DoesNotDependOnWhatHasNoEffect) {
  const std::string key = KeyOf("").Hex();
  EXPECT_EQ(key.size(), 64);
  EXPECT_EQ(KeyOf("name: 'other'").Hex(), key);
  EXPECT_EQ(KeyOf("note: 'again' tags: 'a' tags: 'b'").Hex(), key);
  EXPECT_EQ(KeyOf("training { max_minutes: 5 }").Hex(), key);
  EXPECT_EQ(KeyOf("baseline { name: 'b' override { path: 'c' } }").Hex(), key);
  // The same content elsewhere, and a default that is written out.
  EXPECT_EQ(KeyOf("data { path: 'elsewhere/fra.txt' }").Hex(), key);
  EXPECT_EQ(KeyOf("training { batch_size: 64 }").Hex(), key);
}

TEST(CellKeyTest, DependsOnEachPart) {
  const CellKey key = KeyOf("");
  const auto differs = [&](const CellKey& other, bool config, bool data,
                           bool program) {
    EXPECT_NE(other.Hex(), key.Hex());
    EXPECT_EQ(other.config != key.config, config);
    EXPECT_EQ(other.data != key.data, data);
    EXPECT_EQ(other.program != key.program, program);
  };
  differs(KeyOf("training { epochs: 4 }"), true, false, false);
  differs(KeyOf("seed: 2"), true, false, false);
  differs(KeyOf("", {{"data.path", "bb"}}), false, true, false);
  differs(KeyOf("", {{"data.path", "aa"}}, "x86-64-v4"), false, false, true);
  differs(KeyOf("", {{"data.path", "aa"}}, "x86-64-v3", "dd"), false, false,
          true);
}

TEST(CellKeyTest, TakesAPathWithoutADigestAsItIs) {
  EXPECT_NE(KeyOf("data { path: 'b' }", {}), KeyOf("data { path: 'c' }", {}));
  // Files of a folder, and weights that training begins with.
  const Data files = {{"data.path/labels", "aa"}};
  EXPECT_EQ(KeyOf("data { path: 'b' }", files),
            KeyOf("data { path: 'c' }", files));
  const Data weights = {{"training.initial_weights", "aa"}};
  EXPECT_EQ(KeyOf("training { initial_weights { run: 'b' } }", weights),
            KeyOf("training { initial_weights { run: 'c' } }", weights));
}

TEST(ComputeDigestTest, IsThatOfTheProgram) {
  const absl::StatusOr<std::string> digest = ComputeDigest();
  ASSERT_THAT(digest, testing::IsOk());
  EXPECT_EQ(digest->size(), 64);
  EXPECT_EQ(*ComputeDigest(), *digest);
}

}  // namespace
}  // namespace regard

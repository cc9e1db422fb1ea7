#include "experiments/sweep/cell_key.h"

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "experiments/experiment.pb.h"
#include "files/file.h"
#include "gmock/gmock.h"
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

TEST(CellKeyTest, DoesNotDependOnFieldsWithoutEffect) {
  const std::string key = KeyOf("").Digest();
  EXPECT_EQ(key.size(), 64);
  EXPECT_EQ(KeyOf("name: 'other'").Digest(), key);
  EXPECT_EQ(KeyOf("note: 'again' tags: 'a' tags: 'b'").Digest(), key);
  EXPECT_EQ(KeyOf("training { max_minutes: 5 }").Digest(), key);
  EXPECT_EQ(KeyOf("baseline { name: 'b' override { path: 'c' } }").Digest(),
            key);
  // The key must depend neither on the path of the data, nor on whether the
  // config states a default value.
  EXPECT_EQ(KeyOf("data { path: 'elsewhere/fra.txt' }").Digest(), key);
  EXPECT_EQ(KeyOf("training { batch_size: 64 }").Digest(), key);
}

TEST(CellKeyTest, DependsOnEachPart) {
  const CellKey key = KeyOf("");
  const auto differs = [&](const CellKey& other, bool config, bool data,
                           bool program) {
    EXPECT_NE(other.Digest(), key.Digest());
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
  // The key must not depend on the path of a folder with several files, or on
  // the path of initial weights.
  const Data files = {{"data.path/labels", "aa"}};
  EXPECT_EQ(KeyOf("data { path: 'b' }", files),
            KeyOf("data { path: 'c' }", files));
  const Data weights = {{"training.initial_weights", "aa"}};
  EXPECT_EQ(KeyOf("training { initial_weights { run: 'b' } }", weights),
            KeyOf("training { initial_weights { run: 'c' } }", weights));
}

class KeyOfRunTest : public ::testing::Test {
 protected:
  KeyOfRunTest() : folder_(JoinPath(::testing::TempDir(), "key_of_run")) {
    EXPECT_THAT(MakeDirectories(folder_, SystemFiles()), testing::IsOk());
    Write("resolved.textproto", "seed: 1 training { epochs: 3 }\n");
  }

  void Write(const std::string& name, const std::string& text) {
    EXPECT_THAT(WriteFileAtomically(JoinPath(folder_, name), text),
                testing::IsOk());
  }

  // Writes environment.json with `more` after its first fields.
  void WriteEnvironment(const std::string& more) {
    Write("environment.json",
          absl::StrCat(R"({"data": {"data.path": "aa"}, "files": {},
                           "instruction_set": "x86-64-v3")",
                       more, "}"));
  }

  const std::string folder_;
};

TEST_F(KeyOfRunTest, DependsOnConfigDataAndProgram) {
  WriteEnvironment(R"(, "compute_digest": "cc")");
  Experiment config;
  config.set_seed(1);
  config.mutable_training()->set_epochs(3);
  const CellKey key =
      MakeCellKey(config, {{"data.path", "aa"}}, "x86-64-v3", "cc");
  ASSERT_THAT(KeyOfRun(folder_), testing::IsOk());
  EXPECT_EQ(*KeyOfRun(folder_), key);
  WriteEnvironment(R"(, "compute_digest": "cc", "processes": [
      {"compute_digest": "cc"}, {"compute_digest": "cc"}])");
  ASSERT_THAT(KeyOfRun(folder_), testing::IsOk());
  EXPECT_EQ(*KeyOfRun(folder_), key);
}

TEST_F(KeyOfRunTest, NeedsOneProgramThatIsKnown) {
  const auto has_no_key =
      testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                        ::testing::HasSubstr("does not name one program"));
  WriteEnvironment("");
  EXPECT_THAT(KeyOfRun(folder_), has_no_key);
  WriteEnvironment(R"(, "compute_digest": "cc", "processes": [
      {"compute_digest": "cc"}, {"compute_digest": "dd"}])");
  EXPECT_THAT(KeyOfRun(folder_), has_no_key);
  WriteEnvironment(R"(, "compute_digest": "cc", "processes": [
      {"compute_digest": "cc"}, {}])");
  EXPECT_THAT(KeyOfRun(folder_), has_no_key);
}

}  // namespace
}  // namespace regard

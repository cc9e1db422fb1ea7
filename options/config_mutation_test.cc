// Damages a valid config byte by byte. The reader must not crash, and must give
// each problem a position. If it accepts a text, it must read the same values
// as protobuf's parser.
#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "files/utf8.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "options/config_text.h"
#include "options/reader.h"
#include "options/test_config.pb.h"
#include "options/test_extension.pb.h"

namespace regard {
namespace {

constexpr absl::string_view kValid = R"(# a config with everything
seed: -3, steps: 0x10; rate: 2.5e-1f
tolerance: 12345678901234567890 shuffle: false
data_path: "a" 'b' "\n\u00e9\101" task: REGRESSION raw: "\xff"
model <
  width: 8 layers { heads: 2 } layers: { } layers [{ heads: 1 }, {}]
  outside { [lab.my_score] { width: 8 } [lab.lags]: [1, 2] }
>
sizes: 1 sizes: [2, 3] names: ["x", "y"] adam: { beta1: .5 }
tree { child { children {} children { leaf: 1 } } }
)";

// Random numbers from the high bits of Knuth's MMIX generator.
class Numbers {
 public:
  uint32_t UniformInt(uint32_t limit) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<uint32_t>(state_ >> 33) % limit;
  }

 private:
  uint64_t state_ = 20260101;
};

// Deletes, replaces, inserts or copies a random part of `text`.
void Mutate(Numbers* numbers, std::string* text) {
  constexpr absl::string_view kBytes =
      "{}[]<>:;,.\"'\\#-+ \n\t\r0123456789eEfxXuU_abz/\x01\x7f\xc3\xa9\xff";
  const uint32_t size = static_cast<uint32_t>(text->size());
  const uint32_t at = numbers->UniformInt(size + 1);
  const char byte = kBytes[numbers->UniformInt(kBytes.size())];
  switch (numbers->UniformInt(4)) {
    case 0:
      text->erase(at, 1 + numbers->UniformInt(8));
      break;
    case 1:
      if (at < size) (*text)[at] = byte;
      break;
    case 2:
      text->insert(at, 1, byte);
      break;
    default: {
      const std::string copy = text->substr(at, numbers->UniformInt(40));
      text->insert(numbers->UniformInt(size + 1), copy);
    }
  }
}

// Checks that each line of an error is a message with a position, or an
// indented line that belongs to the message above it.
void ExpectPlaced(absl::string_view error) {
  static const std::regex* const kPlaced = new std::regex(
      "(a\\.textproto:[1-9][0-9]*:[1-9][0-9]*|--set): error: .+");
  int placed = 0;
  for (absl::string_view line : absl::StrSplit(error, '\n')) {
    if (absl::StartsWith(line, "  ") ||
        line == "a.textproto: the first 20 problems are shown") {
      continue;
    }
    ++placed;
    EXPECT_TRUE(std::regex_match(std::string(line), *kPlaced)) << line;
  }
  EXPECT_GE(placed, 1) << error;
  EXPECT_FALSE(FindInvalidUtf8(error).has_value());
}

TEST(ConfigMutationTest, TheUndamagedConfigIsRead) {
  google::protobuf::LinkMessageReflection<lab::MyScore>();
  testing::TestConfig config;
  const absl::StatusOr<ConfigOrigins> origins =
      ReadConfig({"a.textproto", std::string(kValid)}, {}, &config);
  EXPECT_TRUE(origins.ok()) << origins.status();
}

TEST(ConfigMutationTest, DamagedFilesGivePlacedErrors) {
  Numbers numbers;
  int refused = 0;
  constexpr int kTrials = 6000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::string text(kValid);
    for (uint32_t i = numbers.UniformInt(4) + 1; i > 0; --i) {
      Mutate(&numbers, &text);
    }
    testing::TestConfig config;
    const absl::StatusOr<ConfigOrigins> origins =
        ReadConfig({"a.textproto", text}, {}, &config);
    if (origins.ok()) {
      testing::TestConfig parsed;
      ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &parsed))
          << text;
      parsed.clear_base();
      ASSERT_EQ(config.SerializePartialAsString(),
                parsed.SerializePartialAsString())
          << text;
      continue;
    }
    ++refused;
    ExpectPlaced(origins.status().message());
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, kTrials / 2);
}

TEST(ConfigMutationTest, DamagedOverridesGivePlacedErrors) {
  const std::vector<std::string> valid = {
      "model.layers[1].heads=8",
      "model.outside.[lab.my_score].width=0x8",
      "model.outside.[lab.lags]=[1, 2]",
      "sizes=[2, 3]",
      "names[0]=a b",
      "data_path=\"a\\n\"",
      "adam={ beta1: 0.5 }",
      "task=REGRESSION"};
  Numbers numbers;
  int refused = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::string argument = valid[numbers.UniformInt(valid.size())];
    for (uint32_t i = numbers.UniformInt(3) + 1; i > 0; --i) {
      Mutate(&numbers, &argument);
    }
    testing::TestConfig config;
    const absl::StatusOr<ConfigOrigins> origins =
        ReadConfig({"a.textproto", std::string(kValid)}, {argument}, &config);
    if (origins.ok()) continue;
    ++refused;
    ExpectPlaced(origins.status().message());
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, kTrials / 2);
}

}  // namespace
}  // namespace regard

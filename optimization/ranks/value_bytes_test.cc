#include "optimization/ranks/value_bytes.h"

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

struct Measured {
  double loss = 0;
  std::vector<std::string> words = {};
  std::vector<std::array<double, 2>> right = {};

  auto members() { return std::tie(loss, words, right); }
  friend bool operator==(const Measured&, const Measured&) = default;
};

// Returns the value after a conversion to bytes and back. The conversion must
// not consume the bytes that follow.
template <typename T>
T Sent(const T& value) {
  std::string text;
  AppendBytes(value, &text);
  text += "rest";
  absl::string_view bytes = text;
  T received{};
  TakeBytes(&bytes, &received);
  EXPECT_EQ(bytes, "rest");
  return received;
}

TEST(ValueBytesTest, NumbersTextsListsAndPartsArriveAsTheyAre) {
  EXPECT_EQ(Sent(-2.5), -2.5);
  EXPECT_EQ(Sent<std::string>(""), "");
  EXPECT_EQ(Sent(std::string("a\0b", 3)), std::string("a\0b", 3));
  EXPECT_EQ(Sent(std::vector<float>()), std::vector<float>());
  const std::vector<std::vector<int32_t>> lists = {{1, 2, 3}, {}, {4}};
  EXPECT_EQ(Sent(lists), lists);
  const std::pair<std::string, int> pair = {"x", 7};
  EXPECT_EQ(Sent(pair), pair);
  const std::vector<Measured> measured = {{1.5, {"a", "", "bcd"}, {{1, 2}}},
                                          {}};
  EXPECT_EQ(Sent(measured), measured);
}

TEST(ValueBytesTest, PreviousValuesAreReplaced) {
  std::string text;
  AppendBytes(std::vector<std::string>{"new"}, &text);
  std::vector<std::string> words = {"older", "values"};
  absl::string_view bytes = text;
  TakeBytes(&bytes, &words);
  EXPECT_EQ(words, std::vector<std::string>{"new"});
}

TEST(ValueBytesDeathTest, TruncatedBytesFail) {
  std::string text;
  AppendBytes(std::vector<double>{1, 2}, &text);
  std::vector<double> numbers;
  for (const size_t size : {size_t{3}, size_t{8}, text.size() - 1}) {
    absl::string_view bytes = absl::string_view(text).substr(0, size);
    EXPECT_DEATH(TakeBytes(&bytes, &numbers), "") << size;
  }
}

}  // namespace
}  // namespace regard

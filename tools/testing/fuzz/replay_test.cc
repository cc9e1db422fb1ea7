// Reads every seed with its reader, whole and damaged. This is a short and
// reproducible version of tools/fuzz.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/testing/fuzz/readers.h"

namespace regard {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kSeeds[] = "tools/testing/fuzz/seeds";

// Random numbers: the high bits of Knuth's MMIX generator.
class Numbers {
 public:
  uint32_t UniformInt(size_t limit) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<uint32_t>(state_ >> 33) % static_cast<uint32_t>(limit);
  }

 private:
  uint64_t state_ = 20261125;
};

std::vector<std::string> SeedsOf(absl::string_view reader) {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(absl::StrCat(kSeeds, "/", reader))) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file),
                       std::istreambuf_iterator<char>());
  }
  return seeds;
}

// Flips a bit, truncates the bytes, repeats a part, or changes a byte.
void Damage(Numbers* numbers, std::string* bytes) {
  if (bytes->empty()) return;
  const size_t at = numbers->UniformInt(bytes->size());
  switch (numbers->UniformInt(4)) {
    case 0:
      (*bytes)[at] =
          static_cast<char>((*bytes)[at] ^ (1 << numbers->UniformInt(8)));
      return;
    case 1:
      bytes->erase(at, numbers->UniformInt(4) == 0
                           ? std::string::npos
                           : 1 + numbers->UniformInt(8));
      return;
    case 2:
      bytes->insert(at, bytes->substr(numbers->UniformInt(bytes->size()), 40));
      return;
    default:
      (*bytes)[at] = static_cast<char>(numbers->UniformInt(256));
  }
}

class ReplayTest : public ::testing::TestWithParam<FuzzedReader> {};

TEST_P(ReplayTest, DamagedSeedsDoNotCrash) {
  const std::vector<std::string> seeds = SeedsOf(GetParam().name);
  ASSERT_THAT(seeds, Not(IsEmpty()));
  GetParam().read("");
  Numbers numbers;
  for (const std::string& seed : seeds) {
    GetParam().read(seed);
    for (int trial = 0; trial < 200; ++trial) {
      std::string damaged = seed;
      for (uint32_t i = numbers.UniformInt(4) + 1; i > 0; --i) {
        Damage(&numbers, &damaged);
      }
      GetParam().read(damaged);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReplayTest,
                         ::testing::ValuesIn(FuzzedReaders().begin(),
                                             FuzzedReaders().end()),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace regard

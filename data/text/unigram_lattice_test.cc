#include "data/text/unigram_lattice.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autodiff/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

struct Piece {
  int64_t begin;
  int64_t end;
  double score;
};

// Pieces of a text of 5 bytes. Bytes 2 and 3 are one character. No two paths
// have the same score.
const std::vector<Piece>& Pieces() {
  static const auto* pieces = new std::vector<Piece>{
      {0, 1, -1.51}, {0, 2, -2.27}, {0, 5, -7.03}, {1, 2, -1.13}, {1, 4, -2.49},
      {2, 4, -1.57}, {2, 5, -4.11}, {4, 5, -2.19}, {1, 5, -4.85}};
  return *pieces;
}

UnigramLattice Lattice() {
  UnigramLattice lattice(5);
  for (int64_t begin = 0; begin < 5; ++begin) {
    for (const Piece& piece : Pieces()) {
      if (piece.begin == begin) lattice.Add(begin, piece.end, piece.score);
    }
  }
  return lattice;
}

// Returns every path that starts at `begin`, with its score.
std::map<PieceEnds, double> AllPaths(int64_t begin) {
  if (begin == 5) return {{{}, 0.0}};
  std::map<PieceEnds, double> paths;
  for (const Piece& piece : Pieces()) {
    if (piece.begin != begin) continue;
    for (const auto& [rest, score] : AllPaths(piece.end)) {
      PieceEnds path = {piece.end};
      path.insert(path.end(), rest.begin(), rest.end());
      paths[path] = piece.score + score;
    }
  }
  return paths;
}

// Returns all paths by descending score.
std::vector<std::pair<double, PieceEnds>> Sorted() {
  std::vector<std::pair<double, PieceEnds>> sorted;
  for (const auto& [path, score] : AllPaths(0)) sorted.push_back({score, path});
  std::sort(sorted.rbegin(), sorted.rend());
  return sorted;
}

// Compares the frequency of each path in random draws with its probability
// under `n` and alpha. A count deviates by 5 standard deviations with
// probability 6e-7.
void ExpectDistribution(size_t n, double alpha,
                        const std::map<PieceEnds, int>& counts, int draws) {
  const auto sorted = Sorted();
  double sum = 0;
  for (size_t i = 0; i < std::min(n, sorted.size()); ++i) {
    sum += std::exp(alpha * sorted[i].first);
  }
  int seen = 0;
  for (size_t i = 0; i < std::min(n, sorted.size()); ++i) {
    const double p = std::exp(alpha * sorted[i].first) / sum;
    const auto found = counts.find(sorted[i].second);
    const int count = found == counts.end() ? 0 : found->second;
    EXPECT_NEAR(count, draws * p, 5 * std::sqrt(draws * p * (1 - p)) + 0.5)
        << "path " << i << " of score " << sorted[i].first;
    seen += count;
  }
  EXPECT_EQ(seen, draws) << "a path that is none was drawn";
}

TEST(UnigramLatticeTest, TheBestPathsMatchAnEnumeration) {
  const auto sorted = Sorted();
  ASSERT_EQ(sorted.size(), 7);
  for (const size_t n : {1, 2, 5, 7, 20}) {
    const auto best = Lattice().NBest(static_cast<int>(n));
    ASSERT_EQ(best.size(), std::min(n, sorted.size()));
    for (size_t i = 0; i < best.size(); ++i) {
      EXPECT_DOUBLE_EQ(best[i].score, sorted[i].first);
      EXPECT_DOUBLE_EQ(AllPaths(0).at(best[i].ends), sorted[i].first);
    }
  }
}

TEST(UnigramLatticeTest, PathsAreDrawnByTheirProbability) {
  constexpr int kDraws = 20000;
  for (const double alpha : {0.0, 0.3, 1.0}) {
    std::map<PieceEnds, int> counts;
    for (int i = 0; i < kDraws; ++i) {
      ++counts[Lattice().Sample(alpha, RandomStream(3, absl::StrCat(i)))];
    }
    ExpectDistribution(/*n=*/100, alpha, counts, kDraws);
  }
}

TEST(UnigramLatticeTest, TheBestPathsAreDrawnByTheirProbability) {
  constexpr int kDraws = 20000;
  for (const double alpha : {0.0, 0.5}) {
    std::map<PieceEnds, int> counts;
    for (int i = 0; i < kDraws; ++i) {
      ++counts[Lattice().SampleNBest(4, alpha,
                                     RandomStream(5, absl::StrCat(i)))];
    }
    ExpectDistribution(/*n=*/4, alpha, counts, kDraws);
  }
}

TEST(UnigramLatticeTest, OnePieceGivesOnePath) {
  UnigramLattice lattice(3);
  lattice.Add(0, 3, -1e6);
  EXPECT_THAT(lattice.Sample(1, RandomStream(0, "")), ElementsAre(3));
  EXPECT_THAT(lattice.SampleNBest(2, 1, RandomStream(0, "")), ElementsAre(3));
}

// In double precision, exp() of these scores is 0. The two paths must still be
// equally frequent.
TEST(UnigramLatticeTest, SmallProbabilitiesDoNotVanish) {
  UnigramLattice lattice(2);
  lattice.Add(0, 1, -5000);
  lattice.Add(0, 2, -9000);
  lattice.Add(1, 2, -4000);
  std::map<PieceEnds, int> counts;
  for (int i = 0; i < 1000; ++i) {
    ++counts[lattice.Sample(1, RandomStream(1, absl::StrCat(i)))];
  }
  EXPECT_NEAR(counts[PieceEnds{2}], 500, 80);
}

TEST(UnigramLatticeDeathTest, RejectsInvalidPieces) {
  UnigramLattice lattice(3);
  EXPECT_DEATH(lattice.Add(1, 1, 0), "bytes 1 to 1 of 3");
  EXPECT_DEATH(lattice.Add(1, 4, 0), "bytes 1 to 4 of 3");
  lattice.Add(0, 2, 0);
  EXPECT_DEATH(lattice.Sample(1, RandomStream(0, "")), "no path to the end");
  EXPECT_DEATH(lattice.SampleNBest(2, 1, RandomStream(0, "")), "no path");
}

}  // namespace
}  // namespace regard

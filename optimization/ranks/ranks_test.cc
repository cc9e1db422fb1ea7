#include "optimization/ranks/ranks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimization/ranks/agreement.h"
#include "optimization/shard_tree.h"
#include "optimization/testing/thread_ranks.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using testing::IsOk;
using testing::StatusIs;

std::vector<std::array<int, 2>> Level(int parts, int num_shards) {
  std::vector<std::array<int, 2>> nodes;
  for (int part = 0; part < parts; ++part) {
    const IndexRange<int> shards = ShardsOf(part, parts, num_shards);
    nodes.push_back({shards.begin, shards.end});
  }
  return nodes;
}

TEST(ShardsOfTest, AreTheNodesOfALevel) {
  using Nodes = std::vector<std::array<int, 2>>;
  EXPECT_EQ(Level(1, 1), (Nodes{{0, 1}}));
  EXPECT_EQ(Level(1, 5), (Nodes{{0, 5}}));
  EXPECT_EQ(Level(2, 3), (Nodes{{0, 2}, {2, 3}}));
  EXPECT_EQ(Level(2, 5), (Nodes{{0, 3}, {3, 5}}));
  EXPECT_EQ(Level(4, 5), (Nodes{{0, 2}, {2, 3}, {3, 4}, {4, 5}}));
  EXPECT_EQ(Level(4, 8), (Nodes{{0, 2}, {2, 4}, {4, 6}, {6, 8}}));
}

TEST(ShardsOfTest, AreNeverEmptyAndCoverAllShardsInOrder) {
  for (int shards = 1; shards <= 70; ++shards) {
    for (int parts = 1; parts <= shards; parts *= 2) {
      int next = 0;
      for (const auto& [begin, end] : Level(parts, shards)) {
        EXPECT_EQ(begin, next);
        EXPECT_GT(end, begin);
        next = end;
      }
      EXPECT_EQ(next, shards);
    }
  }
}

TEST(RanksFitTest, APowerOfTwoUpToTheNumberOfShards) {
  EXPECT_TRUE(RanksFit(1, 1));
  EXPECT_TRUE(RanksFit(4, 5));
  EXPECT_TRUE(RanksFit(8, 8));
  EXPECT_FALSE(RanksFit(8, 7));
  EXPECT_FALSE(RanksFit(3, 8));
  EXPECT_FALSE(RanksFit(6, 8));
  EXPECT_FALSE(RanksFit(0, 8));
}

TEST(GatherShardsTest, GivesEveryRankTheRowsOfAll) {
  for (const int size : {1, 2, 4, 8}) {
    for (int shards = size; shards <= 9; ++shards) {
      for (const int width : {0, 1, 3}) {
        RunRanks(size, [&](Ranks& ranks) {
          std::vector<int> rows(static_cast<size_t>(shards * width), -1);
          const IndexRange<int> own = ShardsOf(ranks.rank(), size, shards);
          for (int i = own.begin * width; i < own.end * width; ++i) rows[i] = i;
          GatherShards(ranks, shards, absl::MakeSpan(rows));
          for (int i = 0; i < shards * width; ++i) EXPECT_EQ(rows[i], i);
        });
      }
    }
  }
}

TEST(GatherTest, IsInTheOrderOfRanks) {
  RunRanks(4, [&](Ranks& ranks) {
    EXPECT_THAT(GatherValues(ranks, 10 * ranks.rank()),
                ElementsAre(0, 10, 20, 30));
    // The text of the last rank is empty.
    const std::string text(static_cast<size_t>(3 - ranks.rank()), 'x');
    EXPECT_THAT(GatherTexts(ranks, text), ElementsAre("xxx", "xx", "x", ""));
    EXPECT_THAT(GatherTexts(ranks, ""), ElementsAre("", "", "", ""));
  });
}

TEST(AgreementTest, AllRanksReturnTheFirstError) {
  RunRanks(4, [&](Ranks& ranks) {
    EXPECT_THAT(AgreeOn(&ranks, absl::OkStatus()), IsOk());
    const absl::Status failed =
        AgreeOn(&ranks, ranks.rank() < 2 ? absl::OkStatus()
                                         : absl::UnavailableError(absl::StrCat(
                                               "no disk ", ranks.rank())));
    EXPECT_THAT(failed,
                StatusIs(absl::StatusCode::kUnavailable, "rank 2: no disk 2"));
    EXPECT_THAT(AgreeOn(&ranks, absl::InvalidArgumentError("wrong")),
                StatusIs(absl::StatusCode::kInvalidArgument, "wrong"));
  });
  EXPECT_THAT(AgreeOn(nullptr, absl::InvalidArgumentError("wrong")),
              StatusIs(absl::StatusCode::kInvalidArgument, "wrong"));
}

TEST(AgreementTest, TheFirstRankDecides) {
  RunRanks(4, [&](Ranks& ranks) {
    EXPECT_EQ(BroadcastText(&ranks, absl::StrCat("I am ", ranks.rank())),
              "I am 0");
    EXPECT_TRUE(BroadcastFlag(&ranks, ranks.rank() == 0));
    EXPECT_FALSE(BroadcastFlag(&ranks, ranks.rank() != 0));
    EXPECT_EQ(MaxOverRanks(&ranks, ranks.rank() == 2 ? 15 : 0), 15);
  });
  EXPECT_EQ(BroadcastText(nullptr, "alone"), "alone");
  EXPECT_TRUE(BroadcastFlag(nullptr, true));
  EXPECT_EQ(MaxOverRanks(nullptr, 7), 7);
}

TEST(AgreementTest, DifferencesNameTheRankAndBothValues) {
  RunRanks(4, [&](Ranks& ranks) {
    std::map<std::string, std::string> facts = {{"program", "5e"},
                                                {"seed", "1"}};
    EXPECT_THAT(
        CheckSameOnRanks(&ranks, facts, absl::StatusCode::kInvalidArgument),
        IsOk());
    if (ranks.rank() == 1) facts["seed"] = "2";
    if (ranks.rank() == 3) facts = {{"seed", "1"}, {"zeal", ""}};
    EXPECT_THAT(
        CheckSameOnRanks(&ranks, facts, absl::StatusCode::kInvalidArgument),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 "error: the ranks differ:\n"
                 "  seed: 2 on rank 1, 1 on rank 0\n"
                 "  program: nothing on rank 3, 5e on rank 0\n"
                 "  zeal:  on rank 3, nothing on rank 0"));
  });
}

}  // namespace
}  // namespace regard

#include "data/text/entailment.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "data/text/text_splits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

using Part = EntailmentPairs::Part;

std::vector<std::string> Of(EntailmentRule rule, absl::string_view sentence) {
  return EntailmentPairs().Apply(rule, sentence);
}

constexpr char kSentence[] = "the small beagle helps the nurse .";

TEST(EntailmentRulesTest, EntailedSentences) {
  EXPECT_THAT(Of(EntailmentRule::kSynonym, kSentence),
              UnorderedElementsAre("the little beagle helps the nurse .",
                                   "the small beagle assists the nurse ."));
  EXPECT_THAT(Of(EntailmentRule::kKind, kSentence),
              UnorderedElementsAre("the small dog helps the nurse .",
                                   "the small beagle helps the person ."));
  EXPECT_THAT(Of(EntailmentRule::kFewer, kSentence),
              ElementsAre("the beagle helps the nurse ."));
  EXPECT_THAT(Of(EntailmentRule::kFewer, "the sad owl leads the poor tuna ."),
              UnorderedElementsAre("the owl leads the poor tuna .",
                                   "the sad owl leads the tuna ."));
}

TEST(EntailmentRulesTest, ContradictingSentences) {
  EXPECT_THAT(Of(EntailmentRule::kOppositeAdjective, kSentence),
              UnorderedElementsAre("the large beagle helps the nurse .",
                                   "the big beagle helps the nurse ."));
  EXPECT_THAT(Of(EntailmentRule::kOppositeVerb, kSentence),
              ElementsAre("the small beagle hinders the nurse ."));
}

TEST(EntailmentRulesTest, UnrelatedSentences) {
  // 6 of the 39 nouns are words for dogs, and 9 are words for persons.
  EXPECT_THAT(
      Of(EntailmentRule::kOtherNoun, kSentence),
      AllOf(SizeIs(33 + 30), Contains("the small bird helps the nurse ."),
            Contains("the small beagle helps the owl ."),
            Not(Contains("the small poodle helps the nurse .")),
            Not(Contains("the small beagle helps the person ."))));
  EXPECT_THAT(Of(EntailmentRule::kExchanged, kSentence),
              ElementsAre("the nurse helps the small beagle ."));
  // The rule does not apply, because the exchanged sentence would mean the
  // same.
  EXPECT_THAT(Of(EntailmentRule::kExchanged, "the small ant pulls the ant ."),
              SizeIs(0));
  EXPECT_THAT(Of(EntailmentRule::kAnother, kSentence), SizeIs(0));
}

TEST(EntailmentPairsTest, LabelsAndRulesHaveEqualShares) {
  const EntailmentPairs pairs;
  const std::vector<LabelledText> made = pairs.Make(180, 1, Part::kTrain);
  ASSERT_THAT(made, SizeIs(180));
  constexpr EntailmentRule kRules[3][6] = {
      {EntailmentRule::kSynonym, EntailmentRule::kKind, EntailmentRule::kFewer,
       EntailmentRule::kSynonym, EntailmentRule::kKind, EntailmentRule::kFewer},
      {EntailmentRule::kOppositeAdjective, EntailmentRule::kOppositeVerb,
       EntailmentRule::kOppositeAdjective, EntailmentRule::kOppositeVerb,
       EntailmentRule::kOppositeAdjective, EntailmentRule::kOppositeVerb},
      {EntailmentRule::kOtherNoun, EntailmentRule::kExchanged,
       EntailmentRule::kAnother, EntailmentRule::kOtherNoun,
       EntailmentRule::kExchanged, EntailmentRule::kAnother}};
  std::set<std::string> seen;
  for (size_t i = 0; i < made.size(); ++i) {
    ASSERT_EQ(made[i].label, static_cast<int32_t>(i % 3));
    ASSERT_NE(*made[i].second, made[i].text);
    const EntailmentRule rule = kRules[i % 3][i / 3 % 6];
    if (rule == EntailmentRule::kAnother) {
      // No sentence of this pair may occur in an earlier pair.
      EXPECT_EQ(seen.count(made[i].text) + seen.count(*made[i].second), 0);
    } else {
      EXPECT_THAT(pairs.Apply(rule, made[i].text), Contains(*made[i].second));
    }
    seen.insert({made[i].text, *made[i].second});
  }
}

TEST(EntailmentPairsTest, NoSentenceIsInTwoParts) {
  const EntailmentPairs pairs;
  std::map<std::string, Part> parts;
  for (const Part part : {Part::kTrain, Part::kDev, Part::kTest}) {
    for (const LabelledText& pair : pairs.Make(500, 7, part)) {
      for (const std::string& sentence : {pair.text, *pair.second}) {
        const auto [seen, added] = parts.emplace(sentence, part);
        EXPECT_EQ(seen->second, part) << sentence;
      }
    }
  }
}

TEST(EntailmentPairsTest, AreAFunctionOfSeedAndPart) {
  const EntailmentPairs pairs;
  const auto texts = [&](int64_t count, uint64_t seed, Part part) {
    std::vector<std::string> all;
    for (const LabelledText& pair : pairs.Make(count, seed, part)) {
      all.push_back(pair.text + " | " + *pair.second);
    }
    return all;
  };
  const std::vector<std::string> few = texts(7, 3, Part::kDev);
  std::vector<std::string> more = texts(21, 3, Part::kDev);
  EXPECT_NE(few, texts(7, 4, Part::kDev));
  EXPECT_NE(few, texts(7, 3, Part::kTest));
  more.resize(7);
  EXPECT_EQ(few, more);
  EXPECT_THAT(texts(0, 3, Part::kTest), SizeIs(0));
  EXPECT_THAT(texts(1, 3, Part::kTest), SizeIs(1));
}

}  // namespace
}  // namespace regard

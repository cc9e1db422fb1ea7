// Pairs of generated sentences of which the first entails the second,
// contradicts it, or says nothing of it, as in natural language inference
// (Bowman et al., "A large annotated corpus for learning natural language
// inference", 2015).
//
// The first is a sentence of a grammar: "the [adjective] noun verb the
// [adjective] noun .". The second is made of it by one rule. As in that corpus,
// both are about the same things: what is small is not large.
//
//   entails      kSynonym            small -> little, helps -> assists
//                kKind               beagle -> dog
//                kFewer              the small cat -> the cat
//   contradicts  kOppositeAdjective  small -> large
//                kOppositeVerb       helps -> hinders
//   unrelated    kOtherNoun          beagle -> eagle, beagle -> bird
//                kExchanged          the nurse helps the dog -> the dog helps
//                                    the nurse
//                kAnother            another sentence of the grammar
//
// Each label has a third of the pairs, and each of its rules the same share. So
// what is entailed and what is contradicted differ in one word alike, and what
// 120 words have to do with each other tells them apart.
#ifndef DATA_TEXT_ENTAILMENT_H_
#define DATA_TEXT_ENTAILMENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "data/grammar.h"
#include "data/text/text_splits.h"

namespace regard {

inline constexpr const char* kEntailmentLabels[] = {"entails", "contradicts",
                                                    "unrelated"};

enum class EntailmentRule {
  kSynonym,
  kKind,
  kFewer,
  kOppositeAdjective,
  kOppositeVerb,
  kOtherNoun,
  kExchanged,
  kAnother,
};

class EntailmentPairs {
 public:
  enum class Part { kTrain, kDev, kTest };

  // The pairs of a part, a function of seed and part. Each sentence there is
  // belongs to one part alone, as a function of the seed: no two parts have a
  // sentence in common, be it first or second.
  std::vector<LabelledText> Make(int64_t count, uint64_t seed, Part part) const;

  // All that a rule makes of a sentence of the grammar; none if it has nothing
  // to change, as kAnother has.
  std::vector<std::string> Apply(EntailmentRule rule,
                                 absl::string_view sentence) const;

 private:
  enum class Sort { kAdjective, kVerb, kNoun };

  // Adjectives and verbs mean the same if group and side are the same, and the
  // opposite if the group alone is. A group of nouns is a kind: its name has
  // side 0, its members have side 1, and do not mean the same.
  struct Meaning {
    Sort sort;
    int group;
    int side;
  };
  // By word; "the" and "." have none.
  using Meanings = std::map<std::string, Meaning, std::less<>>;

  static Meanings AllMeanings();
  // The rules of Grammar, of words of the same weight.
  static std::string RulesOf(const Meanings& meanings);
  // Whether a rule puts a word that means `there` in the place of another.
  static bool Replaces(EntailmentRule rule, const Meaning& here,
                       const Meaning& there);

  const Meanings meanings_ = AllMeanings();
  const Grammar grammar_{RulesOf(meanings_)};
};

}  // namespace regard

#endif  // DATA_TEXT_ENTAILMENT_H_

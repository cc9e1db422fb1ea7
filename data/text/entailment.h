// Generates pairs of sentences for natural language inference (Bowman et al.,
// "A large annotated corpus for learning natural language inference", 2015).
// The first sentence entails the second, contradicts it, or is unrelated.
//
// The first sentence comes from a grammar: "the [adjective] noun verb the
// [adjective] noun .". A rule changes it to the second sentence. As in the
// corpus of Bowman et al., both sentences are about the same objects. A
// sentence about "the small cat" therefore contradicts the same sentence about
// "the large cat".
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
// Each label has a third of the pairs, and all rules of a label are used
// equally often. In pairs with the labels "entails" and "contradicts", the two
// sentences differ in one word. To distinguish these labels, a model must learn
// how 120 words are related.
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

  // Returns the pairs of a part, which depend only on `seed` and `part`. The
  // seed assigns each sentence to one part. Two parts therefore have no
  // sentence in common.
  std::vector<LabelledText> Make(int64_t count, uint64_t seed, Part part) const;

  // Returns all results of a rule for a sentence of the grammar. There are none
  // if the rule does not apply, or if the rule is kAnother.
  std::vector<std::string> Apply(EntailmentRule rule,
                                 absl::string_view sentence) const;

 private:
  enum class Sort { kAdjective, kVerb, kNoun };

  // The meaning of a word. Adjectives and verbs with equal group and side are
  // synonyms. With equal groups and different sides, they are opposites. For
  // nouns, a group is a kind. The name of the kind has side 0. The other nouns
  // of the kind have side 1 and are not synonyms.
  struct Meaning {
    Sort sort;
    int group;
    int side;
  };
  // Meanings by word. "the" and "." have no meaning.
  using Meanings = std::map<std::string, Meaning, std::less<>>;

  static Meanings AllWordMeanings();
  // Returns the rules for a Grammar in which all words have the same weight.
  static std::string GrammarRules(const Meanings& meanings);
  // Whether a rule replaces a word that means `here` with a word that means
  // `there`.
  static bool Replaces(EntailmentRule rule, const Meaning& here,
                       const Meaning& there);

  const Meanings meanings_ = AllWordMeanings();
  const Grammar grammar_{GrammarRules(meanings_)};
};

}  // namespace regard

#endif  // DATA_TEXT_ENTAILMENT_H_

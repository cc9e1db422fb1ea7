#include "experiments/data/phrasebook_grammar.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "experiments/data/phrasebook_clause.h"
#include "experiments/data/phrasebook_construction.h"
#include "experiments/data/phrasebook_lexicon.h"
#include "experiments/data/phrasebook_noun_constructions.h"
#include "experiments/data/phrasebook_random.h"
#include "experiments/data/phrasebook_sentence.h"
#include "experiments/data/phrasebook_sentence_maker.h"
#include "experiments/data/phrasebook_verb.h"
#include "experiments/data/phrasebook_verb_constructions.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

std::vector<Construction> AllConstructions() {
  std::vector<Construction> all;
  for (const auto part : {VerbConstructions(), NounConstructions()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

const Construction& ChooseConstruction(
    const std::vector<Construction>& constructions, PhrasebookRandom& random) {
  int total = 0;
  for (const Construction& construction : constructions) {
    total += construction.weight;
  }
  int draw = random.Below(total);
  for (const Construction& construction : constructions) {
    draw -= construction.weight;
    if (draw < 0) return construction;
  }
  REGARD_CHECK(false) << "the weights add up to " << total;
  return constructions.front();
}

// `john sees john` is two Johns: no noun or name is there twice.
bool RepeatsNoun(std::vector<absl::string_view> nouns) {
  std::sort(nouns.begin(), nouns.end());
  return std::adjacent_find(nouns.begin(), nouns.end()) != nouns.end();
}

bool HasLength(const std::vector<std::string>& words) {
  const int length = static_cast<int>(words.size());
  return kMinPhrasebookLength <= length && length <= kMaxPhrasebookLength;
}

}  // namespace

std::vector<absl::string_view> PhrasebookConstructions() {
  std::vector<absl::string_view> names;
  for (const Construction& construction : AllConstructions()) {
    names.push_back(construction.name);
  }
  return names;
}

PhrasebookSentence DrawSentence(PhrasebookRandom& random) {
  const std::vector<Construction> constructions = AllConstructions();
  while (true) {
    const Construction& construction =
        ChooseConstruction(constructions, random);
    PhrasebookSentence sentence = construction.make(random).Finish(
        construction.name, construction.punctuation);
    if (!RepeatsNoun(sentence.nouns) && HasLength(sentence.pair.source) &&
        HasLength(sentence.pair.target)) {
      return sentence;
    }
  }
}

PhrasebookSentence TheyAreWatching() {
  Clause clause{.subject = {.pronoun = &FindPronoun("they")},
                .verb = &FindVerb("watch")};
  return OneClause(clause).Finish("intransitive", ".");
}

}  // namespace regard

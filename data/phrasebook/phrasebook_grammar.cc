#include "data/phrasebook/phrasebook_grammar.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "data/phrasebook/phrasebook.pb.h"
#include "data/phrasebook/phrasebook_language.h"
#include "data/phrasebook/phrasebook_random.h"
#include "data/phrasebook/phrasebook_rendering.h"
#include "data/phrasebook/phrasebook_sentence.h"
#include "data/phrasebook/phrasebook_sketch.h"

namespace regard {
namespace {

using phrasebook::Construction;
using phrasebook::Language;

const Construction& ChooseConstruction(PhrasebookRandom& random) {
  const auto& constructions = Language::Embedded().grammar().construction();
  int total = 0;
  for (const Construction& construction : constructions) {
    total += construction.weight();
  }
  int draw = random.Below(total);
  int chosen = 0;
  while ((draw -= constructions[chosen].weight()) >= 0) ++chosen;
  return constructions[chosen];
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
  for (const Construction& construction :
       Language::Embedded().grammar().construction()) {
    names.push_back(construction.name());
  }
  return names;
}

PhrasebookSentence DrawSentence(PhrasebookRandom& random) {
  const Language& language = Language::Embedded();
  while (true) {
    PhrasebookSentence sentence = phrasebook::Render(
        phrasebook::DrawSketch(ChooseConstruction(random), language, random),
        language);
    if (!RepeatsNoun(sentence.nouns) && HasLength(sentence.pair.source) &&
        HasLength(sentence.pair.target)) {
      return sentence;
    }
  }
}

PhrasebookSentence TheyAreWatching() {
  const Language& language = Language::Embedded();
  const Construction& construction = language.grammar().construction(0);
  phrasebook::Sketch sketch;
  sketch.construction = &construction;
  sketch.english = &construction.english();
  sketch.french = &construction.french();
  sketch.verb = &language.FindVerb("watch");
  sketch.phrases[phrasebook::SUBJECT] = {.pronoun =
                                             &language.FindPronoun("they")};
  return phrasebook::Render(sketch, language);
}

}  // namespace regard

// Renders a sketch in both languages, with the patterns of the grammar.
#ifndef DATA_PHRASEBOOK_PHRASEBOOK_RENDERING_H_
#define DATA_PHRASEBOOK_PHRASEBOOK_RENDERING_H_

#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "data/phrasebook/phrasebook_language.h"
#include "data/phrasebook/phrasebook_sketch.h"
#include "data/sentence_pair.h"

namespace regard::phrasebook {

// A sentence pair, with the English base forms of the words that it combines.
struct PhrasebookSentence {
  SentencePair pair;
  absl::string_view construction;
  // Pairs of a noun or name, and a word that applies to it: a verb whose
  // subject it is, or an adjective that describes it.
  std::vector<std::pair<absl::string_view, absl::string_view>> pairs;
  // All nouns and names, in any role.
  std::vector<absl::string_view> nouns;
  // All verbs and adjectives, in any role.
  std::vector<absl::string_view> words;
};

// Renders the sketch. The result refers to `language` and its words.
PhrasebookSentence Render(const Sketch& sketch, const Language& language);

}  // namespace regard::phrasebook

#endif  // DATA_PHRASEBOOK_PHRASEBOOK_RENDERING_H_

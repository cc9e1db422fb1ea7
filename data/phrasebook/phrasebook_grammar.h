// The grammar of the phrasebook: draws one English sentence with its French,
// their gold alignment and the words that were put together.
#ifndef DATA_PHRASEBOOK_PHRASEBOOK_GRAMMAR_H_
#define DATA_PHRASEBOOK_PHRASEBOOK_GRAMMAR_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "data/phrasebook/phrasebook_random.h"
#include "data/phrasebook/phrasebook_sentence.h"

namespace regard {

// Sentence lengths on either side, in tokens with the final punctuation.
inline constexpr int kMinPhrasebookLength = 3;
inline constexpr int kMaxPhrasebookLength = 14;

std::vector<absl::string_view> PhrasebookConstructions();

// Draws a sentence: first its construction, by fixed weights, then its words,
// again until both sides have a permitted length and no noun is there twice.
PhrasebookSentence DrawSentence(PhrasebookRandom& random);

// `they are watching .`, the first sentence of every model.
PhrasebookSentence TheyAreWatching();

}  // namespace regard

#endif  // DATA_PHRASEBOOK_PHRASEBOOK_GRAMMAR_H_

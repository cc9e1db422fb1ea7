// One sentence of the phrasebook, with the words that were put together in it.
#ifndef DATA_PHRASEBOOK_PHRASEBOOK_SENTENCE_H_
#define DATA_PHRASEBOOK_PHRASEBOOK_SENTENCE_H_

#include <compare>
#include <vector>

#include "absl/strings/string_view.h"
#include "data/sentence_pair.h"

namespace regard {

// A noun or name with a verb or adjective, all by their English base form.
struct WordPair {
  absl::string_view noun;
  absl::string_view word;

  friend auto operator<=>(const WordPair&, const WordPair&) = default;
};

struct PhrasebookSentence {
  SentencePair pair;
  absl::string_view construction;
  // Each noun that is the subject of a verb, each adjective said of a noun.
  std::vector<WordPair> pairs;
  // All nouns and names, all verbs and adjectives, whatever their role.
  std::vector<absl::string_view> nouns;
  std::vector<absl::string_view> words;
};

}  // namespace regard

#endif  // DATA_PHRASEBOOK_PHRASEBOOK_SENTENCE_H_

// The phrasebook: English sentences with their one correct French and gold word
// alignments, made by a grammar, split so that memory can be told from sense.
#ifndef DATA_PHRASEBOOK_PHRASEBOOK_H_
#define DATA_PHRASEBOOK_PHRASEBOOK_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "data/sentence_pair.h"

namespace regard {

// The other splits use words of train alone. Fewer sentences have too few words
// to make other sentences of them.
inline constexpr int kMinPhrasebookTrain = 50;
// Another split has at most this many times the size of train.
inline constexpr int kMaxPhrasebookRatio = 10;

// Unless all other splits are empty, train has kMinPhrasebookTrain sentences or
// more, and no other split more than kMaxPhrasebookRatio times as many.
struct PhrasebookOptions {
  uint64_t seed = 1;
  int train = 8000;  // sentence pairs; the first: `they are watching .`
  int dev = 200;
  int test_unseen = 500;
  int test_unseen_pairs = 500;
  // This many of 100 pairs of a noun and a verb or adjective are held apart.
  int apart_percent = 6;
};

struct PhrasebookSplit {
  std::vector<SentencePair> pairs;
  // The construction of each pair, in the same order.
  std::vector<absl::string_view> constructions;
};

// No sentence is in two splits or twice in one. All words of the other three
// splits occur in `train`, on both sides.
struct Phrasebook {
  PhrasebookSplit train;
  PhrasebookSplit dev;
  // New sentences of word pairs that may all have been seen.
  PhrasebookSplit test_unseen;
  // Sentences with a noun as the subject of a verb, or beside an adjective,
  // that no sentence of `train`, `dev` or `test_unseen` has both, in any role.
  PhrasebookSplit test_unseen_pairs;
};

// A function of `options` alone: the same on every machine.
Phrasebook MakePhrasebook(const PhrasebookOptions& options = {});

// Whether this noun is kept apart from this verb or adjective, both in their
// English base form.
bool IsHeldApart(absl::string_view noun, absl::string_view word,
                 const PhrasebookOptions& options);

}  // namespace regard

#endif  // DATA_PHRASEBOOK_PHRASEBOOK_H_

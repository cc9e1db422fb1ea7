// The phrasebook: generated English sentences, each with its only correct
// French translation and gold alignments. The splits distinguish memorized
// sentences from learned rules. See docs/phrasebook.md.
#ifndef DATA_PHRASEBOOK_PHRASEBOOK_H_
#define DATA_PHRASEBOOK_PHRASEBOOK_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "data/sentence_pair.h"

namespace regard {

// The minimum size of `train`. The other splits use only words of `train`, and
// a smaller `train` has too few words for them.
inline constexpr int kMinPhrasebookTrain = 50;
// The largest ratio of the size of another split to the size of `train`.
inline constexpr int kMaxPhrasebookRatio = 10;

// If a split other than `train` is not empty, `train` must be at least
// kMinPhrasebookTrain. No other split may exceed kMaxPhrasebookRatio * `train`.
struct PhrasebookOptions {
  uint64_t seed = 1;
  int train = 8000;  // sentence pairs
  int dev = 200;
  int test_unseen = 500;
  int test_unseen_pairs = 500;
  // The percentage of pairs of a noun and a verb or adjective that are held
  // out.
  int apart_percent = 6;
};

struct PhrasebookPart {
  std::vector<SentencePair> pairs;
  // The construction of pairs[i] has the name constructions[i].
  std::vector<absl::string_view> constructions;
};

// The splits. No sentence occurs twice, whether in one split or in two splits.
// All words of the other three splits occur in `train`, on both sides.
struct Phrasebook {
  PhrasebookPart train;
  PhrasebookPart dev;
  // New sentences, whose word pairs may all occur in training.
  PhrasebookPart test_unseen;
  // Sentences with a held-out word pair: a subject and its verb, or a noun and
  // an adjective that describes it. No sentence of `train`, `dev` or
  // `test_unseen` contains both words, in any role.
  PhrasebookPart test_unseen_pairs;
};

// Generates the phrasebook. The result depends only on `options`, and is the
// same on every machine.
Phrasebook MakePhrasebook(const PhrasebookOptions& options = {});

// Whether the pair of `noun` and `word`, a verb or an adjective, is held out.
// Both must be English base forms.
bool IsHeldOut(absl::string_view noun, absl::string_view word,
               const PhrasebookOptions& options);

}  // namespace regard

#endif  // DATA_PHRASEBOOK_PHRASEBOOK_H_

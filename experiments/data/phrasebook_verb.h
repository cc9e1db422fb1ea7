// The phrasebook's verbs: all forms in use of each English verb and its French,
// its objects and what else it allows.
#ifndef EXPERIMENTS_DATA_PHRASEBOOK_VERB_H_
#define EXPERIMENTS_DATA_PHRASEBOOK_VERB_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/data/phrasebook_lexicon.h"

namespace regard {

// What a verb allows, beside its objects.
using VerbTraits = uint32_t;
inline constexpr VerbTraits kStative = 1 << 0;          // no `-ing`: `i see`
inline constexpr VerbTraits kProgressiveOnly = 1 << 1;  // `read` has two tenses
inline constexpr VerbTraits kNoPast = 1 << 2;
inline constexpr VerbTraits kAnimalsToo = 1 << 3;      // animals do it
inline constexpr VerbTraits kIntransitive = 1 << 4;    // may go without object
inline constexpr VerbTraits kDefiniteObject = 1 << 5;  // `likes the cat` only
inline constexpr VerbTraits kIndefiniteObject = 1 << 6;  // `has a cat` only
inline constexpr VerbTraits kGiving = 1 << 7;  // something to somebody
inline constexpr VerbTraits kNoFuture = 1 << 8;
inline constexpr VerbTraits kForSomebody = 1 << 9;      // `for his mother`
inline constexpr VerbTraits kNeedsRecipient = 1 << 10;  // never without

struct Verb {
  absl::string_view base;         // `watch`
  absl::string_view third;        // `watches`
  absl::string_view progressive;  // `watching`
  absl::string_view past;         // `watched`
  absl::string_view infinitive;   // `regarder`
  absl::string_view present[4];   // by Person
  absl::string_view participle;   // `regardé`, conjugated with avoir
  NounKinds objects;
  VerbTraits traits;
};

absl::Span<const Verb> Verbs();

// The verb with this English base form; it is an error if there is none.
const Verb& FindVerb(absl::string_view base);

}  // namespace regard

#endif  // EXPERIMENTS_DATA_PHRASEBOOK_VERB_H_

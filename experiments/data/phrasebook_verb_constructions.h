// Constructions that say what somebody does: statements in several tenses,
// negations and questions.
#ifndef EXPERIMENTS_DATA_PHRASEBOOK_VERB_CONSTRUCTIONS_H_
#define EXPERIMENTS_DATA_PHRASEBOOK_VERB_CONSTRUCTIONS_H_

#include "absl/types/span.h"
#include "experiments/data/phrasebook_construction.h"

namespace regard {

absl::Span<const Construction> VerbConstructions();

}  // namespace regard

#endif  // EXPERIMENTS_DATA_PHRASEBOOK_VERB_CONSTRUCTIONS_H_

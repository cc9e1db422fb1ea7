// Constructions about what something is: its qualities, owner, parts,
// material and place.
#ifndef EXPERIMENTS_DATA_PHRASEBOOK_NOUN_CONSTRUCTIONS_H_
#define EXPERIMENTS_DATA_PHRASEBOOK_NOUN_CONSTRUCTIONS_H_

#include "absl/types/span.h"
#include "experiments/data/phrasebook_construction.h"

namespace regard {

absl::Span<const Construction> NounConstructions();

}  // namespace regard

#endif  // EXPERIMENTS_DATA_PHRASEBOOK_NOUN_CONSTRUCTIONS_H_

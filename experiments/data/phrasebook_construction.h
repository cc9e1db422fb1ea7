// One kind of sentence that the phrasebook's grammar makes.
#ifndef EXPERIMENTS_DATA_PHRASEBOOK_CONSTRUCTION_H_
#define EXPERIMENTS_DATA_PHRASEBOOK_CONSTRUCTION_H_

#include "absl/strings/string_view.h"
#include "experiments/data/phrasebook_random.h"
#include "experiments/data/phrasebook_sentence_maker.h"

namespace regard {

struct Construction {
  absl::string_view name;
  absl::string_view punctuation;
  int weight;  // its share of all sentences, over the sum of all weights
  SentenceMaker (*make)(PhrasebookRandom&);  // without the punctuation
};

}  // namespace regard

#endif  // EXPERIMENTS_DATA_PHRASEBOOK_CONSTRUCTION_H_

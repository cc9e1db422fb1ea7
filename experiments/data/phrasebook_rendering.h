// Says a sketch in both languages, by the patterns of the grammar.
#ifndef EXPERIMENTS_DATA_PHRASEBOOK_RENDERING_H_
#define EXPERIMENTS_DATA_PHRASEBOOK_RENDERING_H_

#include "experiments/data/phrasebook_language.h"
#include "experiments/data/phrasebook_sentence.h"
#include "experiments/data/phrasebook_sketch.h"

namespace regard::phrasebook {

// The views in the sentence are of `language` and its words.
PhrasebookSentence Render(const Sketch& sketch, const Language& language);

}  // namespace regard::phrasebook

#endif  // EXPERIMENTS_DATA_PHRASEBOOK_RENDERING_H_

// Says a sketch in both languages, by the patterns of the grammar.
#ifndef DATA_PHRASEBOOK_PHRASEBOOK_RENDERING_H_
#define DATA_PHRASEBOOK_PHRASEBOOK_RENDERING_H_

#include "data/phrasebook/phrasebook_language.h"
#include "data/phrasebook/phrasebook_sentence.h"
#include "data/phrasebook/phrasebook_sketch.h"

namespace regard::phrasebook {

// The views in the sentence are of `language` and its words.
PhrasebookSentence Render(const Sketch& sketch, const Language& language);

}  // namespace regard::phrasebook

#endif  // DATA_PHRASEBOOK_PHRASEBOOK_RENDERING_H_

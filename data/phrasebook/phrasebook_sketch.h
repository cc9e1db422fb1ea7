// Draws the parts of a sentence that make sense together: only food is eaten,
// only people laugh.
#ifndef DATA_PHRASEBOOK_PHRASEBOOK_SKETCH_H_
#define DATA_PHRASEBOOK_PHRASEBOOK_SKETCH_H_

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "data/phrasebook/phrasebook.pb.h"
#include "data/phrasebook/phrasebook_language.h"
#include "data/phrasebook/phrasebook_noun_phrase.h"
#include "data/phrasebook/phrasebook_random.h"

namespace regard::phrasebook {

// What a sentence is made of, before it is said in either language.
struct Sketch {
  const Construction* construction = nullptr;
  const std::string* english = nullptr;  // texts of patterns
  const std::string* french = nullptr;
  Tense tense = PROGRESSIVE;
  bool negated = false;
  bool question = false;
  const Verb* verb = nullptr;
  const Adjective* adjective = nullptr;
  std::array<std::optional<NounPhrase>, Slot_ARRAYSIZE> phrases;
  std::vector<const Particle*> particles;
};

// Runs the steps of a construction.
Sketch DrawSketch(const Construction& construction, const Language& language,
                  PhrasebookRandom& random);

}  // namespace regard::phrasebook

#endif  // DATA_PHRASEBOOK_PHRASEBOOK_SKETCH_H_

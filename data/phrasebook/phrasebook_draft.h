// A sentence pair in the making: English words first, then French words with
// the English words they are linked to; French spelling rules come last.
#ifndef DATA_PHRASEBOOK_PHRASEBOOK_DRAFT_H_
#define DATA_PHRASEBOOK_PHRASEBOOK_DRAFT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "data/phrasebook/phrasebook_language.h"
#include "data/sentence_pair.h"

namespace regard::phrasebook {

// Positions of English words count from 0.
using Positions = absl::InlinedVector<int, 4>;

class Draft {
 public:
  Draft();

  // Appends English words, spaces between them; returns their positions. Each
  // is known by `label` and as it is written. The draft keeps the views.
  Positions Say(absl::string_view english, absl::string_view label = "");

  // Positions of the English words known by these labels.
  Positions Find(const std::vector<std::string>& labels) const;

  // Appends French words, spaces between them, each linked to all of `sources`.
  void Write(absl::string_view french, const Positions& sources);

  // Chooses between the forms of `x|y`, contracts (`de le`: `du`) and sorts the
  // links. The draft is spent.
  SentencePair Finish(const Language& language);

 private:
  struct FrenchWord {
    std::string text;
    Positions sources;
  };

  struct EnglishWord {
    absl::string_view text;
    absl::string_view label;
  };

  std::vector<EnglishWord> english_;
  std::vector<FrenchWord> french_;
};

}  // namespace regard::phrasebook

#endif  // DATA_PHRASEBOOK_PHRASEBOOK_DRAFT_H_

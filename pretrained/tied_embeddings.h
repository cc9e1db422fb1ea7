// Whether a config.json says that tokens and words share a table.
#ifndef PRETRAINED_TIED_EMBEDDINGS_H_
#define PRETRAINED_TIED_EMBEDDINGS_H_

#include "files/json_file.h"

namespace regard {

// Complains unless the output of words has the embedding of the tokens.
// transformers 4 and 5 disagree on the bias of one that does not.
inline void RequireTiedEmbeddings(const JsonObject& json) {
  constexpr char kTied[] = "tie_word_embeddings";
  if (json.Bool(kTied, true)) return;
  json.Complain(kTied,
                "tie_word_embeddings must be true: the output layer shares the "
                "token embedding");
}

}  // namespace regard

#endif  // PRETRAINED_TIED_EMBEDDINGS_H_

// Requires the output layer of a config.json to share the token embedding.
#ifndef PRETRAINED_TIED_EMBEDDINGS_H_
#define PRETRAINED_TIED_EMBEDDINGS_H_

#include "files/json_file.h"

namespace regard {

// Reports a problem unless the output layer shares the token embedding. If the
// output layer has its own weight, transformers 4 and 5 treat the bias
// differently.
inline void RequireTiedEmbeddings(const JsonObject& json) {
  constexpr char kTied[] = "tie_word_embeddings";
  if (json.Bool(kTied, true)) return;
  json.AddProblem(
      kTied,
      "tie_word_embeddings must be true: the output layer shares the "
      "token embedding");
}

}  // namespace regard

#endif  // PRETRAINED_TIED_EMBEDDINGS_H_

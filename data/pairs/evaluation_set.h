// Sentence pairs to evaluate on.
#ifndef DATA_PAIRS_EVALUATION_SET_H_
#define DATA_PAIRS_EVALUATION_SET_H_

#include <string>
#include <vector>

#include "data/sentence_pair.h"

namespace regard {

// Sentences to evaluate on.
struct EvaluationSet {
  std::vector<SentencePair> pairs = {};
  // The raw text of each target, where translations are compared as raw text;
  // else empty: tokens are compared.
  std::vector<std::string> references = {};
  // Names the set among those of its split ("test.news/bleu"); may be empty.
  std::string name = "";
  // What the names of its metrics end in.
  std::string suffix = "";

  bool empty() const { return pairs.empty(); }
};

}  // namespace regard

#endif  // DATA_PAIRS_EVALUATION_SET_H_

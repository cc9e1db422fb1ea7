// A source sentence, its translation, and which words belong together; sets of
// them to evaluate on.
#ifndef DATA_SENTENCE_PAIR_H_
#define DATA_SENTENCE_PAIR_H_

#include <string>
#include <vector>

namespace regard {

// Target word `target` was made from source word `source`; both count from 0.
struct AlignmentLink {
  int target = 0;
  int source = 0;

  friend bool operator==(const AlignmentLink&, const AlignmentLink&) = default;
  friend auto operator<=>(const AlignmentLink&, const AlignmentLink&) = default;
};

struct SentencePair {
  std::vector<std::string> source;  // tokens, without <bos> and <eos>
  std::vector<std::string> target;
  // Gold links, sorted; empty where the data has none.
  std::vector<AlignmentLink> alignment;
};

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

#endif  // DATA_SENTENCE_PAIR_H_

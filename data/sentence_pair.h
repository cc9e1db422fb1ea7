// A source sentence with its translation and gold alignments, and sets of such
// pairs for evaluation.
#ifndef DATA_SENTENCE_PAIR_H_
#define DATA_SENTENCE_PAIR_H_

#include <string>
#include <vector>

namespace regard {

// Target word `target` is aligned with source word `source`. Both indices start
// at 0.
struct AlignmentLink {
  int target = 0;
  int source = 0;

  friend bool operator==(const AlignmentLink&, const AlignmentLink&) = default;
  friend auto operator<=>(const AlignmentLink&, const AlignmentLink&) = default;
};

struct SentencePair {
  std::vector<std::string> source;  // tokens, without <bos> and <eos>
  std::vector<std::string> target;
  // Gold alignments, sorted. Empty if the data has none.
  std::vector<AlignmentLink> alignment;
};

// The sentence pairs of one evaluation.
struct EvaluationSet {
  std::vector<SentencePair> pairs = {};
  // The raw text of each target, if translations are compared as raw text.
  // Empty if tokens are compared.
  std::vector<std::string> references = {};
  // The name of the set within its split, such as "news" in "test.news/bleu".
  // May be empty.
  std::string name = "";
  // The suffix of the metric names.
  std::string suffix = "";

  bool empty() const { return pairs.empty(); }
};

}  // namespace regard

#endif  // DATA_SENTENCE_PAIR_H_

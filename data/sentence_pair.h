// A source sentence, its translation, and which words belong together.
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

}  // namespace regard

#endif  // DATA_SENTENCE_PAIR_H_

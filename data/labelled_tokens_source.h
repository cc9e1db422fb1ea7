// Labelled sequences of tokens, and the data sources `associative_recall` and
// `parity`, which generate them.
#ifndef DATA_LABELLED_TOKENS_SOURCE_H_
#define DATA_LABELLED_TOKENS_SOURCE_H_

#include <cstdint>
#include <vector>

namespace regard {

inline constexpr int32_t kNoLabel = -1;

struct LabelledSequence {
  std::vector<int32_t> tokens;
  std::vector<int32_t> labels;  // one per token: a token, or kNoLabel
};

struct LabelledTokenSplits {
  static constexpr char kName[] = "labelled tokens";

  int64_t vocabulary = 0;  // number of different tokens
  std::vector<LabelledSequence> train = {};
  std::vector<LabelledSequence> dev = {};   // may be empty
  std::vector<LabelledSequence> test = {};  // may be empty
};

}  // namespace regard

#endif  // DATA_LABELLED_TOKENS_SOURCE_H_

// Texts to learn from and to evaluate on.
#ifndef DATA_TEXT_TEXT_SPLITS_H_
#define DATA_TEXT_TEXT_SPLITS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace regard {

// UTF-8.
struct TextSplits {
  std::string train;
  std::string dev;   // may be empty
  std::string test;  // may be empty
  // The vocabulary that a trained model has kept; empty: that of the text.
  std::string vocabulary = {};
};

// Names the classes' names, one a line, in a run folder.
inline constexpr char kLabelsFile[] = "labels.txt";

// A text, or a pair of texts. UTF-8, without tabs.
struct LabelledText {
  std::string text;
  int32_t label = 0;
  std::optional<std::string> second = std::nullopt;
};

struct LabelledSplits {
  std::vector<LabelledText> train;
  std::vector<LabelledText> dev;   // may be empty
  std::vector<LabelledText> test;  // may be empty
  std::vector<std::string> labels;
  // As of TextSplits.
  std::string vocabulary = {};
  // How a trained model cuts texts, where it has kept that.
  std::string tokens = {};
};

// Two texts, and how near they are in meaning: greater is nearer.
struct ScoredPair {
  std::string first;
  std::string second;
  double score = 0;
};

struct ScoredPairs {
  std::vector<ScoredPair> train;  // may be empty, and so may the others
  std::vector<ScoredPair> dev;
  std::vector<ScoredPair> test;
  // As of TextSplits.
  std::string vocabulary = {};
};

}  // namespace regard

#endif  // DATA_TEXT_TEXT_SPLITS_H_

// The splits of a text, of labelled texts, and of scored pairs of texts.
#ifndef DATA_TEXT_TEXT_SPLITS_H_
#define DATA_TEXT_TEXT_SPLITS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace regard {

// The splits of a text in UTF-8.
struct TextSplits {
  std::string train;
  std::string dev;   // may be empty
  std::string test;  // may be empty
  // The vocabulary that a trained model has stored. Empty if the vocabulary is
  // made from the text.
  std::string vocabulary = {};
};

// The file in a run folder with the names of the classes, one per line.
inline constexpr char kLabelsFile[] = "labels.txt";

// A text or a pair of texts, in UTF-8 and without tabs.
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
  // The vocabulary that a trained model has stored, as in TextSplits.
  std::string vocabulary = {};
  // The tokenizer options of a trained model, if it has stored them.
  std::string tokens = {};
};

// Two texts and their similarity in meaning. A greater value is more similar.
struct ScoredPair {
  std::string first;
  std::string second;
  double score = 0;
};

struct ScoredPairSplits {
  std::vector<ScoredPair> train;  // may be empty, like dev and test
  std::vector<ScoredPair> dev;
  std::vector<ScoredPair> test;
  // The vocabulary that a trained model has stored, as in TextSplits.
  std::string vocabulary = {};
};

}  // namespace regard

#endif  // DATA_TEXT_TEXT_SPLITS_H_

// config.json and the files of the tokeniser of a Hugging Face folder.
#ifndef PRETRAINED_BERT_JSON_H_
#define PRETRAINED_BERT_JSON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/text/wordpiece.h"
#include "language/bert.pb.h"

namespace regard {

// What config.json says.
struct BertDescription {
  BertConfig config;
  int64_t vocabulary = 0;
};

// Errors name all that is wrong, a line "PATH:LINE:COLUMN: error: .." each:
// what is no JSON, sizes that are absent or out of range, and what Bert cannot
// do.
absl::StatusOr<BertDescription> ReadBertConfig(const std::string& path);

// The text of config.json. Without a pooler transformers has to be told so when
// it opens the folder.
std::string BertConfigText(const BertDescription& description);

struct TokenizerDescription {
  WordPieceOptions options;
  // What the tokeniser's "model_max_length" and the like cut at; 0: not said.
  int64_t longest = 0;
  // Of tokenizer.json, in the order of ids; empty if it has none.
  std::vector<std::string> tokens;
};

// Adds what tokenizer.json, then tokenizer_config.json, say: the later wins.
absl::Status ReadTokenizerJson(const std::string& path,
                               TokenizerDescription* description);
absl::Status ReadTokenizerConfig(const std::string& path,
                                 TokenizerDescription* description);

// The text of tokenizer_config.json.
std::string TokenizerConfigText(const WordPieceOptions& options,
                                int64_t longest);

// Where sentence-transformers cuts ("max_seq_length" of
// sentence_bert_config.json); 0: not said.
absl::StatusOr<int64_t> ReadLongestSentence(const std::string& path);

// OK if 1_Pooling/config.json asks for the mean of the tokens.
absl::Status CheckPooling(const std::string& path);

}  // namespace regard

#endif  // PRETRAINED_BERT_JSON_H_

// The Hugging Face format of a BERT: config.json, the files of the tokenizer,
// and the names of the weights.
#ifndef PRETRAINED_BERT_FORMAT_H_
#define PRETRAINED_BERT_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/text/wordpiece.h"
#include "files/file.h"
#include "language/bert.pb.h"
#include "language/text_vectors.h"
#include "pretrained/pretrained_weights.h"

namespace regard {

// The names of the tokenizer's files.
inline constexpr char kTokenizer[] = "tokenizer.json";
inline constexpr char kTokenizerConfig[] = "tokenizer_config.json";

// The head that a model has in addition to the encoder.
enum class BertHead {
  kNone,            // BertModel, and models whose head is ignored
  kFollows,         // BertForNextSentencePrediction: two classes of pairs
  kClasses,         // BertForSequenceClassification
  kWords,           // BertForMaskedLM
  kWordsAndFollows  // BertForPreTraining: masked words and next sentences
};

inline constexpr size_t kBertHeads =
    static_cast<size_t>(BertHead::kWordsAndFollows) + 1;

bool HasClasses(BertHead head);
bool PredictsWords(BertHead head);

// The contents of config.json.
struct BertDescription {
  BertConfig config;
  int64_t vocabulary = 0;
  BertHead head = BertHead::kNone;
  // The names of the classes. At least two if HasClasses().
  std::vector<std::string> classes = {};
  double classifier_dropout = 0;
  // The id of the padding token to write. -1 if there is none.
  int64_t padding = -1;
};

// Reads a config.json. Errors list all problems, each on a line
// "PATH:LINE:COLUMN: error: ..": invalid JSON, sizes that are missing or out of
// range, and features that Bert does not support. Without `words`, the
// pretraining heads for words and next sentences are ignored.
absl::StatusOr<BertDescription> ReadBertConfig(const std::string& path,
                                               bool words = true);
// Parses the text of a config.json. Messages name `path`.
absl::StatusOr<BertDescription> ParseBertConfig(absl::string_view text,
                                                absl::string_view path,
                                                bool words = true);

// Returns the text of a config.json for a model without relative positions. If
// the model has no pooler, users must turn the pooler off in transformers when
// they open the folder.
std::string BertConfigText(const BertDescription& description);

struct TokenizerDescription {
  WordPieceOptions options;
  // The maximum number of tokens, from the tokenizer's "model_max_length" and
  // similar fields. 0 if not set.
  int64_t longest = 0;
  // The tokens of tokenizer.json by id. Empty if the file has no tokens.
  std::vector<std::string> tokens;
  // The name of the file that sets whether text is converted to lower case.
  // Empty if no file sets it.
  std::string lower_case_file;
};

// Reads tokenizer.json, then tokenizer_config.json. Reads
// special_tokens_map.json last if tokenizer_config.json has no
// "added_tokens_decoder", as transformers does. Later files take precedence.
//
// Returns an error for each of these:
// * A "tokenizer_class" in these files or in config.json that is not a BERT
//   tokenizer, unless a tokenizer.json specifies the same behaviour.
// * Added tokens, in these files or in added_tokens.json, that are not special
//   tokens of `options`.
// * Features that WordPiece does not support.
absl::StatusOr<TokenizerDescription> ReadTokenizerFiles(
    const std::string& folder);

// Returns the text of tokenizer_config.json. `longest` 0 means no limit.
std::string TokenizerConfigText(const WordPiece& pieces, int64_t longest);

// The contents of the sentence-transformers files.
struct SentenceTransformersSettings {
  // The maximum number of tokens of a text ("max_seq_length" of
  // sentence_bert_config.json). 0 if not set.
  int64_t longest = 0;
  // The options in 1_Pooling/config.json and modules.json. Vectors are not
  // normalized if modules.json exists without a Normalize module.
  VectorOptions vectors;
  // Messages for the user about settings that Regard computes differently.
  std::vector<std::string> notes = {};
};

// Reads the files that exist. Returns an error for these settings, which are
// not supported:
//
// * another pooling or module,
// * a prompt,
// * lower-casing, if the tokenizer keeps upper case.
absl::StatusOr<SentenceTransformersSettings> ReadSentenceFiles(
    const std::string& folder, bool lower_case);

// Writes the files into `folder`. `width` is the width of the encoder.
absl::Status WriteSentenceFiles(const SentenceTransformersSettings& sentence,
                                int64_t width, const std::string& folder,
                                FileOperations& files);

// Returns the table of tensor names for a Bert with the given head of a
// TextClassifier or a MaskedWordModel. The embedding tables of the model may
// have fewer than description.vocabulary rows.
WeightTable BertWeights(const BertDescription& description, BertHead head);

}  // namespace regard

#endif  // PRETRAINED_BERT_FORMAT_H_

// What Hugging Face's files of a BERT say: config.json, the files of the
// tokeniser, and the names of the weights.
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

// The files of the tokeniser.
inline constexpr char kTokenizer[] = "tokenizer.json";
inline constexpr char kTokenizerConfig[] = "tokenizer_config.json";

// What a model has besides the encoder.
enum class BertHead {
  kNone,            // BertModel, and models whose head is not read
  kFollows,         // BertForNextSentencePrediction: two classes of pairs
  kClasses,         // BertForSequenceClassification
  kWords,           // BertForMaskedLM
  kWordsAndFollows  // BertForPreTraining: next sentences, too
};

inline constexpr size_t kBertHeads =
    static_cast<size_t>(BertHead::kWordsAndFollows) + 1;

bool HasClasses(BertHead head);
bool PredictsWords(BertHead head);

// What config.json says.
struct BertDescription {
  BertConfig config;
  int64_t vocabulary = 0;
  BertHead head = BertHead::kNone;
  // If HasClasses(), two or more.
  std::vector<std::string> classes = {};
  double classifier_dropout = 0;
  // The id of the padding token, written only; -1 if there is none.
  int64_t padding = -1;
};

// Errors name all that is wrong, a line "PATH:LINE:COLUMN: error: .." each:
// what is no JSON, sizes that are absent or out of range, and what Bert cannot
// do. Without `words`, the heads that were pretrained, of words and of next
// sentences, are passed over.
absl::StatusOr<BertDescription> ReadBertConfig(const std::string& path,
                                               bool words = true);
// The same of a text, whose messages name `path`.
absl::StatusOr<BertDescription> ParseBertConfig(absl::string_view text,
                                                absl::string_view path,
                                                bool words = true);

// Of a model without relative positions. Without a pooler, transformers has to
// be told so when it opens the folder.
std::string BertConfigText(const BertDescription& description);

struct TokenizerDescription {
  WordPieceOptions options;
  // What the tokeniser's "model_max_length" and the like cut at; 0: not said.
  int64_t longest = 0;
  // Of tokenizer.json, in the order of ids; empty if it has none.
  std::vector<std::string> tokens;
  // The name of the file that says whether upper case becomes lower case; empty
  // if none does.
  std::string lower_case_file;
};

// Reads tokenizer.json, tokenizer_config.json and, as transformers does where
// that has no "added_tokens_decoder", special_tokens_map.json, if there: the
// later wins. A "tokenizer_class", which config.json may have as well, that is
// not one of BERT's is an error, unless a tokenizer.json says the same. Added
// tokens besides the special ones of `options`, which no run would know, are an
// error, be they in these files or in added_tokens.json; so is what WordPiece
// does not do.
absl::StatusOr<TokenizerDescription> ReadTokenizerFiles(
    const std::string& folder);

// `longest` 0: not said.
std::string TokenizerConfigText(const WordPiece& pieces, int64_t longest);

// What the files of sentence-transformers say.
struct SentenceFiles {
  // Where texts are cut ("max_seq_length" of sentence_bert_config.json); 0: not
  // said.
  int64_t longest = 0;
  // Of 1_Pooling/config.json and, where it is there, modules.json: vectors are
  // not normalized if that has no Normalize.
  VectorOptions vectors;
  // Complete to print: what they ask for and is computed otherwise.
  std::vector<std::string> notes = {};
};

// Reads them where they are there. What else they ask for is an error: another
// pooling or module, a prompt, or lower case of a tokeniser without
// `lower_case`.
absl::StatusOr<SentenceFiles> ReadSentenceFiles(const std::string& folder,
                                                bool lower_case);

// Writes them for an encoder of `width` whose files are in the folder itself.
absl::Status WriteSentenceFiles(const SentenceFiles& sentence, int64_t width,
                                const std::string& folder,
                                FileOperations& files);

// Where the parameters of a Bert are, and those of `head`, of a TextClassifier
// or a MaskedWordModel. A table of description.vocabulary rows may have fewer
// in the model.
WeightTable BertWeights(const BertDescription& description, BertHead head);

}  // namespace regard

#endif  // PRETRAINED_BERT_FORMAT_H_

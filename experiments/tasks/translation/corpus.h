// Sentence pairs from a tab-separated text file, `english<TAB>french`, prepared
// as the textbooks prepare them.
#ifndef EXPERIMENTS_TASKS_TRANSLATION_CORPUS_H_
#define EXPERIMENTS_TASKS_TRANSLATION_CORPUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "seq2seq/sentence_pair.h"

namespace regard {

struct Corpus {
  std::vector<SentencePair> pairs;
  std::string sha256;  // of the whole file
};

struct CorpusOptions {
  // Columns of the file, from 0; others (attributions) are passed over.
  int source_column = 0;
  int target_column = 1;
  // Reading stops after this many pairs; 0 reads all. An edition that keeps
  // the lines "with index <= 600" keeps 601 pairs.
  int64_t max_pairs = 0;
  // Pairs with a side of more tokens are left out, and do not count as pairs;
  // 0 keeps all.
  int64_t max_tokens = 0;
};

// No-break spaces (U+00A0, U+202F) become spaces, letters lower-case, and a
// space goes before each of , . ! ? that follows something else. The result is
// in Unicode's composed form (NFC), so a letter and its accent give the same
// token however they were typed. `text` must be UTF-8.
std::string PrepareText(absl::string_view text);

// The words of prepared text: what stands between spaces.
std::vector<std::string> SplitTokens(absl::string_view text);

// Reads pairs in the order of the file. Blank lines are passed over, a byte
// order mark and carriage returns at the ends of lines dropped.
//
// Errors say path:line:column (columns count bytes, from 1): a missing column,
// an empty side, a NUL, bytes that are not UTF-8, a line over 64 KiB, a file
// without pairs. A file that is not there gets a message about where corpora
// come from.
absl::StatusOr<Corpus> ReadCorpus(const std::string& path,
                                  const CorpusOptions& options);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_TRANSLATION_CORPUS_H_

// Makes subword models by sentencepiece's own trainer, the program spm_train.
#ifndef DATA_TEXT_SUBWORD_TRAINER_H_
#define DATA_TEXT_SUBWORD_TRAINER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/text/subwords.pb.h"

namespace regard {

class SubwordTrainer {
 public:
  // Reads those of the options that are on training.
  explicit SubwordTrainer(const SubwordsConfig& options) : options_(options) {}

  // `sentence` is UTF-8 without line breaks, at most 64 KiB.
  void Add(absl::string_view sentence);

  // The bytes of the model file: a function of the options and the sentences.
  // An error says what spm_train did, such as that the text is too short for
  // so many pieces.
  //
  // The files are in a temporary folder, which is gone at the end. SIGINT and
  // SIGTERM that arrive meanwhile at a program of one thread end spm_train and
  // are delivered once the folder is gone; a program that survives them gets a
  // Cancelled.
  absl::StatusOr<std::string> Train() const;

 private:
  SubwordsConfig options_;
  std::string sentences_;  // a line each
  bool is_empty_ = true;   // no sentence has a word
};

}  // namespace regard

#endif  // DATA_TEXT_SUBWORD_TRAINER_H_

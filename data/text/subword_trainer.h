// Makes subword models by sentencepiece's own trainer, the program spm_train.
#ifndef DATA_TEXT_SUBWORD_TRAINER_H_
#define DATA_TEXT_SUBWORD_TRAINER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace regard {

class SubwordsConfig;

// The bytes of the model file: a function of the options on training and of the
// sentences, a line each, of UTF-8 and at most 64 KiB. An error says what
// spm_train did, such as that the text is too short for so many pieces.
//
// The files are in a temporary folder, which is gone at the end. SIGINT and
// SIGTERM that arrive meanwhile at a program of one thread end spm_train and
// are delivered once the folder is gone; a program that survives them gets a
// Cancelled.
absl::StatusOr<std::string> TrainSubwords(const SubwordsConfig& options,
                                          absl::string_view sentences);

}  // namespace regard

#endif  // DATA_TEXT_SUBWORD_TRAINER_H_

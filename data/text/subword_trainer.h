// Trains subword models with sentencepiece's own program, spm_train.
#ifndef DATA_TEXT_SUBWORD_TRAINER_H_
#define DATA_TEXT_SUBWORD_TRAINER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace regard {

class SubwordsConfig;

// Returns the bytes of the model file, which depend only on the training
// options and the sentences. `sentences` must be UTF-8, one sentence per line
// of at most 64 KiB. Errors contain the message of spm_train, for example that
// the text is too short for so many pieces.
//
// The files are in a temporary folder, which is removed at the end. If the
// calling process has one thread, SIGINT and SIGTERM end spm_train. The calling
// process receives the signal after the folder is removed. If it survives the
// signal, the function returns Cancelled.
absl::StatusOr<std::string> TrainSubwords(const SubwordsConfig& options,
                                          absl::string_view sentences);

}  // namespace regard

#endif  // DATA_TEXT_SUBWORD_TRAINER_H_

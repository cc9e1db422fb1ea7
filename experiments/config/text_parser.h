// Reads values from text by protobuf's parser: the one file that knows which
// release of protobuf this is.
#ifndef EXPERIMENTS_CONFIG_TEXT_PARSER_H_
#define EXPERIMENTS_CONFIG_TEXT_PARSER_H_

#include <optional>
#include <string>

#include "experiments/config/config_text.h"
#include "google/protobuf/message.h"

namespace regard {

// Reads `text`, which text_checker.h has found nothing wrong with, into the
// cleared `message`. Required fields may be missing. Returns what protobuf
// refuses all the same, if anything.
std::optional<TextProblem> ParseText(const std::string& text,
                                     google::protobuf::Message* message);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_TEXT_PARSER_H_

// Converts the WordPiece options of a config (wordpiece.proto).
#ifndef DATA_TEXT_WORDPIECE_CONFIG_H_
#define DATA_TEXT_WORDPIECE_CONFIG_H_

#include "data/text/wordpiece.h"
#include "options/config_problems.h"

namespace regard {

class WordPieceConfig;

WordPieceOptions TokenOptions(const WordPieceConfig& config);
// The inverse of TokenOptions().
WordPieceConfig ToTokenConfig(const WordPieceOptions& options);

// Adds problems at paths relative to `config`.
void ValidateTokens(const WordPieceConfig& config, ConfigProblems& problems);

}  // namespace regard

#endif  // DATA_TEXT_WORDPIECE_CONFIG_H_

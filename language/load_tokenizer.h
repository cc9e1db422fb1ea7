// Reads the tokenizer of a language model before training.
#ifndef LANGUAGE_LOAD_TOKENIZER_H_
#define LANGUAGE_LOAD_TOKENIZER_H_

#include <map>
#include <string>

#include "data/text/text_splits.h"
#include "language/language_model.pb.h"

namespace regard {

struct TokenizerLoadReport {
  LanguageModelConfig config;
  std::string digest = {};  // SHA-256 of the tokenizer; empty if none was read
  // Messages about invalid fields of config.tokens(), by the name of the field.
  std::map<std::string, std::string> problems = {};
};

// Reads the tokenizer of `config` into text->vocabulary. Does nothing if the
// unit is not BYTE_PAIRS, or if text->vocabulary is not empty. If there is a
// problem, the unit of the returned config is CHARACTERS, so that a model can
// still be constructed.
TokenizerLoadReport LoadTokenizer(const LanguageModelConfig& config,
                                  TextSplits* text);

}  // namespace regard

#endif  // LANGUAGE_LOAD_TOKENIZER_H_

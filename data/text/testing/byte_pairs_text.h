// A small tokenizer.json for tests.
#ifndef DATA_TEXT_TESTING_BYTE_PAIRS_TEXT_H_
#define DATA_TEXT_TESTING_BYTE_PAIRS_TEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "data/text/byte_level.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"

namespace regard {

// Returns the text of a tokenizer.json. The first ids are the bytes, followed
// by the results of `merges` in their order. The last id is <|endoftext|>.
inline std::string BytePairsText(
    const std::vector<std::pair<std::string, std::string>>& merges) {
  using Json = nlohmann::ordered_json;
  constexpr int kBytes = 256;
  Json vocabulary = Json::object();
  for (int byte = 0; byte < kBytes; ++byte) {
    vocabulary[SpellBytes(std::string(1, static_cast<char>(byte)))] = byte;
  }
  Json joins = Json::array();
  for (const auto& [left, right] : merges) {
    vocabulary[SpellBytes(left + right)] = vocabulary.size();
    joins.push_back({SpellBytes(left), SpellBytes(right)});
  }
  const std::string end = "<|endoftext|>";
  const size_t last = vocabulary.size();
  vocabulary[end] = last;
  const Json added = {{"id", last},           {"content", end},
                      {"single_word", false}, {"lstrip", false},
                      {"rstrip", false},      {"normalized", false},
                      {"special", true}};
  return JsonText(
      {{"version", "1.0"},
       {"added_tokens", Json::array({added})},
       {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
       {"decoder", {{"type", "ByteLevel"}}},
       {"model",
        {{"type", "BPE"},
         {"vocab", std::move(vocabulary)},
         {"merges", std::move(joins)}}}});
}

}  // namespace regard

#endif  // DATA_TEXT_TESTING_BYTE_PAIRS_TEXT_H_

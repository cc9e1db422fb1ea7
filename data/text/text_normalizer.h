// The text normalization of a sentencepiece model: replaces characters
// according to a compiled map, and white space with U+2581.
#ifndef DATA_TEXT_TEXT_NORMALIZER_H_
#define DATA_TEXT_TEXT_NORMALIZER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/text/sentencepiece.pb.h"

namespace regard {

// U+2581, which represents a space in pieces.
inline constexpr absl::string_view kSpaceSymbol = "\xe2\x96\x81";

class TextNormalizer {
 public:
  // Returns an error if the compiled map is damaged, or contains a replacement
  // of more than 128 bytes.
  static absl::StatusOr<TextNormalizer> Create(
      const sentencepiece::NormalizerSpec& spec);

  // Normalizes a text. Bytes that are not UTF-8 become U+FFFD. `kept` is called
  // at positions of the text, and returns how many of the next bytes stay
  // unchanged.
  std::string Normalize(
      absl::string_view text,
      absl::FunctionRef<size_t(absl::string_view)> kept) const;

 private:
  // A replacement for the beginning of a text.
  struct Prefix {
    size_t bytes;              // number of replaced bytes
    absl::string_view result;  // part of the text or of replacements_
  };

  TextNormalizer() = default;

  // Returns the replacement of the longest beginning of `text` that the map
  // contains. If there is none, returns the first character unchanged. `text`
  // must not be empty.
  Prefix NormalizePrefix(absl::string_view text) const;

  // The units of a double-array trie in the layout of Darts-clone.
  std::vector<uint32_t> trie_;
  std::string replacements_;
  bool add_space_in_front_ = true;
  bool remove_extra_spaces_ = true;
  bool escape_spaces_ = true;
};

}  // namespace regard

#endif  // DATA_TEXT_TEXT_NORMALIZER_H_

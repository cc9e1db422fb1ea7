// The text normalisation that a sentencepiece model carries: replacement of
// characters by a compiled map, and white space as U+2581.
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

// U+2581, which stands for a space in pieces.
inline constexpr absl::string_view kSpaceSymbol = "\xe2\x96\x81";

class TextNormalizer {
 public:
  // An error if the compiled map is damaged or has a replacement of more than
  // 128 bytes.
  static absl::StatusOr<TextNormalizer> Create(
      const sentencepiece::NormalizerSpec& spec);

  // Bytes that are not UTF-8 become U+FFFD. What `kept` finds at the beginning
  // of a rest of the text, so many bytes, stays as it is.
  std::string Normalize(
      absl::string_view text,
      absl::FunctionRef<size_t(absl::string_view)> kept) const;

 private:
  // A replacement of the beginning of a text.
  struct Prefix {
    size_t bytes;              // that are replaced
    absl::string_view result;  // a piece of the text or of replacements_
  };

  TextNormalizer() = default;

  // The longest one that the map knows, else the first character as it is.
  // `text` is not empty.
  Prefix NormalizePrefix(absl::string_view text) const;

  // Units of a double-array trie as Darts-clone lays them out.
  std::vector<uint32_t> trie_;
  std::string replacements_;
  bool add_space_in_front_ = true;
  bool remove_extra_spaces_ = true;
  bool escape_spaces_ = true;
};

}  // namespace regard

#endif  // DATA_TEXT_TEXT_NORMALIZER_H_

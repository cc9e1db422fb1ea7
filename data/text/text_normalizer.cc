#include "data/text/text_normalizer.h"

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "files/utf8.h"

namespace regard {

namespace {

constexpr absl::string_view kReplacementCharacter = "\xef\xbf\xbd";

// The largest size of a replacement of a character. The longest replacement of
// NFKC has 33 bytes, for U+FDFA.
constexpr size_t kMaxReplacementBytes = 128;

// The fields of a trie unit (Darts-clone, Yata).
bool HasLeaf(uint32_t unit) { return ((unit >> 8) & 1) == 1; }
uint32_t Value(uint32_t unit) { return unit & ((1U << 31) - 1); }
uint32_t Label(uint32_t unit) { return unit & ((1U << 31) | 0xFF); }
uint32_t Offset(uint32_t unit) {
  return (unit >> 10) << ((unit & (1U << 9)) >> 6);
}

}  // namespace

absl::StatusOr<TextNormalizer> TextNormalizer::Create(
    const sentencepiece::NormalizerSpec& spec) {
  TextNormalizer normalizer;
  normalizer.add_space_in_front_ = spec.add_dummy_prefix();
  normalizer.remove_extra_spaces_ = spec.remove_extra_whitespaces();
  normalizer.escape_spaces_ = spec.escape_whitespaces();
  const std::string& map = spec.precompiled_charsmap();
  if (map.empty()) return normalizer;
  uint32_t bytes = 0;
  if (map.size() > sizeof(bytes)) std::memcpy(&bytes, map.data(), sizeof bytes);
  if (bytes == 0 || bytes % sizeof(uint32_t) != 0 ||
      bytes >= map.size() - sizeof(bytes) || map.back() != '\0') {
    return absl::InvalidArgumentError(
        "the character map (precompiled_charsmap) of the model file is "
        "malformed; copy the file or train the model again");
  }
  normalizer.trie_.resize(bytes / sizeof(uint32_t));
  std::memcpy(normalizer.trie_.data(), map.data() + sizeof(bytes), bytes);
  normalizer.replacements_ = map.substr(sizeof(bytes) + bytes);
  for (const absl::string_view replacement :
       absl::StrSplit(normalizer.replacements_, '\0')) {
    if (replacement.size() > kMaxReplacementBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the character map has a replacement of ", replacement.size(),
          " bytes; at most ", kMaxReplacementBytes, " are allowed"));
    }
  }
  return normalizer;
}

TextNormalizer::Prefix TextNormalizer::NormalizePrefix(
    absl::string_view text) const {
  size_t longest = 0;
  uint32_t value = 0;
  const auto size = static_cast<uint32_t>(trie_.size());
  // Checks every index, because the trie comes from a file.
  uint32_t node = size == 0 ? 0 : Offset(trie_[0]);
  for (size_t i = 0; i < text.size() && size > 0; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    node ^= byte;
    if (node >= size || Label(trie_[node]) != byte) break;
    const uint32_t unit = trie_[node];
    node ^= Offset(unit);
    if (node >= size) break;
    if (HasLeaf(unit)) {
      longest = i + 1;
      value = Value(trie_[node]);
    }
  }
  if (longest > 0 && value < replacements_.size()) {
    return {longest, replacements_.c_str() + value};
  }
  const Character first = FirstCharacter(text);
  if (first.code_point == U'\uFFFD') {
    return {first.bytes.size(), kReplacementCharacter};
  }
  return {first.bytes.size(), text.substr(0, first.bytes.size())};
}

std::string TextNormalizer::Normalize(
    absl::string_view text,
    absl::FunctionRef<size_t(absl::string_view)> kept) const {
  const auto prefix_of = [&](absl::string_view rest) -> Prefix {
    const size_t bytes = kept(rest);
    return bytes > 0 ? Prefix{bytes, rest.substr(0, bytes)}
                     : NormalizePrefix(rest);
  };
  if (remove_extra_spaces_) {
    while (!text.empty()) {
      const Prefix prefix = prefix_of(text);
      if (prefix.result != " ") break;
      text.remove_prefix(prefix.bytes);
    }
  }
  if (text.empty()) return "";
  const absl::string_view space = escape_spaces_ ? kSpaceSymbol : " ";
  std::string normal;
  normal.reserve(text.size() * 2);
  if (add_space_in_front_) normal.append(space.data(), space.size());
  bool after_space = remove_extra_spaces_;
  while (!text.empty()) {
    const Prefix prefix = prefix_of(text);
    text.remove_prefix(prefix.bytes);
    absl::string_view result = prefix.result;
    while (after_space && absl::ConsumePrefix(&result, " ")) {
    }
    if (result.empty()) continue;
    for (const char c : result) {
      if (c == ' ') {
        normal.append(space.data(), space.size());
      } else {
        normal.push_back(c);
      }
    }
    after_space = remove_extra_spaces_ && absl::EndsWith(result, " ");
  }
  if (remove_extra_spaces_) {
    while (absl::EndsWith(normal, space)) {
      normal.erase(normal.size() - space.size());
    }
  }
  return normal;
}

}  // namespace regard

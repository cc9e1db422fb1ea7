// Converts numbers to text that reads back exactly.
#ifndef FILES_NUMBER_TEXT_H_
#define FILES_NUMBER_TEXT_H_

#include <array>
#include <charconv>
#include <concepts>
#include <string>

namespace regard {

// Returns the shortest decimal text that reads back as the same `number`:
// "0.1", "1234568.125", "1e+30". absl::StrCat() writes only six digits, which
// may read back as another number.
template <std::floating_point Number>
std::string NumberText(Number number) {
  std::array<char, 32> text;
  const std::to_chars_result end =
      std::to_chars(text.data(), text.data() + text.size(), number);
  return std::string(text.data(), end.ptr);
}

}  // namespace regard

#endif  // FILES_NUMBER_TEXT_H_

// Converts values to bytes, for ranks to exchange. The bytes are copies of
// memory, because all ranks run the same program on machines of the same kind.
//
// Supports numbers, structs of numbers without pointers, strings, vectors and
// pairs of supported values, and types that list their members:
//
//   auto members() { return std::tie(ids, score); }
#ifndef OPTIMIZATION_RANKS_VALUE_BYTES_H_
#define OPTIMIZATION_RANKS_VALUE_BYTES_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace value_bytes {

template <typename T>
inline constexpr bool kIsSequence = false;
template <>
inline constexpr bool kIsSequence<std::string> = true;
template <typename T>
inline constexpr bool kIsSequence<std::vector<T>> = true;

template <typename T>
auto Members(T& value) -> decltype(value.members()) {
  return value.members();
}
template <typename A, typename B>
auto Members(std::pair<A, B>& value) {
  return std::tie(value.first, value.second);
}

template <typename T, typename = void>
inline constexpr bool kHasMembers = false;
template <typename T>
inline constexpr bool
    kHasMembers<T, std::void_t<decltype(Members(std::declval<T&>()))>> = true;

// Whether T can be copied as one piece of memory.
template <typename T>
inline constexpr bool kIsPlain =
    std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !kHasMembers<T>;

}  // namespace value_bytes

template <typename T>
void AppendBytes(const T& value, std::string* bytes) {
  const auto copy_bytes = [&](const auto* first, size_t count) {
    bytes->append(reinterpret_cast<const char*>(first), count * sizeof *first);
  };
  if constexpr (value_bytes::kHasMembers<T>) {
    std::apply(
        [&](const auto&... member) { (AppendBytes(member, bytes), ...); },
        value_bytes::Members(const_cast<T&>(value)));
  } else if constexpr (value_bytes::kIsSequence<T>) {
    AppendBytes<uint64_t>(value.size(), bytes);
    if constexpr (value_bytes::kIsPlain<typename T::value_type>) {
      copy_bytes(value.data(), value.size());
    } else {
      for (const auto& element : value) AppendBytes(element, bytes);
    }
  } else {
    static_assert(value_bytes::kIsPlain<T>,
                  "say what it is made of by members(), see value_bytes.h");
    copy_bytes(&value, 1);
  }
}

// Sets `value` to the first value in `bytes`, and removes it from `bytes`.
// Bytes that were not made by AppendBytes() fail a check.
template <typename T>
void TakeBytes(absl::string_view* bytes, T* value) {
  const auto copy_bytes = [&](auto* first, size_t count) {
    REGARD_CHECK_LE(count, bytes->size() / sizeof *first);
    if (count == 0) return;
    std::memcpy(first, bytes->data(), count * sizeof *first);
    bytes->remove_prefix(count * sizeof *first);
  };
  if constexpr (value_bytes::kHasMembers<T>) {
    std::apply([&](auto&... member) { (TakeBytes(bytes, &member), ...); },
               value_bytes::Members(*value));
  } else if constexpr (value_bytes::kIsSequence<T>) {
    uint64_t size = 0;
    TakeBytes(bytes, &size);
    REGARD_CHECK_LE(size, bytes->size());
    value->resize(size);
    if constexpr (value_bytes::kIsPlain<typename T::value_type>) {
      copy_bytes(value->data(), value->size());
    } else {
      for (auto& element : *value) TakeBytes(bytes, &element);
    }
  } else {
    static_assert(value_bytes::kIsPlain<T>);
    copy_bytes(value, 1);
  }
}

}  // namespace regard

#endif  // OPTIMIZATION_RANKS_VALUE_BYTES_H_

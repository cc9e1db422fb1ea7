// The ids of the tokens with which every vocabulary begins.
#ifndef DATA_TEXT_RESERVED_IDS_H_
#define DATA_TEXT_RESERVED_IDS_H_

#include <cstdint>

namespace regard {

struct ReservedIds {
  static constexpr int32_t kUnknown = 0;
  static constexpr int32_t kPad = 1;
  static constexpr int32_t kBegin = 2;
  static constexpr int32_t kEnd = 3;
  static constexpr int32_t kReserved = 4;  // the number of reserved ids
};

}  // namespace regard

#endif  // DATA_TEXT_RESERVED_IDS_H_

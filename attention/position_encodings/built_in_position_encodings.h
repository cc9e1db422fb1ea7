// The position encodings that every program knows.
#ifndef ATTENTION_POSITION_ENCODINGS_BUILT_IN_POSITION_ENCODINGS_H_
#define ATTENTION_POSITION_ENCODINGS_BUILT_IN_POSITION_ENCODINGS_H_

#include "attention/position_encoding.h"

namespace regard {

void RegisterBuiltInPositionEncodings(PositionEncodingRegistry& encodings);

}  // namespace regard

#endif  // ATTENTION_POSITION_ENCODINGS_BUILT_IN_POSITION_ENCODINGS_H_

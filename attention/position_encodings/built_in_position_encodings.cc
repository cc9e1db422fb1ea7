#include "attention/position_encodings/built_in_position_encodings.h"

namespace regard {

void RegisterAlibi(PositionEncodingRegistry& encodings);
void RegisterRelativeBuckets(PositionEncodingRegistry& encodings);
void RegisterRotary(PositionEncodingRegistry& encodings);

void RegisterBuiltInPositionEncodings(PositionEncodingRegistry& encodings) {
  RegisterAlibi(encodings);
  RegisterRelativeBuckets(encodings);
  RegisterRotary(encodings);
}

}  // namespace regard

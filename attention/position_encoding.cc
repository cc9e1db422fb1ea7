#include "attention/position_encoding.h"

namespace regard {

PositionEncodingRegistry::PositionEncodingRegistry()
    : OptionRegistry(
          PositionEncodingConfig::descriptor()->FindOneofByName("encoding"),
          "rotary {}") {}

}  // namespace regard

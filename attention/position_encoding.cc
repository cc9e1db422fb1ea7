#include "attention/position_encoding.h"

#include "attention/position_encodings/position_encoding.pb.h"

namespace regard {

PositionEncodingRegistry::PositionEncodingRegistry()
    : PluginRegistry("encoding", "rotary {}") {}

}  // namespace regard

// A position encoding that leaves scores unchanged.
#include "attention/position_encoding.h"
#include "attention/position_encodings/position_encoding.pb.h"

namespace regard {

template <typename T>
class NoPositions : public PositionEncoding<T> {
 public:
  using Options = NoPositionEncoding;

  NoPositions(const Options&, ParameterScope<T>, const ScoreWidths&) {}

  bool IsOnlyBias() const override { return true; }
};

REGARD_POSITION_ENCODING(NoPositions, "score")

}  // namespace regard

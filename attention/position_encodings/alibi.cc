// Attention with linear biases (ALiBi): subtracts the distance between query
// and key, times a slope for each head, from each score. Press, Smith and
// Lewis, "Train short, test long", 2022.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "attention/position_encoding.h"
#include "attention/position_encodings/position_encoding.pb.h"

namespace regard {

template <typename T>
class Alibi : public PositionEncoding<T> {
 public:
  using Options = AlibiEncoding;

  Alibi(const Options&, ParameterScope<T>, const ScoreWidths& widths) {
    const auto power = static_cast<int64_t>(
        std::bit_floor(static_cast<uint64_t>(widths.heads)));
    const auto slope = [](int64_t i, int64_t heads) {
      return static_cast<T>(std::exp2(-8.0 * static_cast<double>(i) /
                                      static_cast<double>(heads)));
    };
    for (int64_t i = 1; i <= power; ++i) slopes_.push_back(slope(i, power));
    for (int64_t i = 1; i <= widths.heads - power; ++i) {
      slopes_.push_back(slope(2 * i - 1, 2 * power));
    }
  }

  bool IsOnlyBias() const override { return true; }

  Var<T> Bias(Forward<T>& forward, int64_t lowest,
              int64_t count) const override {
    Var<T> bias =
        forward.tape().Constant({static_cast<int64_t>(slopes_.size()), count});
    for (int64_t i = 0; i < bias.size(); ++i) {
      bias.data()[i] =
          -slopes_[i / count] * static_cast<T>(std::abs(lowest + i % count));
    }
    return bias;
  }

 private:
  std::vector<T> slopes_;
};

REGARD_POSITION_ENCODING(Alibi, "score - slope |distance|")

}  // namespace regard

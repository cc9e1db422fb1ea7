// T5's relative position bias: a learned number for each head and each range of
// distances. Raffel et al., "Exploring the limits of transfer learning with a
// unified text-to-text transformer", 2020.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "attention/position_encoding.h"
#include "attention/position_encodings/position_encoding.pb.h"
#include "autodiff/ops/gather.h"
#include "nn/initializers.h"

namespace regard {

template <typename T>
class RelativeBuckets : public PositionEncoding<T> {
 public:
  using Options = RelativeBucketsEncoding;

  RelativeBuckets(const Options& options, ParameterScope<T> scope,
                  const ScoreWidths& widths)
      : buckets_(options.buckets()),
        max_distance_(options.max_distance()),
        bidirectional_(options.bidirectional()),
        bias_(scope.Add("bias", {widths.heads, options.buckets()}, Zeros(),
                        {.role = ParameterRole::kEmbedding})) {}

  static void Validate(const Options& options, const ScoreWidths&,
                       ConfigProblems& problems) {
    const int64_t directions = options.bidirectional() ? 2 : 1;
    problems.RequireInRange("buckets", options.buckets(), 2 * directions,
                            65536);
    if (options.buckets() % directions != 0) {
      problems.Add("buckets",
                   "must be even: half of them are for keys after the query");
    }
    problems.RequireInRange("max_distance", options.max_distance(),
                            options.buckets() / directions / 2 + 1, 1 << 30);
  }

  bool IsOnlyBias() const override { return true; }

  Var<T> Bias(Forward<T>& forward, int64_t lowest,
              int64_t count) const override {
    ScratchScope<T> scratch(forward.tape());
    auto* const bucket = forward.tape().scratch().template New<int32_t>(count);
    for (int64_t i = 0; i < count; ++i) bucket[i] = Bucket(lowest + i);
    return GatherColumns(forward[bias_], {bucket, static_cast<size_t>(count)});
  }

 private:
  // Returns the bucket of a distance (key position - query position), like the
  // authors' function _relative_position_bucket().
  int32_t Bucket(int64_t distance) const {
    int64_t buckets = buckets_;
    int64_t bucket = 0;
    if (bidirectional_) {
      buckets /= 2;
      if (distance > 0) bucket = buckets;
      distance = std::abs(distance);
    } else {
      distance = std::max<int64_t>(-distance, 0);
    }
    const int64_t exact = buckets / 2;
    if (distance < exact) return static_cast<int32_t>(bucket + distance);
    const double beyond =
        std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
        std::log(static_cast<double>(max_distance_) /
                 static_cast<double>(exact));
    const auto shared =
        exact +
        static_cast<int64_t>(beyond * static_cast<double>(buckets - exact));
    return static_cast<int32_t>(bucket + std::min(shared, buckets - 1));
  }

  int64_t buckets_;
  int64_t max_distance_;
  bool bidirectional_;
  Parameter<T> bias_;
};

REGARD_POSITION_ENCODING(RelativeBuckets, "score + bias[bucket(distance)]")

}  // namespace regard

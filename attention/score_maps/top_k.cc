// Keeps the k largest scores of each query and masks the other scores:
//
//   score_i if score_i is among the k largest of the row, else -inf.
//
// Zhao et al., "Explicit sparse Transformer", 2019; Gupta et al.,
// "Memory-efficient Transformers via top-k attention", 2021. Among equal
// scores, earlier keys are kept. If a query has at most k unmasked keys, its
// scores do not change, as in plain attention.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "attention/mask.h"
#include "attention/score_map.h"
#include "attention/score_maps/score_map.pb.h"
#include "autodiff/tape.h"

namespace regard {

template <typename T>
class TopK : public ScoreMap<T> {
 public:
  using Options = TopKMap;
  static constexpr bool kMixesKeys = true;
  static constexpr bool kOnlyScores = true;

  TopK(const Options& options, ParameterScope<T>, const ScoreWidths&)
      : most_(options.keys()) {}

  // Only scores that are kept get a gradient. The map ignores masked scores and
  // copies them unchanged.
  Var<T> Map(Forward<T>& forward, Var<T> x,
             const ScoreInputs<T>& in) const override {
    if (x.dim(3) <= most_) return x;
    Tape<T>& tape = forward.tape();
    const Shape& s = x.shape();
    const MaskReader reader(in.mask, in.positions, s[0], s[2], s[3]);
    Var<T> y = tape.NewLike(x, x.needs_grad());
    std::copy_n(x.data(), x.size(), y.data());
    const ScratchScope<T> scratch(tape);
    auto* const seen = tape.scratch().template New<int32_t>(s[3]);
    for (int64_t row = 0; row < s[0] * s[1] * s[2]; ++row) {
      const VisibleKeys visible = reader(row / (s[1] * s[2]), row % s[2]);
      int64_t size = 0;
      for (int64_t k = visible.begin; k < visible.end; ++k) {
        if (visible(k)) seen[size++] = static_cast<int32_t>(k);
      }
      MaskRest(y.data() + row * s[3], seen, size);
    }
    tape.Record("TopK", y, [=] {
      if (auto d = x.grad_ref()) {
        d.AddEach([=](int64_t i) {
          return y.data()[i] == -kInfinity ? T(0) : y.grad_data()[i];
        });
      }
    });
    return y;
  }

 private:
  static constexpr T kInfinity = std::numeric_limits<T>::infinity();

  // `places` has `size` indices of scores. Masks all of these scores except the
  // `most_` largest.
  void MaskRest(T* scores, int32_t* places, int64_t size) const {
    if (size <= most_) return;
    // NaN ranks first, so that it stays visible in the result.
    const auto rank = [scores](int32_t place) {
      return std::isnan(scores[place]) ? kInfinity : scores[place];
    };
    std::nth_element(
        places, places + most_, places + size, [&](int32_t a, int32_t b) {
          return rank(a) > rank(b) || (rank(a) == rank(b) && a < b);
        });
    for (int64_t i = most_; i < size; ++i) scores[places[i]] = -kInfinity;
  }

  int64_t most_;
};

REGARD_SCORE_MAP(TopK, "s_i if among the k largest of the row, else -inf")

}  // namespace regard
